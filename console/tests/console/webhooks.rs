//! The alerts when a budget is spent to some percent.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::store::Store;
use trilane_console::webhooks::delivery;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::spend_feed::line;

/// The messages that are due, each told once here: kind, subject and threshold.
async fn due(store: &Store, now: OffsetDateTime) -> Vec<String> {
    while BudgetWatch::default().look(store, now).await.unwrap() {}
    let mut all = Vec::new();
    while let Some(message) = delivery::take(store, || None, now).await.unwrap() {
        let body: Value = serde_json::from_str(&message.body).unwrap();
        assert_eq!(body["id"], message.id.as_str());
        let day = if body["period"].as_str().unwrap().len() == 10 {
            "day"
        } else {
            "month"
        };
        all.push(format!(
            "{} {} {day} {}: {} of {} {}",
            body["kind"].as_str().unwrap(),
            body["subject"].as_str().unwrap(),
            body["threshold"],
            body["spent"].as_str().unwrap(),
            body["budget"].as_str().unwrap(),
            body["currency"].as_str().unwrap(),
        ));
        delivery::close(store, &message, Ok(()), now).await.unwrap();
    }
    all.sort();
    all
}

on_both! {
    /// Once for each subject, period and threshold, by whatever way it is reached.
    async fn once_for_each_threshold(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let made = api.post(&admin, "/api/v1/webhooks", &json!({"url": "https://example.com/hook", "language": "zh-CN"})).await.expect(201);
        assert_eq!(made["webhook"]["language"], "zh-CN");
        assert!(made["secret"].as_str().unwrap().starts_with("tlw-"), "{made}");
        assert_eq!(made["webhook"]["thresholds"], json!([80, 100]));
        let limits = json!({"budget": {"per_day": "2", "per_month": "100"}});
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann", "limits": limits})).await.expect(201);
        let budget = json!({"per_month": "10"});
        api.call(&admin, Method::PUT, "/api/v1/budgets/owner/ann", &[], &budget).await.expect(200);
        let now = OffsetDateTime::now_utc();
        let other = database.open().await;
        let mut files = 0;
        let mut send = async |charge: &str| {
            files += 1;
            let path = format!("/api/v1/ledger/e/f{files}?from=0");
            api.ledger(&admin, &path, &line("k", "", charge, &["key", "owner"], "i")).await.expect(200);
        };
        assert_eq!(due(&api.store, now).await, [""; 0]);
        for (charge, want) in [
            ("1.59", &[][..]),
            ("0.01", &["key k day 80: 1.6 of 2 USD"]),
            ("0.01", &[]),
            ("0.39", &["key k day 100: 2 of 2 USD"]),
            ("6", &["owner ann month 80: 8 of 10 USD"]),
            ("90", &["key k month 80: 98 of 100 USD", "owner ann month 100: 98 of 10 USD"]),
        ] {
            send(charge).await;
            // Two consoles look at once.
            let (one, two) = tokio::join!(due(&api.store, now), due(&other, now));
            let mut all = [one, two].concat();
            all.sort();
            assert_eq!(all, want, "{charge}");
        }
        api.was_well();
    }
}

on_both! {
    /// Retries messages that could not be delivered, ever later and not for ever; also those that a console has taken and lost.
    async fn again_and_again(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let hook = json!({"url": "https://example.com/hook", "thresholds": [50]});
        let id = api.post(&admin, "/api/v1/webhooks", &hook).await.expect(201)["webhook"]["id"].clone();
        api.call(&admin, Method::PUT, "/api/v1/budgets/team/t", &[], &json!({"per_month": "1"})).await.expect(200);
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &line("k", "t", "1", &["team"], "i")).await.expect(200);
        let mut now = OffsetDateTime::now_utc();
        BudgetWatch::default().look(&api.store, now).await.unwrap();
        let other = database.open().await;
        let first = delivery::take(&api.store, || None, now).await.unwrap().unwrap();
        assert_eq!((first.url.as_str(), first.attempts), ("https://example.com/hook", 1));
        assert_eq!(delivery::take(&other, || None, now).await.unwrap(), None, "it is the other's");
        // That console is gone.
        now += Duration::MINUTE;
        let again = delivery::take(&other, || None, now).await.unwrap().unwrap();
        assert_eq!((again.id.as_str(), again.attempts), (first.id.as_str(), 2));
        let mut pauses = Vec::new();
        let mut message = again;
        loop {
            delivery::close(&other, &message, Err("it answers 500"), now).await.unwrap();
            let mut waited = 0;
            let next = loop {
                if waited > 4000 {
                    break None;
                }
                (waited, now) = (waited + 10, now + Duration::seconds(10));
                if let Some(next) = delivery::take(&other, || None, now).await.unwrap() {
                    break Some(next);
                }
            };
            let Some(next) = next else {
                break;
            };
            pauses.push(waited);
            message = next;
        }
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600, 3600]);
        let path = format!("/api/v1/webhooks/{}", id.as_str().unwrap());
        api.call(&admin, Method::DELETE, &path, &[], &Value::Null).await.expect(204);
        api.call(&admin, Method::DELETE, &path, &[], &Value::Null).await.problem(404);
        api.was_well();
    }
}

on_both! {
    /// The secret is shown once; what is no address is refused.
    async fn of_a_webhook(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for (case, body, path) in [
            ("no address", json!({"url": "example.com"}), "url"),
            ("a password", json!({"url": "https://a:b@example.com"}), "url"),
            ("no threshold", json!({"url": "https://example.com", "thresholds": []}), "thresholds"),
            ("past all", json!({"url": "https://example.com", "thresholds": [101]}), "thresholds"),
        ] {
            let problem = api.post(&admin, "/api/v1/webhooks", &body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], path, "{case}: {problem}");
        }
        let made = api.post(&admin, "/api/v1/webhooks", &json!({"url": "https://example.com/"})).await.expect(201);
        let secret = made["secret"].as_str().unwrap();
        let listed = api.get(&admin, "/api/v1/webhooks").await.expect(200);
        assert_eq!(listed["items"][0], made["webhook"]);
        let audit = api.get(&admin, "/api/v1/audit").await.expect(200).to_string();
        assert!(audit.contains("webhook.create") && !audit.contains(secret));
        api.was_well();
    }
}
