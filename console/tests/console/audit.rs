//! Every act is in the audit, with who did it, and without a secret.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use trilane_console::api::ROUTES;
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};

/// Routes that change nothing that people decide: reports of agents, a search that hides the value it looks for, a check of a document, and
/// tests that ask a vendor or send a message, which have tests of their own.
const NO_ACTS: [&str; 8] = [
    "/api/v1/documents/check",
    "/api/v1/identity-providers/{id}/test",
    "/api/v1/keys/find",
    "/api/v1/envoys/{id}/report",
    "/api/v1/ledger/{envoy}/{file}",
    "/api/v1/accounts/{group}/{account}/test",
    "/api/v1/vendors/models",
    "/api/v1/webhooks/{id}/test",
];

/// An act: its route, the path that it is done at, its body, what the audit calls it.
type Act = (Method, &'static str, String, Value, &'static str);

/// Whether a body has a member of this name somewhere, and what it is.
fn secrets(of: &Value, found: &mut Vec<String>) {
    match of {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(text) if ["value", "token", "path", "secret"].contains(&name.as_str()) => {
                        found.push(text.to_owned());
                    }
                    _ => secrets(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| secrets(item, found)),
        _ => {}
    }
}

async fn entries(api: &Api, token: &str) -> Vec<Value> {
    let list = api.get(token, "/api/v1/audit?limit=500").await.expect(200);
    list["items"].as_array().unwrap().clone()
}

