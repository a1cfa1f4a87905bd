//! The addresses from which keys may be used: those of a key, and those of the person who owns it.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;

/// The addresses of a key in the feed.
async fn fed(api: &Api, agent: &str, id: &str) -> Value {
    let page = api.get(agent, "/api/v1/feed/keys").await.expect(200);
    let changes = page["changes"].as_array().unwrap();
    let found = changes.iter().find(|change| change["id"] == id);
    found.unwrap()["addresses"].clone()
}

on_both! {
    async fn both_lists_hold(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let agent = api.person("edge", Role::Agent).await;
        api.person("ann", Role::Member).await;
        let patch = async |path: &str, body: Value| api.call(&root, Method::PATCH, path, &[], &body).await;
        let made = api.post(&root, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann", "addresses": ["10.0.0.0/8", "::1"]})).await.expect(201);
        assert_eq!(made["key"]["addresses"], json!(["10.0.0.0/8", "::1"]));
        assert_eq!(fed(&api, &agent, "k").await, json!(["10.0.0.0/8", "::1/128"]));

        // Those of the person hold as well, for keys that are there and for new ones.
        patch("/api/v1/people/ann", json!({"addresses": ["10.1.0.0/16", "192.0.2.0/24"]})).await.expect(200);
        assert_eq!(fed(&api, &agent, "k").await, json!(["10.1.0.0/16"]));
        api.post(&root, "/api/v1/keys", &json!({"id": "other", "group": "g", "owner": "ann"})).await.expect(201);
        assert_eq!(fed(&api, &agent, "other").await, json!(["10.1.0.0/16", "192.0.2.0/24"]));
        assert_eq!(api.get(&root, "/api/v1/people/ann").await.expect(200)["addresses"], json!(["10.1.0.0/16", "192.0.2.0/24"]));
        // A change of something else leaves them.
        patch("/api/v1/people/ann", json!({"name": "Ann"})).await.expect(200);
        patch("/api/v1/keys/k", json!({"label": "laptop"})).await.expect(200);
        assert_eq!(fed(&api, &agent, "k").await, json!(["10.1.0.0/16"]));
        patch("/api/v1/keys/k", json!({"addresses": ["203.0.113.1"]})).await.expect(200);
        assert_eq!(fed(&api, &agent, "k").await, json!([]), "none is in both");
        patch("/api/v1/keys/k", json!({"owner": null})).await.expect(200);
        assert_eq!(fed(&api, &agent, "k").await, json!(["203.0.113.1/32"]), "of nobody");
        patch("/api/v1/keys/k", json!({"owner": "ann", "addresses": null})).await.expect(200);
        patch("/api/v1/people/ann", json!({"addresses": null})).await.expect(200);
        assert_eq!((fed(&api, &agent, "k").await, fed(&api, &agent, "other").await), (Value::Null, Value::Null));

        let bulk = json!({"filter": {"owner": "ann"}, "change": {"addresses": ["2001:db8::/32"]}, "expected": 2});
        api.post(&root, "/api/v1/keys/bulk", &bulk).await.expect(200);
        assert_eq!(fed(&api, &agent, "other").await, json!(["2001:db8::/32"]));

        // The audit has both.
        let audit = api.get(&root, "/api/v1/audit?action=person.change&object=ann").await.expect(200);
        assert_eq!(audit["items"][0]["before"]["addresses"], json!(["10.1.0.0/16", "192.0.2.0/24"]));
        let audit = api.get(&root, "/api/v1/audit?action=key.create&object=k").await.expect(200);
        assert_eq!(audit["items"][0]["after"]["addresses"], json!(["10.0.0.0/8", "::1"]));

        for (case, list, place) in [
            ("a host", json!(["10.0.0.0/8", "example.com"]), "addresses[1]"),
            ("not the first of its range", json!(["10.0.0.1/8"]), "addresses[0]"),
            ("too many", json!(vec!["10.0.0.1"; 65]), "addresses"),
        ] {
            for path in ["/api/v1/people/ann", "/api/v1/keys/k"] {
                let problem = patch(path, json!({"addresses": list})).await.problem(422);
                assert_eq!(problem["problems"][0]["path"], place, "{case}: {problem}");
            }
        }
        // Written past the console: what cannot be read allows nothing.
        database.execute("UPDATE keys SET addresses = '[\"10.0.0.0/99\", \"10.0.0.0/8\"]' WHERE id = 'k'").await.unwrap();
        assert_eq!(fed(&api, &agent, "k").await, json!(["10.0.0.0/8"]));
        api.was_well();
    }
}
