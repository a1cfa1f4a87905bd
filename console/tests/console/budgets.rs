//! Budgets of owners and teams over the API.

use http::Method;
use serde_json::{Value, json};
use trilane_console::api::Role;

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
    /// What has no prices cannot be counted: neither keys under a budget nor a budget over keys, and the models are named.
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
