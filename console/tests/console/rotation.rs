//! Keys that are looked for, changed by two at once, and rotated.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};
use crate::spend_feed::line;

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
    /// Adds up the spend of the old and the new value, whichever is rotated: they are one key, with one limit.
    async fn both_values_spend_one_budget(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let budget = |per_month: &str| json!({"budget": {"per_month": per_month}});
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann", "limits": budget("5")})).await.expect(201);
        api.post(&admin, "/api/v1/keys", &json!({"id": "other", "group": "g", "limits": budget("5")})).await.expect(201);
        let rotate = async |id: &str| {
            api.post(&admin, &format!("/api/v1/keys/{id}/rotate"), &json!({"overlap_seconds": 3600})).await.expect(201);
        };
        let list = async || -> Vec<Value> {
            let all = api.get(&admin, "/api/v1/keys").await.expect(200)["items"].as_array().unwrap().clone();
            all.into_iter().filter(|key| key["id"].as_str().is_some_and(|id| id.starts_with('k'))).collect()
        };
        rotate("k").await;
        // The old value of an old value is still one of the key.
        let old = list().await[1]["id"].as_str().unwrap().to_owned();
        rotate(&old).await;
        let keys = list().await;
        let ids: Vec<&str> = keys.iter().map(|key| key["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 3, "{ids:?}");
        assert_eq!(keys.iter().map(|key| key.get("counts_as")).collect::<Vec<_>>(), [None, Some(&json!("k")), Some(&json!("k"))]);
        let feed = api.get(&admin, "/api/v1/feed/keys").await.expect(200);
        let told: Vec<&Value> = feed["changes"].as_array().unwrap().iter().filter(|key| key["counts_as"] == "k").collect();
        assert_eq!(told.len(), 2, "gateways know: {feed}");

        let lines: Vec<String> = ids.iter().map(|id| {
            let counters = format!("\"trilane.key.id\":\"{id}\",\"trilane.key.counts_as\":\"k\"");
            line(id, "", "1.5", &["key"], "i1").replace(&format!("\"trilane.key.id\":\"{id}\""), &counters)
        }).collect();
        api.ledger(&admin, "/api/v1/ledger/e/a?from=0", &lines.concat()).await.expect(200);
        let fed = api.get(&admin, "/api/v1/feed/spend?envoy=e").await.expect(200);
        let subjects: Vec<&Value> = fed["subjects"].as_array().unwrap().iter().filter(|of| of["kind"] == "key").collect();
        assert_eq!((subjects.len(), &subjects[0]["id"], &subjects[0]["spent"][0]["total"]), (1, &json!("k"), &json!("4.5")));
        assert_eq!(subjects[0]["spent"][0]["own"], json!({"i1": "4.5"}), "in the counters of the process");
        for id in &ids {
            let left = api.get(&admin, &format!("/api/v1/keys/{id}/remaining")).await.expect(200);
            assert_eq!((&left["subjects"][0]["id"], &left["subjects"][0]["budgets"][0]["left"]), (&json!("k"), &json!("0.5")), "{id}");
            let seen = api.get(&admin, &format!("/api/v1/keys/{id}")).await.expect(200);
            assert_eq!(seen["spent_this_month"][0]["amount"], "4.5", "{id}");
        }

        // Another limit of one is the limit of all, and of nobody else.
        let change = async |id: &str, limits: Value| api.call(&admin, Method::PATCH, &format!("/api/v1/keys/{id}"), &[], &json!({"limits": limits})).await.expect(200);
        for (id, limits) in [("k", budget("4")), (old.as_str(), budget("6")), ("k", Value::Null)] {
            change(id, limits.clone()).await;
            let got: Vec<Value> = list().await.iter().map(|key| key.get("limits").cloned().unwrap_or_default()).collect();
            assert_eq!(got, [limits.clone(), limits.clone(), limits], "{id}");
            assert_eq!(api.get(&admin, "/api/v1/keys/other").await.expect(200)["limits"], budget("5"));
        }
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

on_both! {
    /// Leaked, planned, and ended before its time: the response says what became of the old value, and the holder finds it so.
    async fn leaked_or_planned(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let first = api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g"})).await.expect(201)["value"].as_str().unwrap().to_owned();
        let rotate = async |body: Value| api.post(&admin, "/api/v1/keys/k/rotate", &body).await;
        let state = async |value: &str| {
            let request = http::Request::get("/api/v1/me/key").header("authorization", format!("Bearer {value}"));
            let reply = api.send(request.body(axum::body::Body::empty()).unwrap()).await;
            if reply.status == 401 { "refused" } else if reply.json()["key"]["disabled"] == true { "disabled" } else { "good" }
        };
        for (case, body) in [
            ("leaked, and good for a while", json!({"reason": "leaked", "overlap_seconds": 60})),
            ("leaked, and good until", json!({"reason": "leaked", "old_good_until": "2099-01-01T00:00:00Z"})),
            ("planned, without an end", json!({"reason": "planned"})),
            ("planned, with an end that is over", json!({"reason": "planned", "old_good_until": "2020-01-01T00:00:00Z"})),
            ("planned, far too late", json!({"reason": "planned", "old_good_until": "2099-01-01T00:00:00Z"})),
            ("two ends", json!({"reason": "planned", "overlap_seconds": 60, "old_good_until": "2099-01-01T00:00:00Z"})),
            ("no time", json!({"reason": "planned", "old_good_until": "soon"})),
        ] {
            assert_eq!(rotate(body).await.status, 422, "{case}");
        }
        assert_eq!(state(&first).await, "good");

        let planned = rotate(json!({"reason": "planned", "overlap_seconds": 3600})).await.expect(201);
        let second = planned["value"].as_str().unwrap();
        let old = planned["old"]["good"]["id"].as_str().unwrap();
        assert!(old.starts_with("k-old-") && planned["old"]["good"]["good_until"].is_string(), "{planned}");
        assert_eq!(api.get(&admin, "/api/v1/keys/k").await.expect(200)["old_values"][0]["id"], old);
        assert_eq!((state(&first).await, state(second).await), ("good", "good"));

        // What leaked is refused, and so is what came before it.
        let leaked = rotate(json!({"reason": "leaked"})).await.expect(201);
        let third = leaked["value"].as_str().unwrap();
        assert_eq!(leaked["old"], json!({"ended": 1}));
        assert_eq!((state(&first).await, state(second).await, state(third).await), ("disabled", "refused", "good"));

        let until = time::OffsetDateTime::now_utc() + time::Duration::days(2);
        let until = until.replace_nanosecond(0).unwrap().format(&time::format_description::well_known::Rfc3339).unwrap();
        let planned = rotate(json!({"reason": "planned", "old_good_until": until})).await.expect(201);
        assert_eq!(planned["old"]["good"]["good_until"], until);
        let end = async || api.call(&admin, Method::DELETE, "/api/v1/keys/k/old-values", &[], &Value::Null).await.expect(200);
        assert_eq!(end().await, json!({"ended": 1}));
        assert_eq!(end().await, json!({"ended": 0}));
        let fourth = planned["value"].as_str().unwrap();
        assert_eq!((state(third).await, state(fourth).await), ("disabled", "good"));
        assert_eq!(api.get(&admin, "/api/v1/keys/k").await.expect(200)["old_values"], Value::Null);
        let audit = api.get(&admin, "/api/v1/audit?action=key.change").await.expect(200);
        let ended = audit["items"].as_array().unwrap().iter().filter(|entry| entry["object"].as_str().unwrap().starts_with("k-old-"));
        assert_eq!(ended.count(), 2);
        api.was_well();
    }
}

on_both! {
    /// A whole key is found by its digest, and stands in no address, audit or other table afterwards.
    async fn a_key_by_its_value(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "root", Role::Admin).await;
        let (admin, ann) = (api.person("other", Role::Admin).await, api.person("ann", Role::Member).await);
        let mut values = Vec::new();
        for (id, owner) in [("ka", "ann"), ("kb", "bob")] {
            let made = api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "g", "owner": owner})).await.expect(201);
            values.push(made["value"].as_str().unwrap().to_owned());
        }
        let find = async |token: &str, value: &str| api.post(token, "/api/v1/keys/find", &json!({"value": value})).await;
        assert_eq!(find(&admin, &values[1]).await.expect(200)["id"], "kb");
        assert_eq!(find(&admin, &format!(" {}\n", values[1])).await.expect(200)["id"], "kb");
        assert_eq!(find(&ann, &values[0]).await.expect(200)["id"], "ka");
        find(&ann, &values[1]).await.problem(404);
        find(&admin, "tl-nobody-has-this-value-of-a-key").await.problem(404);
        find(&admin, "").await.problem(422);
        api.get(&admin, &format!("/api/v1/keys?search={}", values[1])).await.problem(400);

        let cookie = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        let page = get(&api, "/keys", &cookie).await.text;
        let csrf = csrf(&page);
        let unknown = "tl-0123456789012345678901234567890123456789012";
        for (case, text, to) in [
            ("a whole key", values[1].as_str(), Some("/keys/kb")),
            ("a text", "bob", Some("/keys?search=bob&state=active")),
            ("a long text", "somebody@example.com", Some("/keys?search=somebody%40example.com&state=active")),
            ("a key that there is not", unknown, None),
        ] {
            let reply = post(&api, "/find-keys", &cookie, &[("csrf", &csrf), ("search", text), ("state", "active")]).await;
            let location = reply.headers.get("location").map(|to| to.to_str().unwrap().to_owned());
            assert_eq!(location.as_deref(), to, "{case}");
            assert!(to.is_some() || reply.text.contains("No key has this value"), "{case}");
            assert!(!reply.text.contains(unknown), "{case}: it is shown");
        }
        let shown = get(&api, &format!("/keys?search={unknown}"), &cookie).await.text;
        assert!(shown.contains("does not belong into an address") && !shown.contains(unknown));
        let all = database.dump().await;
        assert!(!all.contains(&values[1]) && !all.contains(unknown));
        api.was_well();
    }
}
