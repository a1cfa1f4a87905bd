//! Keys that are changed together: all that filters find, or none.

use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;

on_both! {
    async fn all_or_none(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let member = api.person("ann", Role::Member).await;
        for (id, owner, team) in [("a1", "ann", Some("blue")), ("a2", "ann", None), ("b1", "bob", Some("blue")), ("c1", "carl", Some("red"))] {
            api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "g", "owner": owner, "team": team})).await.expect(201);
        }
        let bulk = async |filter: Value, change: Value, expected: Value| {
            let body = json!({"filter": filter, "change": change, "expected": expected});
            api.post(&admin, "/api/v1/keys/bulk", &body).await
        };
        let field = async |name: &str| {
            let keys = api.get(&admin, "/api/v1/keys").await.expect(200);
            let values = keys["items"].as_array().unwrap().iter().map(|key| key[name].clone());
            json!(values.collect::<Vec<_>>())
        };
        // Counting changes nothing.
        let counted = bulk(json!({"team": "blue"}), json!({"disabled": true}), Value::Null).await.expect(200);
        assert_eq!(counted, json!({"found": 2, "changed": 0}));
        assert_eq!(field("disabled").await, json!([false, false, false, false]));
        for (case, filter, change, expected, status) in [
            ("another number", json!({"team": "blue"}), json!({"disabled": true}), json!(3), 409),
            ("all keys", json!({}), json!({"disabled": true}), json!(4), 422),
            ("no change", json!({"team": "blue"}), json!({}), json!(2), 422),
            ("a team that cannot be", json!({"team": "blue"}), json!({"team": "a b"}), json!(2), 422),
            ("a time that cannot be", json!({"team": "blue"}), json!({"expires_at": "soon"}), json!(2), 422),
            ("limits that cannot be", json!({"team": "blue"}), json!({"limits": {"requests_per_minute": 0}}), json!(2), 422),
            ("an unknown filter", json!({"colour": "blue"}), json!({"disabled": true}), json!(2), 422),
        ] {
            let reply = bulk(filter, change, expected).await;
            assert_eq!(reply.status, status, "{case}: {reply:?}");
        }
        let problem = bulk(json!({"team": "blue"}), json!({"team": "a b"}), json!(2)).await.problem(422);
        assert_eq!((&problem["problems"][0]["path"], &problem["problems"][1]["path"]), (&json!("a1.team"), &json!("b1.team")));

        let done = bulk(json!({"team": "blue"}), json!({"disabled": true}), json!(2)).await.expect(200);
        assert_eq!(done, json!({"found": 2, "changed": 2}));
        assert_eq!(field("disabled").await, json!([true, false, true, false]));
        let done = bulk(json!({"owner": "ann"}), json!({"disabled": true}), json!(2)).await.expect(200);
        assert_eq!(done, json!({"found": 2, "changed": 1}), "one was disabled before");
        bulk(json!({"state": "disabled"}), json!({"disabled": false, "owner": "dora", "team": null}), json!(3)).await.expect(200);
        assert_eq!(field("owner").await, json!(["dora", "dora", "dora", "carl"]));
        assert_eq!(field("team").await, json!([null, null, null, "red"]));
        let limits = json!({"requests_per_minute": 5});
        let until = json!({"limits": limits, "expires_at": "2099-01-01T00:00:00Z"});
        bulk(json!({"search": "DORA", "group": "g"}), until, json!(3)).await.expect(200);
        assert_eq!(field("limits").await, json!([limits, limits, limits, null]));
        assert_eq!(field("expires_at").await[2], "2099-01-01T00:00:00Z");

        // Of one that is refused, none is changed.
        api.call(&admin, http::Method::PATCH, "/api/v1/people/ann", &[], &json!({"disabled": true})).await.expect(200);
        bulk(json!({"group": "g"}), json!({"owner": "ann"}), json!(4)).await.problem(422);
        assert_eq!(field("owner").await, json!(["dora", "dora", "dora", "carl"]));

        let audit = api.get(&admin, "/api/v1/audit?action=keys.change").await.expect(200);
        assert_eq!(audit["items"].as_array().unwrap().len(), 4);
        assert_eq!(audit["items"][3]["before"], json!({"team": "blue"}));
        let audit = api.get(&admin, "/api/v1/audit?action=key.change&object=a1").await.expect(200);
        assert_eq!(audit["items"].as_array().unwrap().len(), 3);
        assert_eq!(api.post(&member, "/api/v1/keys/bulk", &json!({"filter": {"owner": "ann"}, "change": {}})).await.status, 401, "disabled");
        api.was_well();
    }
}

on_both! {
    /// A key that the document in force has no place for can be disabled, alone and with others.
    async fn what_no_gateway_takes_can_be_disabled(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for id in ["a", "b"] {
            api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "gone", "team": "t"})).await.expect(201);
        }
        crate::lives::publish(&api, &admin, &crate::lives::document("g", crate::lives::PRICES)).await;
        let change = async |body: Value| api.call(&admin, http::Method::PATCH, "/api/v1/keys/a", &[], &body).await;
        change(json!({"label": "x"})).await.problem(422);
        change(json!({"disabled": true})).await.expect(200);
        let all = json!({"filter": {"team": "t"}, "change": {"disabled": true}, "expected": 2});
        let done = api.post(&admin, "/api/v1/keys/bulk", &all).await.expect(200);
        assert_eq!(done, json!({"found": 2, "changed": 1}));
        let named = json!({"filter": {"team": "t"}, "change": {"owner": "x"}, "expected": 2});
        api.post(&admin, "/api/v1/keys/bulk", &named).await.problem(422);
        api.was_well();
    }
}
