//! Teams, their members, and what those may do by themselves.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};

async fn call(api: &Api, token: &str, method: Method, path: &str, body: Value) -> ApiReply {
    api.call(token, method, &format!("/api/v1/{path}"), &[], &body)
        .await
}

on_both! {
    async fn a_team_and_its_members(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        api.person("bob", Role::Member).await;
        api.person("edge-1", Role::Agent).await;
        let allowance = json!({"keys": 2, "groups": ["g"], "lifetime_days": 30});
        let new = json!({"id": "blue", "name": "Blue sky", "allowance": allowance});
        let once = [("idempotency-key", "once")];
        let make = async || api.call(&admin, Method::POST, "/api/v1/teams", &once, &new).await;
        let made = make().await.expect(201);
        assert_eq!((&made["id"], &made["name"], &made["allowance"]), (&json!("blue"), &json!("Blue sky"), &allowance));
        assert_eq!(make().await.headers["idempotent-replayed"], "true");
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue"})).await.problem(409);
        api.post(&admin, "/api/v1/teams", &json!({"id": "red"})).await.expect(201);
        for (case, body, place) in [
            ("no id of a key's team", json!({"id": "a b"}), "id"),
            ("no keys", json!({"id": "x", "allowance": {"keys": 0, "groups": ["g"]}}), "allowance.keys"),
            ("a name of control characters", json!({"id": "x", "name": "\n"}), "name"),
        ] {
            let problem = api.post(&admin, "/api/v1/teams", &body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], place, "{case}: {problem}");
        }
        let first = api.get(&admin, "/api/v1/teams?limit=1").await.expect(200);
        let next = first["next"].as_str().unwrap();
        let second = api.get(&admin, &format!("/api/v1/teams?limit=1&cursor={next}")).await.expect(200);
        let ids = |page: &Value| page["items"].as_array().unwrap().iter().map(|team| team["id"].clone()).collect::<Vec<_>>();
        assert_eq!([ids(&first), ids(&second)].concat(), ["blue", "red"]);

        let member = async |method: Method, path: &str, body: Value| call(&api, &admin, method, path, body).await;
        for (person, manager) in [("bob", false), ("ann", true), ("bob", false)] {
            let set = member(Method::PUT, &format!("teams/blue/members/{person}"), json!({"manager": manager})).await.expect(200);
            assert_eq!((&set["person"], &set["manager"]), (&json!(person), &json!(manager)));
        }
        let listed = api.get(&admin, "/api/v1/teams/blue/members?limit=1").await.expect(200);
        assert_eq!((&listed["items"][0]["person"], &listed["items"][0]["manager"]), (&json!("ann"), &json!(true)));
        let next = listed["next"].as_str().unwrap();
        let listed = api.get(&admin, &format!("/api/v1/teams/blue/members?cursor={next}")).await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        // An array of a struct's fields, one after the other, is none of its objects.
        member(Method::PATCH, "teams/red", json!(["Red sky", null])).await.problem(422);
        assert_eq!(api.get(&admin, "/api/v1/teams/red").await.expect(200)["name"], "red");
        member(Method::PUT, "teams/blue/members/edge-1", json!({})).await.problem(422);
        member(Method::PUT, "teams/blue/members/nobody", json!({})).await.problem(422);
        member(Method::PUT, "teams/none/members/ann", json!({})).await.problem(404);
        member(Method::DELETE, "teams/blue/members/bob", Value::Null).await.expect(204);
        member(Method::DELETE, "teams/blue/members/bob", Value::Null).await.problem(404);

        member(Method::PATCH, "teams/blue", json!({"name": "Blue"})).await.expect(200);
        let changed = member(Method::PATCH, "teams/blue", json!({"allowance": null})).await.expect(200);
        assert_eq!((&changed["name"], changed.get("allowance")), (&json!("Blue"), None));
        member(Method::DELETE, "teams/blue", Value::Null).await.expect(204);
        for path in ["teams/blue", "teams/blue/members", "teams/%00"] {
            api.get(&admin, &format!("/api/v1/{path}")).await.problem(404);
        }
        let audit = api.get(&admin, "/api/v1/audit").await.expect(200);
        let mut acts: Vec<&str> = audit["items"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        acts.retain(|act| act.starts_with("team."));
        acts.reverse();
        // What was done again and changed nothing is in it once.
        assert_eq!(acts, ["team.create", "team.create", "team.member", "team.member", "team.member", "team.change", "team.change", "team.remove"]);
        api.was_well();
    }
}

