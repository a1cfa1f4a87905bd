//! The console's metrics for Prometheus.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::live::LiveParts;
use trilane_console::metrics::{ConsoleMetrics, MetricsSource as _, MetricsText};
use trilane_console::store::Store;
use trilane_console::webhooks::delivery;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::spend_feed::line;

/// The text of a scrape.
async fn scrape(store: &Store) -> String {
    let mut text = MetricsText::default();
    ConsoleMetrics::new(store.clone(), LiveParts::default())
        .write(&mut text)
        .await;
    text.end()
}

/// The value of a series; `None`: there is none.
fn value(text: &str, series: &str) -> Option<String> {
    let named = |line: &str| {
        line.strip_prefix(series)?
            .strip_prefix(' ')
            .map(str::to_owned)
    };
    text.lines().find_map(named)
}

on_both! {
    async fn how_the_fleet_stands(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        // Other tests of this process count as well: Envoys have names of their own.
        let engine = if database.is_postgres() { "postgres" } else { "sqlite" };
        let (edge, lost, gone) = (format!("edge-{engine}"), format!("lost-{engine}"), format!("gone-{engine}"));
        let text = scrape(&api.store).await;
        for (series, of_postgres) in [("database_bytes", true), ("database_free_bytes", false), ("disk_free_bytes", false)] {
            let bytes = value(&text, &format!("trilane_console_{series}"));
            assert_eq!(bytes.is_some(), of_postgres || !database.is_postgres(), "{series}");
            let least = if series == "database_free_bytes" { 0 } else { 100_000 };
            assert!(bytes.is_none_or(|bytes| bytes.parse::<i64>().unwrap() >= least), "{series}");
        }
        for (series, want) in [
            ("trilane_console_database_up", Some("1")),
            ("trilane_console_document_version", Some("0")),
            ("trilane_console_document_published_timestamp_seconds", None),
            ("trilane_console_webhook_messages{state=\"failing\"}", Some("0")),
        ] {
            assert_eq!(value(&text, series).as_deref(), want, "{series}: at first");
        }
        assert!(value(&text, "trilane_console_sign_ins_total{result=\"wrong\"}").is_some(), "before the first event");

        publish(&api, &admin, &document("g", PRICES)).await;
        let budget = json!({"limits": {"budget": {"per_day": "1"}}, "group": "g", "owner": "mary-ann", "id": "secret-key-id"});
        let made = api.post(&admin, "/api/v1/keys", &budget).await.expect(201);
        let mut tokens = Vec::new();
        for envoy in [&edge, &lost, &gone] {
            let made = api.post(&admin, "/api/v1/envoys", &json!({"id": envoy})).await.expect(201);
            let body = json!({"token": made["token"]});
            let enrolled = api.call("", Method::POST, "/api/v1/enrol", &[], &body).await.expect(201);
            tokens.push(enrolled["token"].as_str().unwrap().to_owned());
        }
        api.post(&admin, "/api/v1/envoys", &json!({"id": format!("new-{engine}")})).await.expect(201);
        api.call(&admin, Method::DELETE, &format!("/api/v1/envoys/{gone}"), &[], &Value::Null).await.expect(204);
        let current = api.get(&tokens[0], "/api/v1/feed/document").await;
        let etag = current.headers["etag"].to_str().unwrap().trim_matches('"').to_owned();
        let report = json!({"version": "0.2.0", "document": etag, "keys": 1, "ledger_waiting": 12, "troubles": ["the disk is full"]});
        api.call(&tokens[0], Method::PUT, &format!("/api/v1/envoys/{edge}/report"), &[], &report).await.expect(204);
        let bytes = format!("{}{{\n", line("secret-key-id", "", "2", &["key"], "i"));
        api.ledger(&tokens[0], &format!("/api/v1/ledger/{edge}/f?from=0"), &bytes).await.expect(200);
        api.ledger(&tokens[0], &format!("/api/v1/ledger/{edge}/f?from=0"), &bytes).await.expect(200);
        api.ledger(&tokens[0], &format!("/api/v1/ledger/{edge}/f?from=7777"), &bytes).await.problem(409);

        // A message that cannot be delivered.
        api.post(&admin, "/api/v1/webhooks", &json!({"url": "https://example.com/hook", "thresholds": [100]})).await.expect(201);
        api.ledger(&tokens[0], &format!("/api/v1/ledger/{edge}/g?from=0"), &line("secret-key-id", "", "2", &["key"], "i")).await.expect(200);
        let now = OffsetDateTime::now_utc();
        while BudgetWatch::default().look(&api.store, now).await.unwrap() {}
        let message = delivery::take(&api.store, || None, now).await.unwrap().unwrap();
        let text = scrape(&api.store).await;
        assert_eq!(value(&text, "trilane_console_webhook_messages{state=\"waiting\"}").as_deref(), Some("1"), "under way");
        assert_eq!(value(&text, "trilane_console_webhook_messages{state=\"failing\"}").as_deref(), Some("0"), "under way");
        delivery::close(&api.store, &message, Err("it answers 500"), now).await.unwrap();

        let text = scrape(&api.store).await;
        let position = (2 * line("secret-key-id", "", "2", &["key"], "i").len() + 2).to_string();
        let of = |name: &str, envoy: &str| format!("trilane_console_{name}{{envoy=\"{envoy}\"}}");
        let counted = |name: &str, result: &str| format!("trilane_console_{name}_total{{envoy=\"{edge}\",result=\"{result}\"}}");
        for (series, want) in [
            ("trilane_console_document_version".to_owned(), Some("1")),
            ("trilane_console_webhook_messages{state=\"failing\"}".to_owned(), Some("1")),
            (of("envoy_document_current", &edge), Some("1")),
            (of("envoy_keys_feed_version", &edge), Some("1")),
            (of("envoy_ledger_waiting_bytes", &edge), Some("12")),
            (of("envoy_troubles", &edge), Some("1")),
            (of("ledger_position_bytes", &edge), Some(position.as_str())),
            (of("envoy_document_current", &lost), None),
            (of("ledger_position_bytes", &lost), None),
            (of("envoy_seen_age_seconds", &gone), None),
            (of("envoy_seen_age_seconds", &format!("new-{engine}")), None),
            (counted("ledger_lines", "counted"), Some("2")),
            (counted("ledger_lines", "aside"), Some("1")),
            (counted("ledger_batches", "taken"), Some("2")),
            (counted("ledger_batches", "repeated"), Some("1")),
            (counted("ledger_batches", "elsewhere"), Some("1")),
            (counted("ledger_batches", "failed"), Some("0")),
        ] {
            assert_eq!(value(&text, &series).as_deref(), want, "{series}");
        }
        for series in ["keys_feed_version", "spend_feed_version"] {
            let version = value(&text, &format!("trilane_console_{series}")).unwrap();
            assert!(version.parse::<i64>().unwrap() > 0, "{series}");
        }
        // Another document: the one that the Envoy has is the one before.
        publish(&api, &admin, &document("h", PRICES)).await;
        let text = scrape(&api.store).await;
        assert_eq!(value(&text, &of("envoy_document_current", &edge)).as_deref(), Some("0"));
        assert_eq!(value(&text, "trilane_console_document_version").as_deref(), Some("2"));
        for secret in [made["value"].as_str().unwrap(), "secret-key-id", "mary-ann", "root", "example.com"] {
            assert!(!text.contains(secret), "{secret} is nobody's business");
        }
        api.was_well();
    }
}

