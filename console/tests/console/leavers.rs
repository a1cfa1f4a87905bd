//! People who leave: whatever a person can be recognized by ends with one act, and of that only keys come back.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};

async fn change(api: &Api, admin: &str, path: &str, body: Value) -> ApiReply {
    let path = format!("/api/v1/{path}");
    api.call(admin, Method::PATCH, &path, &[], &body).await
}

/// The ids of keys that gateways take, of those that the feed has.
async fn taken(api: &Api, agent: &str) -> Vec<String> {
    let feed = api.get(agent, "/api/v1/feed/keys").await.expect(200);
    let good = |change: &&Value| change["disabled"] != true && change["id"].is_string();
    let changes = feed["changes"].as_array().unwrap().iter().filter(good);
    let mut ids: Vec<String> = changes
        .map(|change| change["id"].as_str().unwrap())
        .map(|id| {
            id.split_once("-old-").map_or(id, |(of, _)| of).to_owned()
                + if id.contains("-old-") { " (old)" } else { "" }
        })
        .collect();
    ids.sort();
    ids
}

on_both! {
    async fn all_ends_at_once_and_keys_come_back(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, agent) = (api.person("root", Role::Admin).await, api.person("edge", Role::Agent).await);
        with_password(&api, "ann", Role::Member).await;
        api.person("bob", Role::Member).await;
        let token = api.post(&admin, "/api/v1/tokens", &json!({"name": "ci", "person": "ann"})).await.expect(201);
        let token = token["value"].as_str().unwrap();
        let by_password = async || post(&api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await;
        let cookie = session(&by_password().await);
        let link = async || api.post(&admin, "/api/v1/people/ann/sign-in-link", &json!({})).await;
        let made = link().await.expect(201)["path"].as_str().unwrap().to_owned();
        let by_link = async || post(&api, "/sign-in/link", "", &[("token", made.split_once("token=").unwrap().1)]).await;
        let new_key = async |id: &str, owner: &str, disabled: bool| {
            let key = json!({"id": id, "group": "g", "owner": owner, "disabled": disabled});
            api.post(&admin, "/api/v1/keys", &key).await
        };
        let key = new_key("ka", "ann", false).await.expect(201)["value"].as_str().unwrap().to_owned();
        for (id, owner, disabled) in [("kb", "ann", false), ("kc", "bob", false), ("kd", "ann", true), ("kx", "bob", false)] {
            new_key(id, owner, disabled).await.expect(201);
        }
        for id in ["kb", "kc"] {
            api.post(&admin, &format!("/api/v1/keys/{id}/rotate"), &json!({"overlap_seconds": 3600})).await.expect(201);
        }
        // The old value of a key that was bob's then.
        change(&api, &admin, "keys/kc", json!({"owner": "ann"})).await.expect(200);
        assert_eq!(taken(&api, &agent).await, ["ka", "kb", "kb (old)", "kc", "kc (old)", "kx"]);
        let held = async || {
            let bearer = format!("Bearer {key}");
            let request = http::Request::get("/api/v1/me/key").header("authorization", bearer).body(axum::body::Body::empty());
            api.send(request.unwrap()).await.status
        };
        assert_eq!(held().await, StatusCode::OK);

        let access = api.get(&admin, "/api/v1/people/ann").await.expect(200)["access"].clone();
        // One token is that of the test.
        let all = json!({"sessions": 1, "links": 1, "tokens": 2, "sign_ins": 0, "keys": 5, "stopped_keys": 0});
        assert_eq!(access, all);
        let sessions = api.get(&admin, "/api/v1/people/ann/sessions").await.expect(200);
        assert_eq!(sessions["items"].as_array().unwrap().len(), 1);

        let ended = change(&api, &admin, "people/ann", json!({"disabled": true})).await.expect(200)["ended"].clone();
        assert_eq!(ended, all);
        assert_eq!(get(&api, "/me", &cookie).await.status, StatusCode::SEE_OTHER, "the session");
        assert!(!by_password().await.headers.contains_key("set-cookie"), "the password");
        assert!(!by_link().await.headers.contains_key("set-cookie"), "the link");
        link().await.problem(404);
        api.get(token, "/api/v1/me").await.problem(401);
        assert_eq!(taken(&api, &agent).await, ["kx"]);
        assert_eq!(held().await, StatusCode::UNAUTHORIZED, "what the holder of a key sees");
        let access = api.get(&admin, "/api/v1/people/ann").await.expect(200)["access"].clone();
        assert_eq!(access, json!({"sessions": 0, "links": 0, "tokens": 0, "sign_ins": 0, "keys": 0, "stopped_keys": 5}));
        assert_eq!(api.get(&admin, "/api/v1/keys/ka").await.expect(200)["disabled_with"], "ann");
        assert_eq!(api.get(&admin, "/api/v1/keys/kd").await.expect(200)["disabled_with"], Value::Null);

        // None comes in by another way.
        new_key("kn", "ann", false).await.problem(422);
        change(&api, &admin, "keys/kb", json!({"disabled": false})).await.problem(422);
        change(&api, &admin, "keys/kx", json!({"owner": "ann"})).await.problem(422);
        let rotated = api.post(&admin, "/api/v1/keys/kb/rotate", &json!({"overlap_seconds": 3600})).await.expect(201);
        assert_eq!(rotated["key"]["disabled"], true);
        assert_eq!(taken(&api, &agent).await, ["kx"]);

        let entries = |list: Value| list["items"].as_array().unwrap().clone();
        let audit = entries(api.get(&admin, "/api/v1/audit?action=person.change&object=ann").await.expect(200));
        assert_eq!(audit[0]["after"]["ended"], all);
        for object in ["ka", "kb", "kc"] {
            let audit = entries(api.get(&admin, &format!("/api/v1/audit?action=key.change&object={object}")).await.expect(200));
            assert_eq!((&audit[0]["before"]["disabled"], &audit[0]["after"]["disabled_with"]), (&json!(false), &json!("ann")), "{object}");
        }
        assert_eq!(entries(api.get(&admin, "/api/v1/audit?action=token.remove").await.expect(200)).len(), 2);

        // Somebody wants this one to stay disabled; and this one is bob's from now on.
        change(&api, &admin, "keys/ka", json!({"disabled": true})).await.expect(200);
        change(&api, &admin, "keys/kc", json!({"owner": "bob"})).await.expect(200);
        let enabled = change(&api, &admin, "people/ann", json!({"disabled": false})).await.expect(200)["enabled_keys"].clone();
        // kb, two old values of it, and that of kc.
        assert_eq!(enabled, 4);
        assert_eq!(taken(&api, &agent).await, ["kb", "kb (old)", "kb (old)", "kc (old)", "kx"]);
        assert_eq!(get(&api, "/me", &cookie).await.status, StatusCode::SEE_OTHER, "the session");
        assert!(!by_link().await.headers.contains_key("set-cookie"), "the link");
        api.get(token, "/api/v1/me").await.problem(401);
        assert!(by_password().await.headers.contains_key("set-cookie"), "the password");
        api.was_well();
    }
}

