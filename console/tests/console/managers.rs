//! Managers of a team: they see what it uses, say who is in it, and disable its keys. Nothing else of others is theirs.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::ledger::line;
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};

async fn call(api: &Api, token: &str, method: Method, path: &str, body: Value) -> ApiReply {
    api.call(token, method, &format!("/api/v1/{path}"), &[], &body)
        .await
}

on_both! {
    async fn what_a_manager_may(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        let viewer = api.person("victor", Role::Viewer).await;
        for person in ["carl", "dora"] {
            api.person(person, Role::Member).await;
        }
        for team in ["blue", "red"] {
            api.post(&root, "/api/v1/teams", &json!({"id": team})).await.expect(201);
        }
        for (team, person, manager) in [("blue", "ann", true), ("blue", "bob", false), ("red", "carl", true), ("blue", "victor", true)] {
            let path = format!("teams/{team}/members/{person}");
            call(&api, &root, Method::PUT, &path, json!({"manager": manager})).await.expect(200);
        }
        for (id, owner, team) in [("kb", "bob", "blue"), ("kr", "carl", "red"), ("kn", "bob", "")] {
            let mut key = json!({"id": id, "group": "g", "owner": owner});
            if !team.is_empty() {
                key["team"] = team.into();
            }
            api.post(&root, "/api/v1/keys", &key).await.expect(201);
        }
        let mut text = String::new();
        for (key, owner, team) in [("kb", "bob", "blue"), ("kr", "carl", "red")] {
            let mut of: Value = serde_json::from_str(&line("2026-11-24T11:00:00Z", key, "m", "1")).unwrap();
            of["trilane.key.owner"] = owner.into();
            of["trilane.key.team"] = team.into();
            text.push_str(&format!("{of}\n"));
        }
        api.ledger(&root, "/api/v1/ledger/edge/f?from=0", &text).await.expect(200);

        let (patch, put, delete, read) = (Method::PATCH, Method::PUT, Method::DELETE, Method::GET);
        let none = || Value::Null;
        for (case, method, path, body, of_ann, of_bob) in [
            ("her team", &read, "teams/blue", none(), 200, 404),
            ("its members", &read, "teams/blue/members", none(), 200, 404),
            ("another team", &read, "teams/red", none(), 404, 404),
            ("all teams", &read, "teams", none(), 403, 403),
            ("the team itself", &patch, "teams/blue", json!({"name": "Azure"}), 403, 403),
            ("to remove it", &delete, "teams/blue", none(), 403, 403),
            ("a key of the team", &read, "keys/kb", none(), 200, 200),
            ("what is left of it", &read, "keys/kb/remaining", none(), 200, 200),
            ("a key of another team", &read, "keys/kr", none(), 404, 404),
            ("a key of a member, of no team", &read, "keys/kn", none(), 404, 200),
            ("to name it", &patch, "keys/kb", json!({"label": "laptop"}), 200, 404),
            ("to disable it", &patch, "keys/kb", json!({"disabled": true}), 200, 404),
            ("to enable it", &patch, "keys/kb", json!({"disabled": false}), 403, 404),
            ("its limits", &patch, "keys/kb", json!({"limits": {"requests_per_minute": 1}}), 403, 404),
            ("its owner", &patch, "keys/kb", json!({"owner": "ann"}), 403, 404),
            ("its team", &patch, "keys/kb", json!({"team": "red"}), 403, 404),
            ("a multiplier", &patch, "keys/kb", json!({"multiplier": "0"}), 403, 404),
            ("a key of another team", &patch, "keys/kr", json!({"disabled": true}), 404, 404),
            ("to remove a key", &delete, "keys/kb", none(), 403, 403),
            ("the team's spend", &read, "spend?kind=team&subject=blue&period=2026-11", none(), 200, 404),
            ("a member's spend in it", &read, "spend?kind=member&subject=bob@blue&period=2026-11", none(), 200, 200),
            ("another team's", &read, "spend?kind=team&subject=red&period=2026-11", none(), 404, 404),
            ("a member's spend elsewhere", &read, "spend?kind=owner&subject=bob&period=2026-11", none(), 404, 200),
            ("its usage, of one of them", &read, "usage?team=blue&owner=bob", none(), 200, 200),
            ("another team's usage, of one", &read, "usage?team=red&owner=carl", none(), 403, 403),
            ("somebody's, of all teams", &read, "usage?owner=bob", none(), 403, 200),
            ("to add somebody", &put, "teams/blue/members/dora", json!({}), 200, 404),
            ("nobody", &put, "teams/blue/members/nobody", json!({}), 422, 404),
            ("another manager", &put, "teams/blue/members/dora", json!({"manager": true}), 403, 404),
            ("to dismiss one", &put, "teams/blue/members/ann", json!({}), 403, 404),
            ("to take a manager out", &delete, "teams/blue/members/victor", none(), 403, 404),
            ("to take somebody out", &delete, "teams/blue/members/dora", none(), 204, 404),
            ("into another team", &put, "teams/red/members/ann", json!({}), 404, 404),
        ] {
            for (who, token, want) in [("bob", &bob, of_bob), ("ann", &ann, of_ann)] {
                let reply = call(&api, token, method.clone(), path, body.clone()).await;
                assert_eq!(reply.status.as_u16(), want, "{case}, {who}: {}", reply.text);
            }
        }
        let items = async |token: &str, path: &str| {
            let list = api.get(token, &format!("/api/v1/{path}")).await.expect(200);
            list["items"].as_array().unwrap().len()
        };
        for (path, of_ann, of_bob) in [
            ("keys?team=blue", 1, 1),
            ("keys?team=red", 0, 0),
            ("keys", 0, 2),
            ("requests?team=blue", 1, 1),
            ("requests?team=red", 0, 0),
            ("requests", 0, 1),
            ("usage?by=owner&team=blue", 1, 1),
            ("usage?by=owner&team=red", 0, 0),
            ("usage?by=owner", 0, 1),
        ] {
            assert_eq!((items(&ann, path).await, items(&bob, path).await), (of_ann, of_bob), "{path}");
        }
        let request = api.get(&root, "/api/v1/requests?team=blue").await.expect(200)["items"][0].clone();
        let path = format!("requests/{}", request["id"].as_str().unwrap());
        let seen = call(&api, &ann, read.clone(), &path, none()).await.expect(200);
        assert!(!seen.to_string().contains("trilane.cost\""), "what it costs its operator is not theirs: {seen}");
        let other = api.get(&root, "/api/v1/requests?team=red").await.expect(200)["items"][0]["id"].clone();
        call(&api, &ann, read.clone(), &format!("requests/{}", other.as_str().unwrap()), none()).await.problem(404);
        // A viewer sees all, and changes nothing, manager or not.
        call(&api, &viewer, put.clone(), "teams/blue/members/dora", json!({})).await.problem(403);
        call(&api, &viewer, patch.clone(), "keys/kb", json!({"disabled": true})).await.problem(403);
        // No longer a manager: from the next request on.
        call(&api, &root, put.clone(), "teams/blue/members/ann", json!({"manager": false})).await.expect(200);
        call(&api, &ann, read, "teams/blue", none()).await.problem(404);
        api.was_well();
    }
}