on_both! {
    /// An Envoy that has enrolled and is silent is missing, too.
    async fn since_when_an_envoy_is_silent(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let made = api.post(&admin, "/api/v1/envoys", &json!({"id": "silent"})).await.expect(201);
        let body = json!({"token": made["token"]});
        api.call("", Method::POST, "/api/v1/enrol", &[], &body).await.expect(201);
        let before = (OffsetDateTime::now_utc() - Duration::hours(1)).unix_timestamp() * 1_000_000;
        database.execute(&format!("UPDATE envoys SET enrolled_at = {before}")).await.unwrap();
        let silent = "trilane_console_envoy_seen_age_seconds{envoy=\"silent\"}";
        let age = value(&scrape(&api.store).await, silent).unwrap();
        assert!((3600..3700).contains(&age.parse().unwrap()), "{age}");
        database.execute(&format!("UPDATE envoys SET seen_at = {before} + 3000000000")).await.unwrap();
        let age = value(&scrape(&api.store).await, silent).unwrap();
        assert!((600..700).contains(&age.parse().unwrap()), "{age}");
    }
}

on_both! {
    /// A console without its database says so, and what it has counted.
    async fn the_database_is_away(database: &TestDatabase) {
        let store = database.open().await;
        store.close().await;
        let text = scrape(&store).await;
        assert_eq!(value(&text, "trilane_console_database_up").as_deref(), Some("0"));
        assert!(value(&text, "trilane_console_database_errors_total{kind=\"unreachable\"}").is_some_and(|count| count != "0"));
        assert!(value(&text, "trilane_console_document_version").is_none(), "nobody knows");
    }
}
