//! The spend that gateways are told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::time::{sleep, timeout};
use trilane::config::document::BudgetDocument;
use trilane::limits::SubjectKind;
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::intake::{LedgerBatch, take};
use trilane_console::store::{Store, spend_feed};

use crate::api::Api;
use crate::database::on_both;

/// A line of a request that ended just now, with marks of the budgets that were counted in a process.
pub fn line(key: &str, team: &str, charge: &str, counted: &[&str], instance: &str) -> String {
    let at = OffsetDateTime::now_utc();
    let at = at.replace_nanosecond(0).unwrap();
    let at = at
        .format(&time::format_description::well_known::Rfc3339)
        .unwrap();
    let mut line = json!({
        "timestamp": at, "duration_ms": 0, "http.response.status_code": 200, "trilane.usage.status": "complete",
        "trilane.key.id": key, "trilane.key.owner": "ann", "trilane.group": "g", "trilane.charge": charge,
        "trilane.currency": "USD",
    });
    if !team.is_empty() {
        line["trilane.key.team"] = json!(team);
    }
    for kind in counted {
        line[format!("trilane.spent.{kind}.day")] = json!("1");
    }
    if !instance.is_empty() {
        line["trilane.instance"] = json!(instance);
    }
    format!("{line}\n")
}

/// By kind and id: the total of this month, and what the Envoy has of it in processes.
type Told = BTreeMap<String, (String, BTreeMap<String, String>)>;

/// A reader of the feed, as an agent is one.
#[derive(Debug, Default)]
struct SpendFeedReader {
    cursor: Option<String>,
    told: Told,
    budgets: BTreeMap<String, Value>,
    /// Counts the subjects that were told.
    count: usize,
}

impl SpendFeedReader {
    async fn read(&mut self, api: &Api, token: &str, envoy: &str, limit: usize) {
        loop {
            let cursor = self
                .cursor
                .as_ref()
                .map(|cursor| format!("&cursor={cursor}"));
            let path = format!(
                "/api/v1/feed/spend?limit={limit}&envoy={envoy}{}",
                cursor.unwrap_or_default()
            );
            let page = api.get(token, &path).await.expect(200);
            assert_eq!(page["anew"], self.cursor.is_none());
            let month = OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
            for subject in page["subjects"].as_array().unwrap() {
                self.count += 1;
                let name = format!(
                    "{} {}",
                    subject["kind"].as_str().unwrap(),
                    subject["id"].as_str().unwrap()
                );
                self.budgets.insert(
                    name.clone(),
                    json!([subject["per_day"], subject["per_month"]]),
                );
                let spent = subject["spent"].as_array().unwrap();
                let Some(amount) = spent.iter().find(|amount| amount["period"] == month) else {
                    self.told.remove(&name);
                    continue;
                };
                let own = serde_json::from_value(amount["own"].clone()).unwrap();
                self.told
                    .insert(name, (amount["total"].as_str().unwrap().to_owned(), own));
            }
            self.cursor = page["cursor"].as_str().map(str::to_owned);
            if page["more"] == false {
                return;
            }
        }
    }

    fn shown(&self) -> Vec<String> {
        let each = |(name, (total, own)): (&String, &(String, BTreeMap<String, String>))| {
            format!("{name} {total} {own:?}")
        };
        self.told.iter().map(each).collect()
    }
}

