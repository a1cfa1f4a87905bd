//! Budgets of owners and teams over the API.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};

on_both! {
    async fn of_owners_and_teams(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        let put = async |path: &str, body: Value| api.call(&admin, Method::PUT, &format!("/api/v1/budgets/{path}"), &[], &body).await;
        publish(&api, &admin, &document("g", PRICES)).await;

        let set = put("owner/ann", json!({"per_day": "5", "per_month": "20.50"})).await.expect(200);
        assert_eq!(set, json!({"kind": "owner", "id": "ann", "budget": {"per_day": "5", "per_month": "20.50"}}));
        put("team/blue%20sky", json!({"per_month": "7"})).await.expect(200);
        let listed = api.get(&admin, "/api/v1/budgets?limit=1").await.expect(200);
        assert_eq!(listed["items"][0], set);
        let next = listed["next"].as_str().unwrap();
        let listed = api.get(&admin, &format!("/api/v1/budgets?limit=1&cursor={next}")).await.expect(200);
        assert_eq!(listed, json!({"items": [{"kind": "team", "id": "blue sky", "budget": {"per_month": "7"}}]}));

        // Gateways are told, and nothing is published for it.
        let feed = api.get(&admin, "/api/v1/feed/spend").await.expect(200);
        assert_eq!(feed["subjects"][0], json!({"kind": "owner", "id": "ann", "per_day": "5", "per_month": "20.50", "spent": []}));
        let cursor = feed["cursor"].as_str().unwrap();
        put("owner/ann", json!({"per_day": "6"})).await.expect(200);
        let changed = api.get(&admin, &format!("/api/v1/feed/spend?cursor={cursor}")).await.expect(200);
        assert_eq!(changed["subjects"], json!([{"kind": "owner", "id": "ann", "per_day": "6", "spent": []}]));

        // Whose budget it is sees it; everybody else's is unknown.
        let seen = api.get(&ann, "/api/v1/budgets/owner/ann").await.expect(200);
        assert_eq!(seen, json!({"budget": {"per_day": "6"}, "today": [], "this_month": []}));
        api.get(&bob, "/api/v1/budgets/owner/ann").await.problem(404);
        api.get(&ann, "/api/v1/budgets/team/blue%20sky").await.problem(404);
        api.get(&admin, "/api/v1/budgets/owner/bob").await.problem(404);
        api.get(&admin, "/api/v1/budgets/planet/bob").await.problem(400);

        for (case, body) in [
            ("nothing", json!({})),
            ("zero", json!({"per_day": "0.00"})),
            ("no number", json!({"per_month": "-1"})),
            ("too exact", json!({"per_day": "0.000000000000000000001"})),
        ] {
            let problem = put("owner/ann", body).await.problem(422);
            assert!(problem["problems"][0]["reason"].is_string(), "{case}: {problem}");
        }

        let remove = async |path: &str| api.call(&admin, Method::DELETE, &format!("/api/v1/budgets/{path}"), &[], &Value::Null).await;
        remove("owner/ann").await.expect(204);
        remove("owner/ann").await.problem(404);
        let feed = api.get(&admin, &format!("/api/v1/feed/spend?cursor={cursor}")).await.expect(200);
        assert_eq!(feed["subjects"], json!([{"kind": "owner", "id": "ann", "spent": []}]));
        let audit = api.get(&admin, "/api/v1/audit").await.expect(200).to_string();
        assert_eq!(audit.matches("budget.change").count(), 4, "{audit}");
        api.was_well();
    }
}

on_both! {
    /// Rejects a budget over models without prices: they cannot be counted, and are named.
    async fn what_has_no_prices(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let put = async |path: &str, body: Value| api.call(&admin, Method::PUT, &format!("/api/v1/budgets/{path}"), &[], &body).await;
        publish(&api, &admin, &document("free", "")).await;
        api.post(&admin, "/api/v1/keys", &json!({"group": "free", "owner": "ann", "team": "blue"})).await.expect(201);
        for path in ["owner/ann", "team/blue"] {
            let problem = put(path, json!({"per_day": "5"})).await.problem(422);
            let reason = problem["problems"][0]["reason"].as_str().unwrap();
            assert!(reason.ends_with("give prices, or \"free\": true, to m"), "{path}: {reason}");
        }
        put("owner/bob", json!({"per_day": "5"})).await.expect(200);
        let problem = api.post(&admin, "/api/v1/keys", &json!({"group": "free", "owner": "bob"})).await.problem(422);
        assert!(problem.to_string().contains("to m"), "{problem}");
        publish(&api, &admin, &document("free", PRICES)).await;
        put("owner/ann", json!({"per_day": "5"})).await.expect(200);
        api.post(&admin, "/api/v1/keys", &json!({"group": "free", "owner": "bob"})).await.expect(201);
        api.was_well();
    }
}

on_both! {
    /// A model without a price that is published names those who may not use it, and refuses nobody.
    async fn who_loses_a_model(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let budget = json!({"budget": {"per_day": "5"}});
        for key in [
            json!({"id": "own", "limits": budget}),
            json!({"id": "narrow", "limits": budget, "models": ["m"]}),
            json!({"id": "rated", "limits": {"requests_per_minute": 5}}),
            json!({"id": "of-ann", "owner": "ann"}),
            json!({"id": "of-bob", "owner": "bob"}),
            json!({"id": "of-cy", "owner": "cy", "models": ["m"]}),
            json!({"id": "of-blue", "team": "blue"}),
        ] {
            let mut key = key;
            key["group"] = json!("g");
            api.post(&admin, "/api/v1/keys", &key).await.expect(201);
        }
        for path in ["owner/ann", "owner/cy", "team/blue", "team/red"] {
            let path = format!("/api/v1/budgets/{path}");
            api.call(&admin, Method::PUT, &path, &[], &json!({"per_day": "5"})).await.expect(200);
        }
        let mut body: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        body["groups"][0]["models"].as_array_mut().unwrap().push(json!({"id": "new"}));
        let digest = "0".repeat(64);
        body["keys"] = json!([{"id": "written", "sha256": digest, "group": "g", "team": "red"}]);
        let draft = api.post(&admin, "/api/v1/drafts", &json!({"body": body.to_string()})).await.expect(201);
        let check = format!("/api/v1/drafts/{}/check", draft["id"].as_str().unwrap());
        let checked = api.get(&admin, &check).await.expect(200);
        let want = json!([{"path": "groups[0].models", "reason":
            "a budget cannot count models without prices, so these may not use new: key own, owner ann, team blue, team red"}]);
        assert_eq!((&checked["valid"], &checked["warnings"]), (&json!(true), &want));
        publish(&api, &admin, &body.to_string()).await;

        // What is left can be used under a budget as before.
        api.post(&admin, "/api/v1/keys", &json!({"group": "g", "limits": budget})).await.expect(201);
        api.call(&admin, Method::PUT, "/api/v1/budgets/owner/bob", &[], &json!({"per_day": "5"})).await.expect(200);
        let only_new = json!({"group": "g", "limits": budget, "models": ["new"]});
        api.post(&admin, "/api/v1/keys", &only_new).await.problem(422);
        api.was_well();
    }
}