on_both! {
    /// Many people come: each by a link, into a team, whose keys they make by themselves. Or none comes.
    async fn who_comes_in_their_place(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let team = json!({"id": "blue", "allowance": {"keys": 1, "groups": ["g"]}});
        api.post(&admin, "/api/v1/teams", &team).await.expect(201);
        let invite = async |ids: &[&str], team: &str, once: &str| {
            let people: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "", "role": "member"})).collect();
            let body = json!({"people": people, "team": team});
            api.call(&admin, Method::POST, "/api/v1/people/bulk", &[("idempotency-key", once)], &body).await
        };
        let count = async || api.get(&admin, "/api/v1/people").await.expect(200)["items"].as_array().unwrap().len();
        for (case, ids, team, path) in [
            ("one twice", vec!["ann", "bob", "ann"], "blue", "people[2].id"),
            ("one is there already", vec!["ann", "root"], "blue", "people[1].id"),
            ("an id that cannot be", vec!["ann", "B O B"], "blue", "people[1].id"),
            ("no such team", vec!["ann"], "red", "team"),
            ("nobody", vec![], "blue", "people"),
        ] {
            let problem = invite(&ids, team, case).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], path, "{case}");
            assert_eq!(count().await, 1, "{case}: nobody is added");
        }
        let made = invite(&["ann@example.com", "bob"], "blue", "1").await.expect(201);
        assert_eq!(made["added"], 2);
        let again = invite(&["ann@example.com", "bob"], "blue", "1").await.expect(201);
        assert_eq!(again, json!({"added": 2}), "links are shown once");
        let link = made["invited"][0]["link"]["path"].as_str().unwrap();
        let reply = post(&api, "/sign-in/link", "", &[("token", link.split_once("token=").unwrap().1)]).await;
        let cookie = session(&reply);
        assert!(get(&api, "/me/new-key", &cookie).await.text.contains("blue"), "a member, who makes a key");
        // The password, then the key that they have come for; whoever has one begins at their own page.
        for (turn, to) in [("the first", "/me/new-key?notice=password-set"), ("another", "/?notice=password-set")] {
            let asked = get(&api, "/me/password", &cookie).await.text;
            let csrf = csrf(&asked);
            let csrf = csrf.as_str();
            let fields = [("csrf", csrf), ("password", PASSWORD), ("again", PASSWORD)];
            let set = post(&api, "/me/password", &cookie, &fields).await;
            assert_eq!(set.headers["location"], to, "{turn}");
            let key = json!({"group": "g", "owner": "ann@example.com"});
            api.post(&admin, "/api/v1/keys", &key).await.expect(201);
        }
        let members = api.get(&admin, "/api/v1/teams/blue/members").await.expect(200);
        assert_eq!(members["items"].as_array().unwrap().len(), 2);
        api.was_well();
    }
}

on_both! {
    /// Pages count before, and say what has come of it.
    async fn by_page(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "root", Role::Admin).await;
        let admin = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        let token = api.person("other", Role::Admin).await;
        api.person("ann", Role::Member).await;
        api.post(&token, "/api/v1/keys", &json!({"id": "ka", "group": "g", "owner": "ann"})).await.expect(201);
        let asked = get(&api, "/people/ann/disable", &admin).await.text;
        for counted in ["1: refused from the next request on", "1: refused by every gateway within a second, old values", "<dt>Sessions</dt><dd><span class=\"quiet\">none</span></dd>"] {
            assert!(asked.contains(counted), "{counted}: {asked}");
        }
        let csrf = csrf(&asked);
        let csrf = csrf.as_str();
        for (act, disabled) in [("disable", true), ("enable", false)] {
            post(&api, &format!("/people/ann/{act}"), &admin, &[("csrf", csrf)]).await;
            let key = api.get(&token, "/api/v1/keys/ka").await.expect(200);
            assert_eq!(key["disabled"], disabled, "{act}");
        }
        api.was_well();
    }
}
