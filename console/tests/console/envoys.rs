//! Credentials of agents: the ways to one, and the rights that it has.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::envoys::{self, ENROL_WITHIN};
use trilane_console::secret::NewSecret;
use trilane_console::store::StoreError;
use trilane_console::store::audit::Actor;
use trilane_console::{in_transaction, secret};

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;
use crate::lives::{PRICES, document, publish};

async fn enrol(api: &Api, token: &Value) -> (u16, String) {
    enrol_as(api, &json!({"token": token})).await
}

async fn enrol_as(api: &Api, body: &Value) -> (u16, String) {
    let reply = api.call("", Method::POST, "/api/v1/enrol", &[], body).await;
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

const FEED: &str = "/api/v1/feed/credentials";

/// The actor who runs the console's machine.
fn operator() -> Actor {
    Actor {
        id: "command".to_owned(),
        address: String::new(),
    }
}

/// `trilane console approve`.
async fn approve(api: &Api, fingerprint: &str) -> Option<String> {
    let approved: Result<_, StoreError> = in_transaction!(api.store, transaction => {
        envoys::approve(transaction, fingerprint, &operator(), 7).await
    });
    approved.unwrap()
}

on_both! {
    /// Enrols an agent with an admin's token, which alone gives it no credential.
    async fn credentials_come_after_an_approval(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let made = api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-1"})).await.expect(201);
        let (_, agent) = enrol(&api, &made["token"]).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        api.get(&agent, "/api/v1/feed/document").await.expect(200);
        let fingerprint = envoys::fingerprint(&secret::digest(&agent));
        let waits = api.get(&agent, FEED).await.problem(409);
        assert_eq!(waits["type"], "/problems/not-approved");
        assert!(waits["detail"].as_str().unwrap().ends_with(&format!("trilane console approve {fingerprint}")), "{waits}");
        let shown = api.get(&admin, "/api/v1/envoys/edge-1").await.expect(200);
        assert_eq!((&shown["fingerprint"], &shown["approved"]), (&json!(fingerprint), &json!(false)));

        for wrong in ["", "edge-1", "0000-0000-0000-0000-0000", &fingerprint[..9], &secret::digest(&agent)] {
            assert_eq!(approve(&api, wrong).await, None, "{wrong}");
        }
        api.get(&agent, FEED).await.problem(409);
        assert_eq!(approve(&api, &format!(" {} ", fingerprint.to_uppercase())).await.as_deref(), Some("edge-1"));
        assert_eq!(approve(&api, &fingerprint).await, None, "it waits no more");
        api.get(&agent, FEED).await.expect(200);
        api.get(&agent, FEED).await.expect(200);
        let shown = api.get(&admin, "/api/v1/envoys/edge-1").await.expect(200);
        assert_eq!(shown["approved"], true);
        let read = || async {
            let audit = api.get(&admin, "/api/v1/audit?action=credentials.read").await.expect(200);
            audit["items"].as_array().unwrap().iter().map(|entry| entry["actor"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(read().await, [json!("edge-1")], "noted once");

        // An admin lets it enrol again: that is somebody else, for all that is known.
        let again = api.post(&admin, "/api/v1/envoys/edge-1/enrolment", &Value::Null).await.expect(201);
        let (_, thief) = enrol(&api, &again["token"]).await;
        api.get(&thief, FEED).await.problem(409);
        assert_eq!(approve(&api, &fingerprint).await, None, "the one that was approved is gone");
        let other = envoys::fingerprint(&secret::digest(&thief));
        assert_eq!(approve(&api, &other).await.as_deref(), Some("edge-1"));
        api.get(&thief, FEED).await.expect(200);
        assert_eq!(read().await.len(), 2, "once for each");

        // Revoked before anybody has approved it.
        let third = api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-2"})).await.expect(201);
        let (_, third) = enrol(&api, &third["token"]).await;
        api.call(&admin, Method::DELETE, "/api/v1/envoys/edge-2", &[], &Value::Null).await.expect(204);
        assert_eq!(approve(&api, &envoys::fingerprint(&secret::digest(&third))).await, None);
        api.was_well();
    }
}

on_both! {
    /// The role of agents is nobody's, and nobody has a token of an agent.
    async fn nobody_becomes_an_agent(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        let made = api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-1"})).await.expect(201);
        let (_, agent) = enrol(&api, &made["token"]).await;
        approve(&api, &envoys::fingerprint(&secret::digest(&agent))).await.unwrap();
        for (case, method, path, body, at) in [
            ("a new person", Method::POST, "/api/v1/people", json!({"id": "eve", "name": "Eve", "role": "agent"}), "role"),
            ("a person", Method::PATCH, "/api/v1/people/ann", json!({"role": "agent"}), "role"),
            ("oneself", Method::PATCH, "/api/v1/people/root", json!({"role": "agent"}), "role"),
            ("an agent as a person", Method::PATCH, "/api/v1/people/edge-1", json!({"role": "admin"}), "role"),
            ("a token of an agent", Method::POST, "/api/v1/tokens", json!({"name": "t", "person": "edge-1"}), "person"),
        ] {
            let problem = api.call(&admin, method, path, &[], &body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], at, "{case}: {problem}");
        }
        api.call(&agent, Method::POST, "/api/v1/tokens", &[], &json!({"name": "mine"})).await.problem(403);
        api.post(&admin, "/api/v1/people/edge-1/sign-in-link", &Value::Null).await.problem(404);
        for token in [&admin, &ann] {
            api.get(token, FEED).await.problem(403);
        }
        api.get(&agent, FEED).await.expect(200);
        let person = api.get(&admin, "/api/v1/people").await.expect(200);
        let roles: Vec<_> = person["items"].as_array().unwrap().iter().map(|person| person["role"].clone()).collect();
        assert_eq!(roles, ["member", "agent", "admin"]);
    }
}

on_both! {
    /// For charts and autoscaling: whoever has the secret needs neither an admin nor an approval.
    async fn by_an_enrolment_secret(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let make = async |name: &str, until: Option<i64>| {
            let made = NewSecret::enrolment_secret().unwrap();
            let kept: Result<(), StoreError> = in_transaction!(api.store, transaction => {
                envoys::make_secret(transaction, name, &made, until, &operator(), 7).await
            });
            kept.unwrap();
            made.reveal().to_owned()
        };
        let secret = make("chart", None).await;
        let as_one = async |secret: &str, id: &str| enrol_as(&api, &json!({"token": secret, "envoy": id})).await;
        let (status, first) = as_one(&secret, "pod-1").await;
        assert_eq!(status, 201);
        api.get(&first, FEED).await.expect(200);
        let shown = api.get(&admin, "/api/v1/envoys/pod-1").await.expect(200);
        assert_eq!((&shown["state"], &shown["approved"]), (&json!("enrolled"), &json!(true)));
        let (_, other) = as_one(&secret, "pod-2").await;
        api.get(&other, FEED).await.expect(200);
        // A pod that is made anew.
        let (_, second) = as_one(&secret, "pod-1").await;
        api.get(&first, "/api/v1/me").await.problem(401);
        api.get(&second, FEED).await.expect(200);

        api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-1"})).await.expect(201);
        for (case, secret, id, want) in [
            ("a person's id", secret.as_str(), "root", 409),
            ("an Envoy that an admin has added", &secret, "edge-1", 409),
            ("no id", &secret, "", 422),
            ("no good id", &secret, "a b", 422),
            ("no secret", "tlr-wrong", "pod-3", 401),
            ("one that has expired", &make("short", Some(1)).await, "pod-3", 401),
        ] {
            assert_eq!(as_one(secret, id).await.0, want, "{case}");
        }
        // An Envoy that was revoked stays so.
        api.call(&admin, Method::DELETE, "/api/v1/envoys/pod-2", &[], &Value::Null).await.expect(204);
        assert_eq!(as_one(&secret, "pod-2").await.0, 401);
        // An admin's token for an Envoy that has enrolled by a secret gives no credentials.
        let token = api.post(&admin, "/api/v1/envoys/pod-1/enrolment", &Value::Null).await.expect(201);
        let (_, thief) = enrol(&api, &token["token"]).await;
        api.get(&thief, FEED).await.problem(409);

        // Another one of its name, and none.
        let newer = make("chart", None).await;
        assert_eq!(as_one(&secret, "pod-4").await.0, 401, "void");
        assert_eq!(as_one(&newer, "pod-4").await.0, 201);
        let remove = async |name: &str| {
            let removed: Result<bool, StoreError> = in_transaction!(api.store, transaction => {
                envoys::remove_secret(transaction, name, &operator(), 8).await
            });
            removed.unwrap()
        };
        assert!(remove("chart").await && !remove("chart").await);
        assert_eq!(as_one(&newer, "pod-5").await.0, 401, "removed");
        let stored = api.get(&admin, "/api/v1/audit").await.text;
        assert!(!stored.contains(&secret) && stored.contains("enrolment secret chart"), "{stored}");
        api.was_well();
    }
}