on_both! {
    /// The same by pages: from Me to the team, and back.
    async fn by_page(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        with_password(&api, "ann", Role::Member).await;
        api.person("bob", Role::Member).await;
        api.post(&root, "/api/v1/teams", &json!({"id": "blue", "name": "Blue"})).await.expect(201);
        call(&api, &root, Method::PUT, "teams/blue/members/ann", json!({"manager": true})).await.expect(200);
        api.post(&root, "/api/v1/keys", &json!({"id": "kb", "group": "g", "owner": "bob", "team": "blue"})).await.expect(201);
        let ann = session(&post(&api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await);
        assert!(get(&api, "/me", &ann).await.text.contains("href=\"/teams/blue\""));
        let page = get(&api, "/teams/blue", &ann).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.text.contains("Add a member") && !page.text.contains("name=\"manager\"") && !page.text.contains("Members may make keys"), "{}", page.text);
        let csrf = csrf(&page.text);
        let csrf = csrf.as_str();
        let added = post(&api, "/teams/blue/members", &ann, &[("csrf", csrf), ("person", "bob")]).await;
        assert_eq!(added.status, StatusCode::SEE_OTHER);
        assert!(get(&api, "/keys?team=blue", &ann).await.text.contains("/keys/kb"));
        assert!(get(&api, "/keys/kb", &ann).await.text.contains("Disable"));
        for path in ["/usage?team=blue", "/requests?team=blue", "/teams/blue/leave?person=bob"] {
            assert_eq!(get(&api, path, &ann).await.status, StatusCode::OK, "{path}");
        }
        assert_eq!(post(&api, "/keys/kb/disable", &ann, &[("csrf", csrf), ("disabled", "yes")]).await.status, StatusCode::SEE_OTHER);
        assert_eq!(api.get(&root, "/api/v1/keys/kb").await.expect(200)["disabled"], true);
        assert_eq!(post(&api, "/teams/blue/leave", &ann, &[("csrf", csrf), ("person", "bob")]).await.status, StatusCode::SEE_OTHER);
        assert_eq!(get(&api, "/teams", &ann).await.status, StatusCode::FORBIDDEN);
        api.was_well();
    }
}
