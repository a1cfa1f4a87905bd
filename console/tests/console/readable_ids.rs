//! Ids that the console makes of labels and names.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;
use crate::lives::{PRICES, document, publish};

async fn id_of(api: &Api, token: &str, key: Value) -> String {
    let path = if key.get("team").is_some() && key.get("owner").is_none() {
        "/api/v1/me/keys"
    } else {
        "/api/v1/keys"
    };
    let made = api.post(token, path, &key).await.expect(201);
    made["key"]["id"].as_str().unwrap().to_owned()
}

/// Whether an id is a label's with a few letters behind.
fn is_near(id: &str, label: &str) -> bool {
    let more = id
        .strip_prefix(label)
        .and_then(|rest| rest.strip_prefix('-'));
    more.is_some_and(|more| {
        more.len() == 4
            && more
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    })
}

on_both! {
    async fn of_labels_of_keys(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let ann = api.person("ann.archer@example.com", Role::Member).await;
        let mut text: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        text["keys"] = json!([{"id": "written", "sha256": "ab".repeat(32), "group": "g"}]);
        publish(&api, &root, &text.to_string()).await;
        let key = |label: &str| json!({"group": "g", "label": label});
        assert_eq!(id_of(&api, &root, key("CI review")).await, "ci-review");
        let second = id_of(&api, &root, key("CI: review")).await;
        assert!(is_near(&second, "ci-review"), "{second}");
        let written = id_of(&api, &root, key("Written")).await;
        assert!(is_near(&written, "written"), "the document has that one: {written}");
        assert_eq!(id_of(&api, &root, json!({"id": "own", "group": "g", "label": "CI review"})).await, "own", "one that is given stands");

        // What a key has used stays under its id: another key is not taken for it.
        let used = line("2026-11-24T11:00:00Z", "ci-review", "m", "1");
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &used).await.expect(200);
        let remove = async |id: &str| api.call(&root, Method::DELETE, &format!("/api/v1/keys/{id}"), &[], &Value::Null).await.expect(204);
        remove("ci-review").await;
        let third = id_of(&api, &root, key("CI review")).await;
        assert!(is_near(&third, "ci-review"), "{third}");
        assert_eq!(id_of(&api, &root, key("Unused")).await, "unused");
        remove("unused").await;
        assert_eq!(id_of(&api, &root, key("Unused")).await, "unused", "nothing has this id any more");

        // Who a person is does not come into an id, by whatever way.
        for (case, key) in [
            ("no label", json!({"group": "g"})),
            ("letters of others", key("\u{8bc4}\u{6d4b}")),
            ("an address", key("bea@example.com")),
            ("the owner's id", json!({"group": "g", "owner": "ann.archer@example.com", "label": "Ann's laptop"})),
            ("the owner's name", json!({"group": "g", "owner": "ann.archer@example.com", "label": "archer 2"})),
        ] {
            let id = id_of(&api, &root, key).await;
            assert!(id.starts_with("key_") && id.len() == 28, "{case}: {id}");
        }
        let allowance = json!({"keys": 9, "groups": ["g"]});
        api.post(&root, "/api/v1/teams", &json!({"id": "blue", "allowance": allowance})).await.expect(201);
        api.call(&root, Method::PUT, "/api/v1/teams/blue/members/ann.archer@example.com", &[], &json!({})).await.expect(200);
        let own = |label: &str| json!({"team": "blue", "group": "g", "label": label});
        assert_eq!(id_of(&api, &ann, own("Laptop")).await, "laptop");
        let id = id_of(&api, &ann, own("Laptop of Ann")).await;
        assert!(id.starts_with("key_"), "{id}");
        api.was_well();
    }
}

on_both! {
    async fn of_names_of_teams(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let new = async |team: Value| api.post(&root, "/api/v1/teams", &team).await.expect(201)["id"].as_str().unwrap().to_owned();
        assert_eq!(new(json!({"name": "Blue Sky"})).await, "blue-sky");
        let second = new(json!({"name": "Blue sky"})).await;
        assert!(is_near(&second, "blue-sky"), "{second}");
        assert_eq!(new(json!({"id": "B", "name": "Blue sky"})).await, "B");
        // Keys name a team that is none yet, and are not given to another one by that.
        api.post(&root, "/api/v1/keys", &json!({"group": "g", "team": "red"})).await.expect(201);
        let red = new(json!({"name": "Red"})).await;
        assert!(is_near(&red, "red"), "{red}");
        assert!(new(json!({"name": "\u{8bc4}"})).await.starts_with("team_"));
        for body in [json!({}), json!({"name": ""})] {
            let problem = api.post(&root, "/api/v1/teams", &body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], "name");
        }
        api.was_well();
    }
}