on_both! {
    /// A member makes keys within what the team allows, and no other.
    async fn keys_of_ones_own(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        publish(&api, &admin, &document("g", PRICES)).await;
        let limits = json!({"requests_per_minute": 60, "budget": {"per_month": "20"}});
        let allowance = json!({"keys": 2, "groups": ["g", "gone"], "models": ["m"], "limits": limits, "lifetime_days": 30});
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue", "allowance": allowance})).await.expect(201);
        api.post(&admin, "/api/v1/teams", &json!({"id": "red"})).await.expect(201);
        let make = async |token: &str, body: Value| api.post(token, "/api/v1/me/keys", &body).await;
        let wanted = json!({"team": "blue", "group": "g", "label": "laptop"});
        make(&ann, wanted.clone()).await.problem(422);
        for team in ["blue", "red"] {
            call(&api, &admin, Method::PUT, &format!("teams/{team}/members/ann"), json!({})).await.expect(200);
        }
        make(&bob, wanted.clone()).await.problem(422);
        for (case, more, place) in [
            ("a team without an allowance", json!({"team": "red"}), "team"),
            ("a team that is not there", json!({"team": "none"}), "team"),
            ("another group", json!({"group": "h"}), "group"),
            ("a group that is not in force", json!({"group": "gone", "models": ["m"]}), "group"),
            ("another model", json!({"models": ["n"]}), "models"),
            ("more money", json!({"budget": {"per_month": "20.01"}}), "budget.per_month"),
            ("no money", json!({"budget": {"per_day": "0"}}), "budget.per_day"),
            ("longer", json!({"expires_at": "2999-01-01T00:00:00Z"}), "expires_at"),
            ("a label of control characters", json!({"label": "\n"}), "label"),
        ] {
            let mut body = wanted.clone();
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let problem = make(&ann, body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], place, "{case}: {problem}");
        }

        let made = make(&ann, wanted.clone()).await.expect(201);
        let key = &made["key"];
        assert!(made["value"].as_str().unwrap().starts_with("tl-"));
        assert_eq!((&key["owner"], &key["team"], &key["models"], &key["limits"]), (&json!("ann"), &json!("blue"), &json!(["m"]), &limits));
        assert!(key["expires_at"].is_string() && key["created_by"] == "ann");
        let id = key["id"].as_str().unwrap();
        let own = |of: &str| format!("me/keys/{id}{of}");

        // Rotating with an overlap takes a place, so that no budget is had twice over.
        let rotate = async |token: &str, seconds: u32| call(&api, token, Method::POST, &own("/rotate"), json!({"overlap_seconds": seconds})).await;
        rotate(&ann, 0).await.expect(201);
        rotate(&ann, 3600).await.expect(201);
        rotate(&ann, 3600).await.problem(409);
        make(&ann, wanted.clone()).await.problem(409);
        let left = api.get(&ann, "/api/v1/me/teams").await.expect(200);
        assert_eq!((&left["items"][0]["id"], &left["items"][0]["keys"], &left["items"][0]["allowance"]["keys"]), (&json!("blue"), &json!(2), &json!(2)));

        // Disabling frees none, and only an admin takes it back.
        let change = async |token: &str, body: Value| call(&api, token, Method::PATCH, &own(""), body).await;
        change(&ann, json!({"label": "desktop", "disabled": true})).await.expect(200);
        make(&ann, wanted.clone()).await.problem(409);
        change(&ann, json!({"disabled": false})).await.problem(403);
        change(&ann, json!({"limits": null})).await.problem(422);
        let seen = api.get(&ann, &format!("/api/v1/keys/{id}")).await.expect(200);
        assert_eq!((&seen["label"], &seen["disabled"]), (&json!("desktop"), &json!(true)));

        // Others' are unknown, to an admin too: this is about one's own.
        for token in [&bob, &admin] {
            change(token, json!({"disabled": true})).await.problem(404);
            rotate(token, 0).await.problem(404);
        }
        // A key that an admin has made has no team here: it is rotated, without an overlap.
        api.post(&admin, "/api/v1/keys", &json!({"id": "given", "group": "g", "owner": "bob"})).await.expect(201);
        call(&api, &bob, Method::POST, "me/keys/given/rotate", json!({"overlap_seconds": 1})).await.problem(422);
        call(&api, &bob, Method::POST, "me/keys/given/rotate", json!({})).await.expect(201);

        // Whoever has left makes none.
        call(&api, &admin, Method::DELETE, "teams/blue/members/ann", Value::Null).await.expect(204);
        make(&ann, wanted.clone()).await.problem(422);
        let audit = api.get(&admin, "/api/v1/audit?actor=ann").await.expect(200);
        let acts: Vec<&str> = audit["items"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        assert_eq!(acts, ["key.change", "key.create", "key.rotate", "key.rotate", "key.create"]);
        api.was_well();
    }
}

on_both! {
    /// Two at once do not make more keys than one may have.
    async fn keys_made_at_once(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let ann = api.person("ann", Role::Member).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue", "allowance": {"keys": 3, "groups": ["g"]}})).await.expect(201);
        call(&api, &admin, Method::PUT, "teams/blue/members/ann", json!({})).await.expect(200);
        let body = json!({"team": "blue", "group": "g"});
        let all = (0..8).map(|_| api.post(&ann, "/api/v1/me/keys", &body));
        let statuses: Vec<u16> = crate::lives::futures_of(all).await.into_iter().map(|reply| reply.status.as_u16()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 3, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 5, "{statuses:?}");
        api.was_well();
    }
}