on_both! {
    /// Only charges that a process has in its counters are its own, and only for the Envoy that asks.
    async fn totals_and_shares(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let send = async |envoy: &str, file: &str, lines: &[String]| {
            let path = format!("/api/v1/ledger/{envoy}/{file}?from=0");
            api.ledger(&admin, &path, &lines.concat()).await.expect(200);
        };
        let mut reader = SpendFeedReader::default();
        reader.read(&api, &admin, "e1", 1).await;
        assert_eq!(reader.shown(), [""; 0]);

        // Without a budget nobody is told.
        send("e1", "a", &[line("k", "", "0.1", &[], ""), line("other", "", "7", &[], "i1")]).await;
        reader.read(&api, &admin, "e1", 1).await;
        assert_eq!(reader.shown(), [""; 0]);
        // From the first line on that counted one, all counts: also what was before, elsewhere, and of no process.
        send("e1", "b", &[
            line("k", "", "0.20", &["key"], "i1"),
            line("k", "", "1", &["key"], "i2"),
            line("k", "", "1", &["key"], "not one!"),
            line("k", "t", "0.00000000000000000001", &["key", "team"], "i2"),
        ]).await;
        send("e2", "a", &[line("k", "", "2", &["key", "owner"], "i1")]).await;
        reader.read(&api, &admin, "e1", 1).await;
        assert_eq!(reader.shown(), [
            r#"key k 4.30000000000000000001 {"i1": "0.2", "i2": "1.00000000000000000001"}"#,
            r#"owner ann 11.30000000000000000001 {}"#,
            r#"team t 0.00000000000000000001 {"i2": "0.00000000000000000001"}"#,
        ]);
        let mut of_other = SpendFeedReader::default();
        of_other.read(&api, &admin, "e2", 100).await;
        assert_eq!(of_other.told["key k"].1, BTreeMap::from([("i1".to_owned(), "2".to_owned())]));

        // A line that counted nothing changes what is told all the same, and once: what comes again changes nothing.
        let count = reader.count;
        send("e2", "b", &[line("k", "", "5", &[], "")]).await;
        send("e2", "b", &[line("k", "", "5", &[], "")]).await;
        reader.read(&api, &admin, "e1", 100).await;
        assert_eq!(reader.told["key k"].0, "9.30000000000000000001");
        assert_eq!(reader.count, count + 2, "the key and its owner");

        // A cursor that is not of this feed begins anew.
        for cursor in ["", "x", "x.1", "x.99999999999999999999"] {
            let page = api.get(&admin, &format!("/api/v1/feed/spend?cursor={cursor}")).await.expect(200);
            assert_eq!((&page["anew"], page["subjects"].as_array().unwrap().len()), (&json!(true), 3), "{cursor}");
        }
        let ahead = format!("{}9", reader.cursor.unwrap());
        assert_eq!(api.get(&admin, &format!("/api/v1/feed/spend?cursor={ahead}")).await.expect(200)["anew"], true);
        for limit in ["0", "10001", "x"] {
            api.get(&admin, &format!("/api/v1/feed/spend?limit={limit}")).await.problem(400);
        }
        let agent = api.person("e1", Role::Agent).await;
        let own = api.get(&agent, "/api/v1/feed/spend").await.expect(200);
        assert!(own.to_string().contains(r#""i2":"1.00000000000000000001""#), "{own}");
        api.get(&agent, "/api/v1/feed/spend?envoy=e2").await.problem(403);
        api.was_well();
    }
}

fn budget(per_day: Option<&str>, per_month: Option<&str>) -> BudgetDocument {
    BudgetDocument {
        per_day: per_day.map(str::to_owned),
        per_month: per_month.map(str::to_owned),
        spent: None,
    }
}

async fn set_budget(store: &Store, subject: &str, now: i64) {
    in_transaction!(store, transaction => {
        spend_feed::set_budget(transaction, SubjectKind::Owner, subject, &budget(Some("1"), None), now).await
    })
    .unwrap();
}

on_both! {
    /// Versions become visible in their order: one that is given away later is never seen before one that commits late.
    async fn a_late_commit_is_not_skipped(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let mut late = api.store.begin().await.unwrap();
        spend_feed::set_budget(&mut late, SubjectKind::Owner, "late", &budget(None, Some("9.5")), 5).await.unwrap();
        let other = database.open().await;
        let second = tokio::spawn(async move { set_budget(&other, "early", 5).await });
        sleep(Duration::from_millis(200)).await;
        assert!(!second.is_finished(), "it waits for the one before");
        let mut reader = SpendFeedReader::default();
        reader.read(&api, &admin, "", 1).await;
        assert_eq!(reader.count, 0);
        late.commit().await.unwrap();
        timeout(Duration::from_secs(20), second).await.unwrap().unwrap();
        reader.read(&api, &admin, "", 1).await;
        assert_eq!(reader.budgets, BTreeMap::from([
            ("owner early".to_owned(), json!(["1", null])),
            ("owner late".to_owned(), json!([null, "9.5"])),
        ]));
    }
}

on_both! {
    /// Two consoles take lines of the same keys in at once, and a reader that follows ends with the truth.
    async fn two_consoles_at_once(database: &TestDatabase) {
        let api = Arc::new(Api::new(database).await);
        let admin = api.person("root", Role::Admin).await;
        const KEYS: usize = 7;
        const BATCHES: usize = 12;
        let mut writers = Vec::new();
        for console in 0..2 {
            let store = database.open().await;
            writers.push(tokio::spawn(async move {
                for batch in 0..BATCHES {
                    let lines: String = (0..KEYS).map(|key| line(&format!("k{key}"), "", "0.01", &["key"], "i")).collect();
                    let (envoy, file) = (format!("e{console}"), format!("f{batch}"));
                    let batch = LedgerBatch::new(&envoy, &file, 0, lines.as_bytes(), true).unwrap();
                    take(&store, &batch, OffsetDateTime::now_utc()).await.unwrap();
                }
            }));
        }
        let mut reader = SpendFeedReader::default();
        while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
            reader.read(&api, &admin, "e1", 3).await;
            for (total, own) in reader.told.values() {
                let own = own.get("i").map_or("0", String::as_str);
                assert!(own.parse::<Decimal>().unwrap() <= total.parse().unwrap(), "of one state");
            }
        }
        for writer in writers {
            writer.await.unwrap();
        }
        reader.read(&api, &admin, "e1", 3).await;
        let mut whole = SpendFeedReader::default();
        whole.read(&api, &admin, "e1", 1000).await;
        assert_eq!(reader.told, whole.told);
        assert_eq!(whole.told.len(), KEYS);
        assert!(whole.told.values().all(|(total, own)| total == "0.24" && own["i"] == "0.12"), "{whole:?}");
        api.was_well();
    }
}

on_both! {
    /// Forgets spend that no gateway needs any more; budgets of owners stay.
    async fn what_is_over_is_forgotten(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &line("k", "", "1", &["key"], "i")).await.expect(200);
        set_budget(&api.store, "ann", 1).await;
        let later = async |days: i64| {
            let day = OffsetDateTime::now_utc().date() + time::Duration::days(days);
            spend_feed::forget(&api.store, day).await.unwrap();
            let mut reader = SpendFeedReader::default();
            reader.read(&api, &admin, "e", 100).await;
            (reader.budgets.into_keys().collect::<Vec<_>>(), reader.told)
        };
        let (all, told) = later(0).await;
        assert_eq!(all, ["key k", "owner ann"]);
        assert_eq!(told["key k"].1["i"], "1");
        assert_eq!(later(100).await.0, ["owner ann"]);
    }
}