on_both! {
    async fn every_act(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (root, mia) = (api.person("root", Role::Admin).await, api.person("mia", Role::Member).await);
        publish(&api, &root, &document("g", PRICES)).await;
        let draft = async |note: &str| {
            let made = api.post(&root, "/api/v1/drafts", &json!({"note": note})).await.expect(201);
            format!("/api/v1/drafts/{}", made["id"].as_str().unwrap())
        };
        let (changed, dropped) = (draft("one").await, draft("two").await);
        let allowance = json!({"keys": 3, "groups": ["g"]});
        let (post, patch, put, delete) = (Method::POST, Method::PATCH, Method::PUT, Method::DELETE);
        let v1 = |path: &str| format!("/api/v1/{path}");
        let none = || Value::Null;
        let acts: Vec<Act> = vec![
            (post.clone(), "people", v1("people"), json!({"id": "ann", "name": "Ann", "role": "member"}), "person.create"),
            (post.clone(), "people/bulk", v1("people/bulk"), json!({"people": [{"id": "bea", "name": "Bea", "role": "member"}]}), "person.create"),
            (patch.clone(), "people/{id}", v1("people/ann"), json!({"name": "Anne"}), "person.change"),
            (post.clone(), "people/{id}/sign-in-link", v1("people/ann/sign-in-link"), none(), "person.link"),
            (patch.clone(), "people/{id}/notices", v1("people/ann/notices"), json!({"email": "ann@example.com"}), "person.notices"),
            (delete.clone(), "people/{id}/sign-in-link", v1("people/ann/sign-in-link"), none(), "person.link.revoke"),
            (post.clone(), "teams", v1("teams"), json!({"id": "red", "allowance": allowance}), "team.create"),
            (patch.clone(), "teams/{id}", v1("teams/red"), json!({"name": "Red"}), "team.change"),
            (put.clone(), "teams/{id}/members/{person}", v1("teams/red/members/mia"), json!({}), "team.member"),
            (put.clone(), "teams/{id}/members/{person}/budget", v1("teams/red/members/mia/budget"), json!({"per_day": "5"}), "budget.change"),
            (delete.clone(), "teams/{id}/members/{person}/budget", v1("teams/red/members/mia/budget"), none(), "budget.change"),
            (post.clone(), "people/{id}/ordered-keys", v1("people/mia/ordered-keys"), json!({"group": "g", "label": "Ordered"}), "person.key_order"),
            (post.clone(), "keys", v1("keys"), json!({"id": "k", "group": "g"}), "key.create"),
            (patch.clone(), "keys/{id}", v1("keys/k"), json!({"label": "laptop"}), "key.change"),
            (post.clone(), "keys/bulk", v1("keys/bulk"), json!({"filter": {"group": "g"}, "change": {"disabled": false}, "expected": 1}), "keys.change"),
            (post.clone(), "keys/{id}/rotate", v1("keys/k/rotate"), json!({"overlap_seconds": 3600}), "key.rotate"),
            (delete.clone(), "keys/{id}/old-values", v1("keys/k/old-values"), none(), "key.change"),
            (delete.clone(), "keys/{id}", v1("keys/k"), none(), "key.remove"),
            (put.clone(), "budgets/{kind}/{id}", v1("budgets/owner/ann"), json!({"per_day": "5"}), "budget.change"),
            (delete.clone(), "budgets/{kind}/{id}", v1("budgets/owner/ann"), none(), "budget.change"),
            (put.clone(), "drafts/{id}", changed.clone(), json!({"note": "new"}), "draft.change"),
            (delete.clone(), "drafts/{id}", dropped, none(), "draft.remove"),
            (post.clone(), "drafts", v1("drafts"), json!({"note": "three"}), "draft.create"),
            (post.clone(), "documents/{version}/publish", v1("documents/1/publish"), json!({"note": "again"}), "document.publish"),
            (post.clone(), "tokens", v1("tokens"), json!({"name": "ci"}), "token.create"),
            (post.clone(), "envoys", v1("envoys"), json!({"id": "edge"}), "envoy.create"),
            (post.clone(), "envoys/{id}/enrolment", v1("envoys/edge/enrolment"), none(), "envoy.let_enrol"),
            (post.clone(), "envoys/{id}/voids", v1("envoys/edge/voids"), json!({"from": "2026-11-24", "to": "2026-11-25"}), "envoy.void"),
            (delete.clone(), "envoys/{id}", v1("envoys/edge"), none(), "envoy.revoke"),
            (put.clone(), "identity-providers/{id}", v1("identity-providers/idp"), json!({"issuer": "https://idp.example", "client_id": "c", "client_secret": "secret-of-the-client"}), "identity_provider.create"),
            (delete.clone(), "identity-providers/{id}", v1("identity-providers/idp"), none(), "identity_provider.remove"),
            (put.clone(), "sign-in", v1("sign-in"), json!({"passwords": true}), "sign_in.change"),
            (post.clone(), "webhooks", v1("webhooks"), json!({"url": "https://example.com/hook"}), "webhook.create"),
            (put.clone(), "client-settings", v1("client-settings"), json!({"settings": {"model": "opus"}}), "client_settings.change"),
            (delete.clone(), "client-settings", v1("client-settings"), none(), "client_settings.remove"),
            (put.clone(), "setup/vendors/{group}", v1("setup/vendors/openai"), json!({"vendor": "openai", "value": "sk-of-the-first-run"}), "draft.change"),
            (delete.clone(), "setup/vendors/{group}", v1("setup/vendors/openai"), none(), "draft.change"),
        ];
        let mut done: BTreeSet<String> = BTreeSet::new();
        let mut given = Vec::new();
        let mut act = async |token: &str, who: &str, (method, route, path, body, action): Act| {
            let before = entries(&api, &root).await.len();
            // Drafts are changed as they were when one has seen them, documents on top of the one in force.
            let current = api.get(&root, "/api/v1/documents/current").await;
            let in_force = current.headers["etag"].to_str().unwrap().to_owned();
            let seen = if route.starts_with("documents/") { in_force.as_str() } else { "\"1\"" };
            let reply = api.call(token, method.clone(), &path, &[("if-match", seen)], &body).await;
            assert!(reply.status.is_success(), "{method} {path}: {reply:?}");
            if !reply.text.is_empty() {
                secrets(&reply.json(), &mut given);
            }
            let now = entries(&api, &root).await;
            assert!(now.len() > before, "{method} {route} is not in the audit");
            let newest = &now[..now.len() - before];
            assert!(newest.iter().any(|of| of["action"] == action && of["actor"] == who), "{action}: {newest:?}");
            done.insert(format!("{method} /api/v1/{route}"));
            reply
        };
        for one in acts {
            act(&root, "root", one).await;
        }
        let order = async || api.get(&root, "/api/v1/people/mia/ordered-keys").await.expect(200)["items"][0]["id"].as_str().unwrap().to_owned();
        let take = v1(&format!("me/ordered-keys/{}/take", order().await));
        act(&mia, "mia", (post.clone(), "me/ordered-keys/{id}/take", take, none(), "key.create")).await;
        api.post(&root, "/api/v1/people/mia/ordered-keys", &json!({"group": "g"})).await.expect(201);
        let cancelled = v1(&format!("people/mia/ordered-keys/{}", order().await));
        act(&root, "root", (delete.clone(), "people/{id}/ordered-keys/{order}", cancelled, none(), "person.key_order")).await;
        let made = act(&mia, "mia", (post.clone(), "me/keys", v1("me/keys"), json!({"team": "red", "group": "g"}), "key.create")).await.json();
        let own = v1(&format!("me/keys/{}", made["key"]["id"].as_str().unwrap()));
        act(&mia, "mia", (patch.clone(), "me/keys/{id}", own.clone(), json!({"label": "mine"}), "key.change")).await;
        act(&mia, "mia", (post.clone(), "me/keys/{id}/rotate", format!("{own}/rotate"), json!({"overlap_seconds": 3600}), "key.rotate")).await;
        act(&mia, "mia", (patch.clone(), "me/notices", v1("me/notices"), json!({"unused": false}), "person.notices")).await;
        act(&mia, "mia", (delete.clone(), "me/keys/{id}/old-values", format!("{own}/old-values"), none(), "key.change")).await;
        database.execute("INSERT INTO client_sign_ins VALUES ('c-mia', 'mia', 'r1', 'c', '', '', 1, 1, 1, 1, 9000000000000000)").await.unwrap();
        act(&mia, "mia", (delete.clone(), "me/sign-ins/{id}", v1("me/sign-ins/c-mia"), none(), "client.sign-out")).await;
        database.execute("INSERT INTO client_sign_ins VALUES ('c-mia', 'mia', 'r1', 'c', '', '', 1, 1, 1, 1, 9000000000000000)").await.unwrap();
        act(&root, "root", (delete.clone(), "people/{id}/sign-ins/{sign_in}", v1("people/mia/sign-ins/c-mia"), none(), "client.sign-out")).await;
        let id = |list: &Value| list["items"][0]["id"].as_str().unwrap().to_owned();
        let hook = id(&api.get(&root, "/api/v1/webhooks").await.expect(200));
        act(&root, "root", (delete.clone(), "webhooks/{id}", v1(&format!("webhooks/{hook}")), none(), "webhook.remove")).await;
        let tokens = api.get(&root, "/api/v1/tokens").await.expect(200);
        let ci = tokens["items"].as_array().unwrap().iter().find(|of| of["name"] == "ci").unwrap()["id"].as_str().unwrap().to_owned();
        act(&root, "root", (delete.clone(), "tokens/{id}", v1(&format!("tokens/{ci}")), none(), "token.remove")).await;
        act(&root, "root", (delete.clone(), "teams/{id}/members/{person}", v1("teams/red/members/mia"), none(), "team.member")).await;
        act(&root, "root", (delete.clone(), "teams/{id}", v1("teams/red"), none(), "team.remove")).await;
        act(&root, "root", (delete.clone(), "people/{id}/data", v1("people/ann/data"), none(), "person.erase")).await;

        let mut text: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        text["keys"] = json!([{"id": "written", "sha256": "ab".repeat(32), "group": "g"}]);
        publish(&api, &root, &text.to_string()).await;
        let disable = v1("documents/current/keys/written/disable");
        act(&root, "root", (post.clone(), "documents/current/keys/{id}/disable", disable, none(), "draft.create")).await;

        // Nothing else changes anything; credentials, publishing and identities have tests of their own that say so.
        let elsewhere = ["DELETE /api/v1/people/{id}/identities/{provider}", "PUT /api/v1/credentials/{name}", "DELETE /api/v1/credentials/{name}", "POST /api/v1/drafts/{id}/publish"];
        let left: Vec<String> = ROUTES
            .iter()
            .filter(|route| route.method != Method::GET && !NO_ACTS.contains(&route.path))
            .map(|route| format!("{} {}", route.method, route.path))
            .filter(|route| !done.contains(route) && !elsewhere.contains(&route.as_str()))
            .collect();
        assert_eq!(left, [""; 0], "acts without a case here");

        given.push("sk-of-the-first-run".to_owned());
        given.push("secret-of-the-client".to_owned());
        assert!(given.len() >= 7, "{}", given.len());
        let all = serde_json::to_string(&entries(&api, &root).await).unwrap();
        for secret in given {
            assert!(!all.contains(&secret), "a secret is in the audit");
        }
        api.was_well();
    }
}

