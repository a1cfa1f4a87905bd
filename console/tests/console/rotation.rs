//! Keys that are looked for, changed by two at once, and rotated.

use http::Method;
use serde_json::{Value, json};
use trilane_console::api::Role;

use crate::api::Api;
use crate::database::on_both;

on_both! {
    async fn which_keys_are_found(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for (id, owner, label, more) in [
            ("ci-1", "Platform", "Review 100%", json!({})),
            ("ci-2", "mobile", "re_view", json!({"disabled": true})),
            ("old", "mobile", "xenon", json!({"expires_at": "2020-01-01T00:00:00Z"})),
        ] {
            let mut key = json!({"id": id, "group": "g", "owner": owner, "label": label});
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            api.post(&admin, "/api/v1/keys", &key).await.expect(201);
        }
        let hint = api.get(&admin, "/api/v1/keys/old").await.expect(200)["hint"].as_str().unwrap().to_lowercase();
        // Keys are found by their last four characters too, which are drawn: no case has a text that they could have.
        let cases = [
            ("search=ci-", vec!["ci-1", "ci-2"]),
            ("search=PLATFORM", vec!["ci-1"]),
            ("search=review", vec!["ci-1"]),
            ("search=100%25", vec!["ci-1"]),
            ("search=_", vec!["ci-2"]),
            ("search=%25", vec!["ci-1"]),
            ("search=%5C", vec![]),
            ("state=disabled", vec!["ci-2"]),
            ("state=expired", vec!["old"]),
            ("state=active", vec!["ci-1"]),
            ("state=active&search=mobile", vec![]),
            ("owner=mobile&search=xenon", vec!["old"]),
        ];
        for (query, want) in cases {
            let found = api.get(&admin, &format!("/api/v1/keys?{query}")).await.expect(200);
            let ids: Vec<&str> = found["items"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap()).collect();
            assert_eq!(ids, want, "{query}");
        }
        let found = api.get(&admin, &format!("/api/v1/keys?search={hint}")).await.expect(200);
        assert!(found["items"].as_array().unwrap().iter().any(|key| key["id"] == "old"), "by its last characters");
        api.get(&admin, "/api/v1/keys?state=lost").await.problem(400);
        api.was_well();
    }
}

on_both! {
    async fn a_change_over_another_one(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g"})).await.expect(201);
        let seen = api.get(&admin, "/api/v1/keys/k").await.expect(200)["revision"].clone();
        let change = async |body: Value| api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &body).await;
        change(json!({"label": "one", "revision": seen})).await.expect(200);
        change(json!({"label": "two", "revision": seen})).await.problem(412);
        let key = api.get(&admin, "/api/v1/keys/k").await.expect(200);
        assert_eq!(key["label"], "one");
        change(json!({"label": "two", "revision": key["revision"]})).await.expect(200);
        change(json!({"label": "three"})).await.expect(200);
        api.was_well();
    }
}

on_both! {
    /// The old value stays good for the overlap, with the key's own terms, and never longer than the key.
    async fn a_key_is_rotated(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let limits = json!({"requests_per_minute": 5});
        let made = api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann", "limits": limits})).await.expect(201);
        let rotated = api.post(&admin, "/api/v1/keys/k/rotate", &json!({"overlap_seconds": 3600})).await.expect(201);
        assert_ne!(rotated["value"], made["value"]);
        assert_eq!((&rotated["key"]["id"], &rotated["key"]["limits"]), (&json!("k"), &limits));
        let list = async || api.get(&admin, "/api/v1/keys?search=k").await.expect(200)["items"].as_array().unwrap().clone();
        let keys = list().await;
        assert_eq!(keys.len(), 2);
        let old = &keys[1];
        assert!(old["id"].as_str().unwrap().starts_with("k-old-2"), "{old}");
        assert_eq!((&old["hint"], &old["limits"], &old["owner"]), (&made["key"]["hint"], &limits, &json!("ann")));
        assert!(old["expires_at"].is_string());

        // At once: the old value is gone. The second rotation does not touch what the first one left.
        api.post(&admin, "/api/v1/keys/k/rotate", &json!({})).await.expect(201);
        assert_eq!(list().await.len(), 2);
        // A key that ends sooner ends both.
        api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &json!({"expires_at": "2020-01-01T00:00:00Z"})).await.expect(200);
        api.post(&admin, "/api/v1/keys/k/rotate", &json!({"overlap_seconds": 86400})).await.expect(201);
        let ends: Vec<Value> = list().await.iter().map(|key| key["expires_at"].clone()).collect();
        assert_eq!(ends.iter().filter(|end| **end == "2020-01-01T00:00:00Z").count(), 2, "{ends:?}");

        let once = [("idempotency-key", "once")];
        let first = api.call(&admin, Method::POST, "/api/v1/keys/k/rotate", &once, &json!({})).await.expect(201);
        let again = api.call(&admin, Method::POST, "/api/v1/keys/k/rotate", &once, &json!({})).await.expect(201);
        assert_eq!((again.get("value"), &again["key"]["hint"]), (None, &first["key"]["hint"]));
        api.post(&admin, "/api/v1/keys/k/rotate", &json!({"overlap_seconds": 40_000_000})).await.problem(422);
        api.post(&admin, "/api/v1/keys/none/rotate", &json!({})).await.problem(404);
        let acts: Vec<Value> = api.get(&admin, "/api/v1/audit").await.expect(200)["items"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect();
        assert_eq!(acts.iter().filter(|act| **act == "key.rotate").count(), 4);
        api.was_well();
    }
}
