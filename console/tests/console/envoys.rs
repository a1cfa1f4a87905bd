//! How agents come to their credentials, and what those may do.

use http::Method;
use serde_json::{Value, json};
use trilane_console::api::Role;
use trilane_console::envoys::{self, ENROL_WITHIN};
use trilane_console::secret::NewSecret;
use trilane_console::store::audit::Actor;

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;
use crate::lives::{PRICES, document, publish};

async fn enrol(api: &Api, token: &Value) -> (u16, String) {
    let body = json!({"token": token});
    let reply = api
        .call("", Method::POST, "/api/v1/enrol", &[], &body)
        .await;
    let status = reply.status.as_u16();
    let token = match status {
        201 => reply.expect(201)["token"].as_str().unwrap().to_owned(),
        _ => String::new(),
    };
    (status, token)
}

on_both! {
    async fn an_agent_enrols_once(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let made = api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-1"})).await.expect(201);
        assert_eq!(made["envoy"], "edge-1");
        api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-1"})).await.problem(409);
        api.post(&admin, "/api/v1/envoys", &json!({"id": "root"})).await.problem(409);
        api.post(&admin, "/api/v1/envoys", &json!({"id": "no good"})).await.problem(422);
        let shown = api.get(&admin, "/api/v1/envoys/edge-1").await.expect(200);
        assert_eq!((&shown["state"], &shown["report"]), (&json!("new"), &Value::Null));
        assert!(!shown.to_string().contains(made["token"].as_str().unwrap()), "a token is shown once");

        assert_eq!(enrol(&api, &json!("tle-wrong")).await.0, 401);
        let (status, first) = enrol(&api, &made["token"]).await;
        assert_eq!(status, 201);
        assert_eq!(enrol(&api, &made["token"]).await.0, 401, "it was used");
        assert_eq!(api.get(&admin, "/api/v1/envoys/edge-1").await.expect(200)["state"], "enrolled");

        // Its own ledger and report only.
        let lines = line("2026-11-24T11:00:00Z", "ka", "m", "1");
        api.ledger(&first, "/api/v1/ledger/edge-1/f?from=0", &lines).await.expect(200);
        api.ledger(&first, "/api/v1/ledger/edge-2/f?from=0", &lines).await.problem(403);
        let put = |id: &str, report: Value| {
            let (api, first, path) = (&api, first.clone(), format!("/api/v1/envoys/{id}/report"));
            async move { api.call(&first, Method::PUT, &path, &[], &report).await }
        };
        let report = json!({"version": "0.2.0", "document": "ab", "keys": 7, "ledger_waiting": 12, "troubles": ["the disk is full"]});
        put("edge-1", report.clone()).await.expect(204);
        put("edge-2", report.clone()).await.problem(403);
        put("edge-1", json!({"version": "0.2.0", "other": 1})).await.problem(422);
        let long = json!({"version": "0.2.0", "troubles": ["x".repeat(9000)]});
        put("edge-1", long).await.problem(422);
        let shown = api.get(&admin, "/api/v1/envoys").await.expect(200);
        assert_eq!(shown["items"][0]["report"], report);
        assert!(shown["items"][0]["seen_at"].is_string());
        let reach = || async {
            let of = api.get(&admin, "/api/v1/documents").await.expect(200);
            let (newest, before) = (of["items"][0]["reach"].clone(), of["items"][1]["reach"].clone());
            let version = of["items"][0]["version"].as_i64().unwrap();
            let one = api.get(&admin, &format!("/api/v1/documents/{version}")).await.expect(200);
            assert_eq!(one["reach"], newest);
            (newest, before)
        };
        // The first is what the agent has, the second what Envoy has in force.
        for group in ["x", "y"] {
            publish(&api, &admin, &document(group, PRICES)).await;
        }
        let all = api.get(&admin, "/api/v1/documents").await.expect(200);
        let (newest, before) = (all["items"][0]["sha256"].clone(), all["items"][1]["sha256"].clone());
        assert_eq!(reach().await.0, json!({"envoys": 1, "delivered": 0, "in_force": 0}));
        put("edge-1", json!({"version": "0.2.0", "document": newest, "in_force": before})).await.expect(204);
        let want = (json!({"envoys": 1, "delivered": 1, "in_force": 0}), json!({"envoys": 1, "delivered": 0, "in_force": 1}));
        assert_eq!(reach().await, want);

        // Another enrolment makes the credential of before void, once it is used and not before.
        let again = api.post(&admin, "/api/v1/envoys/edge-1/enrolment", &Value::Null).await.expect(201);
        api.get(&first, "/api/v1/me").await.expect(200);
        let (_, second) = enrol(&api, &again["token"]).await;
        api.get(&first, "/api/v1/me").await.problem(401);
        api.get(&second, "/api/v1/me").await.expect(200);

        // One that was given out and is replaced, or whose Envoy is revoked, is void.
        let third = api.post(&admin, "/api/v1/envoys/edge-1/enrolment", &Value::Null).await.expect(201);
        let fourth = api.post(&admin, "/api/v1/envoys/edge-1/enrolment", &Value::Null).await.expect(201);
        assert_eq!(enrol(&api, &third["token"]).await.0, 401);
        api.call(&admin, Method::DELETE, "/api/v1/envoys/edge-1", &[], &Value::Null).await.expect(204);
        assert_eq!(enrol(&api, &fourth["token"]).await.0, 401);
        api.get(&second, "/api/v1/me").await.problem(401);
        api.post(&admin, "/api/v1/envoys/edge-1/enrolment", &Value::Null).await.problem(404);
        assert_eq!(api.get(&admin, "/api/v1/envoys/edge-1").await.expect(200)["state"], "revoked");
        let usage = api.get(&admin, "/api/v1/usage?by=key").await.expect(200);
        assert_eq!(usage["items"][0]["charge"], "1", "what it has sent stays");
        api.was_well();
    }
}

on_both! {
    async fn an_enrolment_token_expires(database: &TestDatabase) {
        let store = database.open().await;
        let actor = Actor { id: "root".to_owned(), address: String::new() };
        let (token, credential) = (NewSecret::enrolment().unwrap(), NewSecret::token().unwrap());
        for (case, at, want) in [("in time", ENROL_WITHIN - 1, true), ("too late", ENROL_WITHIN, false)] {
            let mut transaction = store.begin().await.unwrap();
            envoys::add(&mut transaction, "e", "e", &actor, 0).await.unwrap();
            assert!(envoys::let_enrol(&mut transaction, "e", &token, &actor, 0).await.unwrap());
            let enrolled = envoys::enrol(&mut transaction, token.reveal(), &credential, "t", "", at).await.unwrap();
            assert_eq!(enrolled.is_some(), want, "{case}");
            transaction.rollback().await;
        }
    }
}