on_both! {
    /// A collector reads all of it in order, each entry once, and only what nothing can come before any more.
    async fn as_lines(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        for id in ["k1", "k2", "k3"] {
            api.post(&root, "/api/v1/keys", &json!({"id": id, "group": "g"})).await.expect(201);
        }
        let read = async |after: i64| {
            let reply = api.get(&root, &format!("/api/v1/audit/lines?after={after}&limit=2")).await;
            assert_eq!(reply.headers["content-type"], "application/x-ndjson");
            let lines = reply.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.collect::<Vec<_>>()
        };
        assert_eq!(read(0).await, [Value::Null; 0], "a change is there after a minute");
        database.execute("UPDATE audit SET at = at - 61000000").await.unwrap();
        let (mut seen, mut after) = (Vec::new(), 0);
        loop {
            let lines = read(after).await;
            let Some(last) = lines.last() else { break };
            assert!(lines.len() <= 2);
            after = last["number"].as_i64().unwrap();
            seen.extend(lines);
        }
        let objects: Vec<&str> = seen.iter().filter(|of| of["action"] == "key.create").map(|of| of["object"].as_str().unwrap()).collect();
        assert_eq!(objects, ["k1", "k2", "k3"]);
        let listed = entries(&api, &root).await;
        assert_eq!(seen.len(), listed.len());
        for bad in ["limit=0", "limit=1001", "after=-1"] {
            api.get(&root, &format!("/api/v1/audit/lines?{bad}")).await.problem(400);
        }
        api.was_well();
    }
}
