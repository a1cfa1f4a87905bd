//! Clocks of Envoys beside the console's, and how long changes of keys take to them.

use std::time::Instant;

use http::Method;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::key_changes::KeyChangeWatch;
use trilane_console::live::LiveParts;
use trilane_console::metrics::{ConsoleMetrics, MetricsSource as _, MetricsText};
use trilane_console::store::Store;

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;

/// More than any version of the feed.
const ALL: u64 = i64::MAX as u64;

async fn enrol(api: &Api, admin: &str, id: &str) -> String {
    let made = api
        .post(admin, "/api/v1/envoys", &json!({"id": id}))
        .await
        .expect(201);
    let body = json!({"token": made["token"]});
    let enrolled = api
        .call("", Method::POST, "/api/v1/enrol", &[], &body)
        .await
        .expect(201);
    enrolled["token"].as_str().unwrap().to_owned()
}

async fn report(api: &Api, token: &str, id: &str, report: Value) {
    let path = format!("/api/v1/envoys/{id}/report");
    api.call(token, Method::PUT, &path, &[], &report)
        .await
        .expect(204);
}

/// The value of a series in a scrape.
async fn scraped(store: &Store, series: &str) -> f64 {
    let mut text = MetricsText::default();
    ConsoleMetrics::new(store.clone(), LiveParts::default())
        .write(&mut text)
        .await;
    let text = text.end();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value
        .unwrap_or_else(|| panic!("no {series}"))
        .parse()
        .unwrap()
}

on_both! {
    /// Of an Envoy whose clock is far off days are the console's.
    async fn whose_day_it_is(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let now = OffsetDateTime::now_utc();
        for (case, offset, corrected) in [
            ("right", Duration::ZERO, false),
            ("a little ahead", Duration::minutes(4), false),
            ("a little behind", Duration::minutes(-4), false),
            ("two days ahead", Duration::days(2), true),
            ("two days behind", Duration::days(-2), true),
            ("years ahead", Duration::days(5000), true),
        ] {
            let id = case.replace(' ', "-");
            let token = enrol(&api, &admin, &id).await;
            let clock = now + offset;
            report(&api, &token, &id, json!({"version": "0.2.0", "clock": clock.format(&Rfc3339).unwrap()})).await;
            let envoy = api.get(&admin, &format!("/api/v1/envoys/{id}")).await.expect(200);
            let measured = Duration::milliseconds(envoy["clock_offset_ms"].as_i64().unwrap());
            assert!((measured - offset).abs() < Duration::seconds(60), "{case}: {measured}");
            let gauge = scraped(&api.store, &format!("trilane_console_envoy_clock_offset_seconds{{envoy=\"{id}\"}}")).await;
            let wanted = offset.as_seconds_f64();
            assert!((gauge - wanted).abs() < 60.0, "{case}: {gauge}");

            let at = trilane_console::timestamp::text(clock);
            let text = line(&at, &id, "m", "0.5");
            api.ledger(&token, &format!("/api/v1/ledger/{id}/f?from=0"), &text).await.expect(200);
            let day = if corrected { clock - measured } else { clock };
            let day = day.date().to_string();
            let usage = api.get(&admin, &format!("/api/v1/usage?by=day&key={id}")).await.expect(200);
            assert_eq!(usage["items"][0]["values"]["day"], day, "{case}: usage");
            assert_eq!(usage["items"].as_array().unwrap().len(), 1, "{case}");
            let spent = api.get(&admin, &format!("/api/v1/spend?kind=key&subject={id}&period={day}")).await.expect(200);
            assert_eq!(spent["spent"][0]["amount"], "0.5", "{case}: spend");
        }
        // An agent of before says nothing of its clock.
        let token = enrol(&api, &admin, "silent").await;
        report(&api, &token, "silent", json!({"version": "0.1.0"})).await;
        let envoy = api.get(&admin, "/api/v1/envoys/silent").await.expect(200);
        assert_eq!(envoy.get("clock_offset_ms"), None);
        for clock in ["yesterday", "", "2026-13-01T00:00:00Z"] {
            report(&api, &token, "silent", json!({"version": "0.1.0", "clock": clock})).await;
        }
        api.was_well();
    }
}

on_both! {
    /// A change counts once all Envoys have it that are there.
    async fn how_long_a_revocation_takes(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let tokens = [enrol(&api, &admin, "near").await, enrol(&api, &admin, "far").await];
        enrol(&api, &admin, "never-heard-of").await;
        let moment = || OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
        let has = async |token: &str, id: &str, keys: u64| report(&api, token, id, json!({"version": "0.2.0", "keys": keys})).await;
        let mut watch = KeyChangeWatch::default();
        watch.look(&api.store, moment()).await.unwrap();
        assert_eq!(watch.waiting(), 0, "what was there before is no change");
        has(&tokens[0], "near", 0).await;
        has(&tokens[1], "far", 0).await;
        let begun = Instant::now();
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g"})).await.expect(201);
        api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &json!({"disabled": true})).await.expect(200);
        watch.look(&api.store, moment()).await.unwrap();
        assert_eq!(watch.waiting(), 1);
        has(&tokens[0], "near", ALL).await;
        watch.look(&api.store, moment()).await.unwrap();
        assert_eq!(watch.waiting(), 1, "one of them has not said so");
        let before = scraped(&api.store, "trilane_console_key_change_seconds_count").await;
        has(&tokens[1], "far", ALL).await;
        watch.look(&api.store, moment()).await.unwrap();
        assert_eq!(watch.waiting(), 0);
        assert!(scraped(&api.store, "trilane_console_key_change_seconds_count").await > before);
        assert!(scraped(&api.store, "trilane_console_key_change_seconds_sum").await < begun.elapsed().as_secs_f64() * 4.0);
        // Of whom nothing was heard nobody waits for.
        api.call(&admin, Method::DELETE, "/api/v1/keys/k", &[], &Value::Null).await.expect(204);
        has(&tokens[1], "far", 1).await;
        let far = moment() - 60_000_000;
        database.execute(&format!("UPDATE envoys SET seen_at = {far} WHERE id = 'far'")).await.unwrap();
        watch.look(&api.store, moment()).await.unwrap();
        assert_eq!(watch.waiting(), 0);
        api.was_well();
    }
}
