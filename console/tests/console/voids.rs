//! Lines of an Envoy that are made void.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::intake::void::{self, VoidProgress};
use trilane_console::maintenance::{self, Retention};
use trilane_console::store::audit::Actor;
use trilane_console::store::voids::VoidRange;
use trilane_console::store::{Store, StoreError, usage_days};

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::erasures_broken_off as erasing;
use crate::ledger::{expected, position, send, stored};

/// The day that becomes void, and its microseconds.
const DAY: (OffsetDateTime, OffsetDateTime) = (
    datetime!(2026-11-24 0:00 UTC),
    datetime!(2026-11-25 0:00 UTC),
);

fn microseconds(time: OffsetDateTime) -> i64 {
    time.unix_timestamp() * 1_000_000
}

fn day() -> (i64, i64) {
    (microseconds(DAY.0), microseconds(DAY.1))
}

/// A line with everything that is counted of one.
fn full(at: &str, key: &str, charge: &str, instance: &str) -> String {
    let line = json!({
        "timestamp": at, "duration_ms": 1500, "http.response.status_code": 200, "trilane.usage.status": "estimated",
        "trilane.outcome": "finished", "trilane.key.id": key, "trilane.key.owner": format!("owner of {key}"),
        "trilane.key.team": "t", "trilane.group": "g", "trilane.source": "s", "trilane.account": "a",
        "trilane.entry": "vb_messages", "trilane.model": "m", "trilane.charge": charge, "trilane.currency": "USD",
        "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3, "trilane.time_to_first_byte_us": 70_000,
        "trilane.tries": 2, "trilane.tries.failed": [{"account": "b", "kind": "overloaded"}],
        "trilane.client": "c/1.2", "trilane.session": charge, "trilane.labels": {"project": key}, "trilane.instance": instance, "trilane.spent.key.day": "1", "trilane.spent.owner.day": "1",
    });
    format!("{line}\n")
}

/// The sums that are stored, but for their versions: rows of tables.
async fn sums(database: &TestDatabase) -> Vec<String> {
    let tables = [
        "usage_by_hour ",
        "usage_by_day ",
        "usage_of_all_by_hour ",
        "usage_of_all_by_day ",
        "usage_by_dimension ",
        "first_byte_hours ",
        "attempt_hours ",
        "spend ",
        "spend_shares ",
    ];
    let dump = database.dump().await;
    let rows = dump
        .lines()
        .filter(|row| tables.iter().any(|table| row.starts_with(table)));
    let mut rows: Vec<_> = rows.map(str::to_owned).collect();
    rows.sort();
    rows
}

/// The reasons of lines that were kept aside, of an Envoy's file.
async fn reasons(api: &Api, token: &str, envoy: &str, file: &str) -> Vec<String> {
    let path = format!("/api/v1/ledger/{envoy}/{file}/aside?limit=500");
    let aside = api.get(token, &path).await.expect(200);
    let items = aside["items"].as_array().unwrap().iter();
    items
        .map(|line| line["reason"].as_str().unwrap().to_owned())
        .collect()
}

async fn begin(store: &Store, envoy: &str, time: (i64, i64)) -> Option<VoidRange> {
    let actor = Actor {
        id: "root".to_owned(),
        address: String::new(),
    };
    let begun: Result<_, StoreError> = in_transaction!(store, transaction => void::begin(transaction, envoy, time, &actor, 0).await);
    begun.unwrap()
}

/// Waits until all voids of an Envoy are done.
async fn until_ended(api: &Api, token: &str, envoy: &str) -> Value {
    api.until_ended(token, &format!("/api/v1/envoys/{envoy}/voids"))
        .await
}

