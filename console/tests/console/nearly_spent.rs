//! The list of budgets that are nearly spent.

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use trilane_console::cases::Role;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::spend_feed::line;

/// Those that are listed: `key k day 1.8 of 2 USD: 90 %`.
async fn listed(api: &Api, token: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut path = "/api/v1/budgets/nearly-spent?limit=1".to_owned();
    loop {
        let page = api.get(token, &path).await.expect(200);
        for of in page["items"].as_array().unwrap() {
            let text = |name: &str| of[name].as_str().unwrap().to_owned();
            let period = text("period").len();
            all.push(format!(
                "{} {} {} {} of {} {}: {} %",
                text("kind"),
                text("id"),
                if period == 10 { "day" } else { "month" },
                text("spent"),
                text("budget"),
                text("currency"),
                of["percent"],
            ));
        }
        let Some(next) = page["next"].as_str() else {
            all.sort();
            return all;
        };
        path = format!("/api/v1/budgets/nearly-spent?limit=1&cursor={next}");
    }
}

on_both! {
    async fn whoever_spends_and_whoever_changes_a_budget(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, viewer) = (api.person("root", Role::Admin).await, api.person("vic", Role::Viewer).await);
        let priced = document("g", PRICES);
        publish(&api, &admin, &priced).await;
        let limits = json!({"budget": {"per_day": "2", "per_month": "100"}});
        for key in ["k", "idle"] {
            api.post(&admin, "/api/v1/keys", &json!({"id": key, "group": "g", "owner": "ann", "limits": limits})).await.expect(201);
        }
        let call = async |method: Method, path: &str, body: Value| api.call(&admin, method, &format!("/api/v1/{path}"), &[], &body).await;
        let mut watch = BudgetWatch::default();
        let mut files = 0;
        let mut spend = async |charge: &str| {
            files += 1;
            let text = line("k", "", charge, &["key", "owner", "group"], "i");
            api.ledger(&admin, &format!("/api/v1/ledger/e/f{files}?from=0"), &text).await.expect(200);
            while watch.look(&api.store, OffsetDateTime::now_utc()).await.unwrap() {}
        };
        spend("1.7999").await;
        assert_eq!(listed(&api, &viewer).await, [""; 0]);
        spend("0.0001").await;
        assert_eq!(listed(&api, &viewer).await, ["key k day 1.8 of 2 USD: 90 %"]);

        // No spend is needed for what is changed.
        let change = async |per_day: &str| {
            let limits = json!({"budget": {"per_day": per_day}});
            call(Method::PATCH, "keys/k", json!({"limits": limits})).await.expect(200);
        };
        change("2.0001").await;
        assert_eq!(listed(&api, &viewer).await, [""; 0]);
        change("1").await;
        assert_eq!(listed(&api, &viewer).await, ["key k day 1.8 of 1 USD: 180 %"]);
        call(Method::PUT, "budgets/owner/ann", json!({"per_month": "1.8", "per_day": "2.5"})).await.expect(200);
        let group = priced.replace(r#""cluster""#, r#""limits": {"budget": {"per_month": "1.9"}}, "cluster""#);
        publish(&api, &admin, &group).await;
        assert_eq!(listed(&api, &viewer).await, [
            "group g month 1.8 of 1.9 USD: 94 %", "key k day 1.8 of 1 USD: 180 %", "owner ann month 1.8 of 1.8 USD: 100 %",
        ]);

        // Nobody uses those of a key or a person that is disabled.
        let of_key = async |disabled: bool| {
            call(Method::PATCH, "keys/k", json!({"disabled": disabled})).await.expect(200);
        };
        of_key(true).await;
        assert_eq!(listed(&api, &viewer).await, ["group g month 1.8 of 1.9 USD: 94 %", "owner ann month 1.8 of 1.8 USD: 100 %"]);
        of_key(false).await;
        api.person("ann", Role::Member).await;
        call(Method::PATCH, "people/ann", json!({"disabled": true})).await.expect(200);
        assert_eq!(listed(&api, &viewer).await, ["group g month 1.8 of 1.9 USD: 94 %"]);
        call(Method::PATCH, "people/ann", json!({"disabled": false})).await.expect(200);
        assert_eq!(listed(&api, &viewer).await.len(), 3);
        call(Method::PUT, "budgets/owner/ann", json!({"per_month": "3"})).await.expect(200);
        publish(&api, &admin, &priced).await;
        assert_eq!(listed(&api, &viewer).await, ["key k day 1.8 of 1 USD: 180 %"]);

        // What another program changes is not noted, and yet not told as it is no more.
        database.execute("UPDATE keys SET limits = '{\"budget\": {\"per_day\": \"5\"}}' WHERE id = 'k'").await.unwrap();
        assert_eq!(listed(&api, &viewer).await, [""; 0]);
        spend("2.9").await;
        assert_eq!(listed(&api, &viewer).await, ["key k day 4.7 of 5 USD: 94 %", "owner ann month 4.7 of 3 USD: 156 %"]);
        call(Method::DELETE, "budgets/owner/ann", Value::Null).await.expect(204);
        call(Method::DELETE, "keys/k", Value::Null).await.expect(204);
        assert_eq!(listed(&api, &viewer).await, [""; 0]);
        // Made again, it has spent what its id has.
        let limits = json!({"budget": {"per_day": "5"}});
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "limits": limits})).await.expect(201);
        assert_eq!(listed(&api, &viewer).await, ["key k day 4.7 of 5 USD: 94 %"]);
        api.was_well();
    }
}
