//! Multipliers of a key's own: its only one, or the greatest that it pays.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::publish;

/// A document with two sources of `m`, the cheaper one at this multiplier, and `n` of the dearer one alone.
fn document(cheaper: &str) -> String {
    let source = |id: &str, multiplier: &str, models: &[&str]| {
        let models: Vec<Value> = models
            .iter()
            .map(|id| json!({"id": id, "free": true}))
            .collect();
        json!({"id": id, "protocol": "B", "multiplier": multiplier, "models": models,
            "accounts": [{"id": "one", "url": format!("https://{id}.example.com"), "credential": id}]})
    };
    let entry = json!({"sources": [{"source": "dear"}, {"source": "cheap"}]});
    let models = json!([{"id": "m", "entry": "vb_messages", "sources": ["dear", "cheap"]},
        {"id": "n", "entry": "vb_messages", "sources": ["dear"]}]);
    json!({"keys": [], "groups": [source("dear", "2", &["m", "n"]), source("cheap", cheaper, &["m"]),
        {"id": "all", "protocol": "Mixed", "entries": {"vb_messages": entry}, "models": models}]})
    .to_string()
}

on_both! {
    /// Shows the multipliers of a key to people and to gateways.
    async fn of_a_key(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("1")).await;
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "all", "max_multiplier": "1.5"})).await.expect(201);
        let [multiplier, most] = ["multiplier", "max_multiplier"];
        let cases = [
            ("made", json!({}), [None, Some("1.5")], &["m"][..], None),
            ("another thing changes", json!({"label": "desk"}), [None, Some("1.5")], &["m"], None),
            ("none at all is cheap enough", json!({most: "0.9999"}), [None, Some("0.9999")], &[], Some("no_models")),
            ("just enough", json!({most: "2.0000"}), [None, Some("2.0000")], &["m", "n"], None),
            ("taken away", json!({most: null}), [None, None], &["m", "n"], None),
            ("the only one", json!({multiplier: "0.5"}), [Some("0.5"), None], &["m", "n"], None),
            ("one for the other", json!({multiplier: null, most: "1"}), [None, Some("1")], &["m"], None),
        ];
        for (case, change, want, models, reason) in cases {
            api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &change).await.expect(200);
            let key = api.get(&admin, "/api/v1/keys/k").await.expect(200);
            let feed = api.get(&admin, "/api/v1/feed/keys").await.expect(200);
            let want = want.map(|text| text.map(Value::from));
            for (who, says) in [("people", &key), ("gateways", &feed["changes"][0])] {
                assert_eq!([multiplier, most].map(|name| says.get(name).cloned()), want, "{case}: {who}");
            }
            let shown = api.get(&admin, "/api/v1/keys/k/models").await.expect(200);
            let ids: Vec<&Value> = shown["items"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
            assert_eq!(json!(ids), json!(models), "{case}");
            let now = api.get(&admin, "/api/v1/keys/k/remaining").await.expect(200);
            assert_eq!(now["requests"].get("reason").and_then(Value::as_str), reason, "{case}: {now}");
        }
        for (case, change, field) in [
            ("both", json!({multiplier: "1"}), most),
            ("too exact", json!({most: "0.12345"}), most),
            ("no number", json!({most: "cheap"}), most),
            ("too much", json!({most: "1000000.0001"}), most),
        ] {
            let refused = api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &change).await.problem(422);
            assert_eq!(refused["problems"][0]["path"], field, "{case}: {refused}");
        }
        let entries = api.get(&admin, "/api/v1/audit?object=k").await.expect(200);
        let last = &entries["items"][0];
        assert_eq!([&last["before"], &last["after"]].map(|said| said.get(most).cloned()), [None, Some(json!("1"))], "{last}");
        assert_eq!([&last["before"], &last["after"]].map(|said| said.get(multiplier).cloned()), [Some(json!("0.5")), None], "{last}");
        api.was_well();
    }
}

on_both! {
    /// Tells which keys lose a model as it becomes too dear for them.
    async fn who_loses_a_model_that_becomes_dearer(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("1")).await;
        for (id, most) in [("any", Value::Null), ("k1", json!("1")), ("k2", json!("1.0000")), ("k3", json!("1.5"))] {
            api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "all", "max_multiplier": most})).await.expect(201);
        }
        api.post(&admin, "/api/v1/keys", &json!({"id": "of-a-source", "group": "cheap", "max_multiplier": "1.5"})).await.expect(201);
        for (cheaper, want) in [
            ("0.5", json!([])),
            ("1.2", json!(["2 keys (k1, k2) lose m"])),
            ("1.8", json!(["4 keys (k1, k2, k3, of-a-source) lose m"])),
        ] {
            let draft = api.post(&admin, "/api/v1/drafts", &json!({"body": document(cheaper)})).await.expect(201);
            let id = draft["id"].as_str().unwrap();
            let check = api.get(&admin, &format!("/api/v1/drafts/{id}/check")).await.expect(200);
            let told: Vec<&Value> = check["model_changes"].as_array().unwrap().iter().map(|one| &one["sentence"]).collect();
            assert_eq!(json!(told), want, "{cheaper}");
        }
    }
}