on_both! {
    /// All sums are what they were before the lines came, whether rolled up or not; other Envoys' lines and other days stay.
    async fn sums_are_those_without_the_lines(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let good = [
            full("2026-11-23T23:59:59.999Z", "ka", "0.123", "i"),
            full("2026-11-24T10:00:00Z", "kb", "0.0000000000123", "j"),
            full("2026-11-25T00:00:00Z", "ka", "7.5", "i"),
        ];
        // Of this Envoy, before and after the day.
        api.ledger(&root, "/api/v1/ledger/e1/good?from=0", &(good[0].clone() + &good[2])).await.expect(200);
        // In the day, of another.
        api.ledger(&root, "/api/v1/ledger/e2/good?from=0", &good[1]).await.expect(200);
        let without = sums(database).await;

        // In the rows of good ones and in others; one ends in the next day.
        let bad: String = [
            full("2026-11-24T10:20:00Z", "kb", "0.5", "j"),
            full("2026-11-24T10:20:00Z", "kc", "3.00000000000000000001", "k"),
            full("2026-11-24T23:59:59Z", "ka", "2.25", "i"),
            full("2026-11-24T00:00:00Z", "ka", "0", ""),
        ].concat();
        let late = full("2026-11-24T05:00:00Z", "kb", "11", "j");
        api.ledger(&root, "/api/v1/ledger/e1/bad?from=0", &bad).await.expect(200);
        // Some hours are in days by then, and some are not.
        usage_days::roll_up(&api.store, datetime!(2026-11-24 11:30 UTC)).await.unwrap();
        api.ledger(&root, "/api/v1/ledger/e1/late?from=0", &late).await.expect(200);
        assert_ne!(sums(database).await, without);

        let time = json!({"from": "2026-11-24", "to": "2026-11-25T00:00:00Z"});
        let preview = "/api/v1/envoys/e1/voids/preview?from=2026-11-24&to=2026-11-25";
        let shown = api.get(&root, preview).await.expect(200);
        assert_eq!(shown, json!({"lines": 5, "charges": {"USD": "16.75000000000000000001"}}));
        api.post(&root, "/api/v1/envoys/e1/voids", &time).await.expect(202);
        let ended = until_ended(&api, &root, "e1").await;
        assert_eq!(ended["items"][0]["lines"], json!(5));
        usage_days::roll_up(&api.store, datetime!(2026-11-24 11:30 UTC)).await.unwrap();
        let with_days = sums(database).await;
        let by_hour = |rows: &[String]| rows.iter().filter(|row| !row.starts_with("usage_by_day ")).cloned().collect::<Vec<_>>();
        assert_eq!(by_hour(&with_days), by_hour(&without));
        let days = with_days.iter().filter(|row| row.starts_with("usage_by_day "));
        assert_eq!(days.count(), 2, "the days of what was rolled up: one before the void day, and another Envoy's in it: {with_days:#?}");

        // What comes again is void, and what is another Envoy's is not.
        api.ledger(&root, "/api/v1/ledger/e1/again?from=0", &bad).await.expect(200);
        assert_eq!(sums(database).await, with_days);
        assert_eq!(reasons(&api, &root, "e1", "again").await, ["void"; 4]);
        assert_eq!(reasons(&api, &root, "e1", "bad").await, ["void"; 4]);
        assert_eq!(reasons(&api, &root, "e1", "good").await, [""; 0]);
        let position = api.get(&root, "/api/v1/ledger/e1/bad").await.expect(200);
        assert_eq!((&position["lines"], &position["aside"]), (&json!(0), &json!(4)));
        assert_eq!(api.get(&root, preview).await.expect(200), json!({"lines": 0, "charges": {}}));
        // Nobody takes anything away twice.
        api.post(&root, "/api/v1/envoys/e1/voids", &time).await.expect(202);
        until_ended(&api, &root, "e1").await;
        assert_eq!(sums(database).await, with_days);
        let audit = api.get(&root, "/api/v1/audit?action=envoy.void").await.expect(200);
        assert_eq!(audit["items"][0]["object"], json!("e1"));
        assert_eq!(audit["items"][0]["after"], json!({"from": "2026-11-24T00:00:00Z", "to": "2026-11-25T00:00:00Z"}));
        api.was_well();
    }
}

on_both! {
    /// Gateways are told that spend has fallen, without being asked to begin anew.
    async fn gateways_are_told(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let now = OffsetDateTime::now_utc();
        let at = now.replace_nanosecond(0).unwrap();
        let at = at.format(&time::format_description::well_known::Rfc3339).unwrap();
        let told = async |cursor: &str| api.get(&root, &format!("/api/v1/feed/spend?envoy=e1{cursor}")).await.expect(200);
        // This month's, of the key: the total, and what processes of e1 have of it.
        let of_key = |page: &Value| {
            let subjects = page["subjects"].as_array().unwrap();
            let key = subjects.iter().find(|of| of["kind"] == "key" && of["id"] == "ka")?;
            let spent = key["spent"].as_array().unwrap().iter();
            let mut months = spent.filter(|of| of["period"].as_str().unwrap().len() == 7);
            Some(months.next().map(|of| (of["total"].clone(), of["own"].clone())))
        };
        api.ledger(&root, "/api/v1/ledger/e1/f?from=0", &full(&at, "ka", "5", "i")).await.expect(200);
        api.ledger(&root, "/api/v1/ledger/e2/f?from=0", &full(&at, "ka", "2", "j")).await.expect(200);
        let page = told("").await;
        assert_eq!(of_key(&page), Some(Some((json!("7"), json!({"i": "5"})))));
        let cursor = format!("&cursor={}", page["cursor"].as_str().unwrap());
        let time = json!({"from": now.date().to_string(), "to": "9999-01-01"});
        api.post(&root, "/api/v1/envoys/e1/voids", &time).await.expect(202);
        until_ended(&api, &root, "e1").await;
        let page = told(&cursor).await;
        assert_eq!(page["anew"], false);
        assert_eq!(of_key(&page), Some(Some((json!("2"), json!({})))));
        // Where nothing is left, a subject is told with nothing.
        api.post(&root, "/api/v1/envoys/e2/voids", &time).await.expect(202);
        until_ended(&api, &root, "e2").await;
        let page = told(&format!("&cursor={}", page["cursor"].as_str().unwrap())).await;
        assert_eq!(of_key(&page), Some(None));
        api.was_well();
    }
}

on_both! {
    /// A line was counted by the clock that the Envoy had then.
    async fn lines_of_a_clock_that_was_off(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        api.post(&root, "/api/v1/envoys", &json!({"id": "e1"})).await.expect(201);
        let without = sums(database).await;
        database.execute("UPDATE envoys SET clock_offset = 90061001 WHERE id = 'e1'").await.unwrap();
        // A day, an hour, a minute and a second ahead: it counts on the 24th, and ends on the 25th.
        api.ledger(&root, "/api/v1/ledger/e1/f?from=0", &full("2026-11-26T01:00:59.9994567Z", "ka", "5", "i")).await.expect(200);
        let dump = sums(database).await.join("\n");
        assert!(dump.contains("2026-11-24T23") && dump.contains("2026-11-25"), "{dump}");
        database.execute("UPDATE envoys SET clock_offset = NULL WHERE id = 'e1'").await.unwrap();
        let range = begin(&api.store, "e1", day()).await.unwrap();
        assert!(void::run(&api.store, &range).await.unwrap());
        assert_eq!(sums(database).await, without);
        api.was_well();
    }
}

on_both! {
    /// Lines that come while a void goes on are either taken away or never counted; one that is broken off is gone on with.
    async fn beside_the_intake(database: &TestDatabase) {
        let store = database.open().await;
        let line = |n: usize, envoy: &str| {
            let day = [23, 24, 25][n % 3];
            full(&format!("2026-11-{day}T{:02}:00:00Z", n % 24), &format!("k{}", n % 7), &format!("0.{:07}1", n), &format!("{envoy}{}", n % 2))
        };
        let files: Vec<Vec<String>> = ["e1", "e2"].iter().map(|envoy| (0..3000).map(|n| line(n, envoy)).collect()).collect();
        let intake = |envoy: &'static str, lines: Vec<String>| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut at = 0;
                for batch in lines.chunks(100) {
                    at = position(send(&store, envoy, at, batch.concat().as_bytes()).await);
                }
            })
        };
        let sending = [intake("e1", files[0].clone()), intake("e2", files[1].clone())];
        let range = loop {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            if void::count(&store, "e1", day()).await.unwrap().lines > 100 {
                break begin(&store, "e1", day()).await.unwrap();
            }
        };
        // Two go on with it, and both are broken off in the middle.
        let (one, other) = tokio::join!(void::run_some(&store, &range), void::run_some(&store, &range));
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        for sending in sending {
            sending.await.unwrap();
        }
        // More than one transaction takes.
        let retention = Retention { removals: 30, requests: 3650 };
        maintenance::run(&store, retention).await.unwrap();
        assert_eq!(void::run_some(&store, &range).await.unwrap(), VoidProgress::Done);
        let kept = |envoy: usize, day: &str| files[envoy].iter().filter(|line| !line.contains(day)).cloned().collect::<String>();
        let (first, second) = (kept(0, "\"2026-11-24T"), kept(1, "never"));
        assert_eq!(stored(&store).await, expected(&[first.as_bytes(), second.as_bytes()]));
        let mut aside: BTreeMap<String, usize> = BTreeMap::new();
        for row in database.dump().await.lines().filter(|row| row.starts_with("lines_aside ")) {
            *aside.entry(if row.contains("e1") { "e1" } else { "e2" }.to_owned()).or_default() += 1;
        }
        assert_eq!(aside, BTreeMap::from([("e1".to_owned(), 1000)]));
    }
}

on_both! {
    /// While a person's data is erased, lines and sums have different owners: a void waits, and is done after it.
    async fn not_while_data_is_erased(database: &TestDatabase) {
        let store = erasing::with_person(database).await;
        let lines: String = erasing::lines(24 * 23, 24 * 24);
        send(&store, "e1", 0, lines.as_bytes()).await.unwrap();
        let range = begin(&store, "e1", day()).await.unwrap();
        let erasure = erasing::begin(&store).await;
        assert_eq!(begin(&store, "e2", day()).await, None);
        assert_eq!(void::run_some(&store, &range).await.unwrap(), VoidProgress::Waits);
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let refused = api.call(&root, Method::POST, "/api/v1/envoys/e1/voids", &[], &json!({"from": "2026-11-01", "to": "2026-12-01"})).await;
        refused.problem(409);
        trilane_console::store::erasures::run(&store, &erasure.pseudonym).await.unwrap();
        assert!(void::run(&store, &range).await.unwrap());
        assert_eq!(sums(database).await, [""; 0]);
        assert!(crate::erasures::traces(database).await.is_empty());
    }
}
