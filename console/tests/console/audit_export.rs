//! The audit for a collector of logs: each entry at least once, in its order, by one console at a time.

use serde_json::Value;
use time::{Duration, OffsetDateTime};
use trilane_console::audit_export::{self, AuditBatch};
use trilane_console::in_transaction;
use trilane_console::store::audit::{self, Actor};
use trilane_console::store::{Store, StoreError};

use crate::database::on_both;

async fn add(store: &Store, objects: &[String], at: OffsetDateTime) {
    let actor = Actor {
        id: "ann".to_owned(),
        address: "192.0.2.7".to_owned(),
    };
    let at = i64::try_from(at.unix_timestamp_nanos() / 1000).unwrap();
    let added: Result<(), StoreError> = in_transaction!(store, transaction => {
        for object in objects {
            let mut entry = actor.entry(at, "key.create", object);
            entry.after = Some(r#"{"id": "k"}"#.to_owned());
            audit::insert(transaction, &entry).await?;
        }
        Ok(())
    });
    added.unwrap();
}

fn records(batch: &AuditBatch) -> Vec<Value> {
    let body: Value = serde_json::from_str(&batch.body).unwrap();
    body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        .as_array()
        .unwrap()
        .clone()
}

/// The objects of a batch's entries, as their attributes have them.
fn objects(batch: &AuditBatch) -> Vec<String> {
    let objects = records(batch).into_iter().map(|record| {
        let attributes = record["attributes"].as_array().unwrap().clone();
        let of =
            |key: &str| attributes.iter().find(|each| each["key"] == key).unwrap()["value"].clone();
        let line: Value =
            serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
        let object = of("trilane.audit.object")["stringValue"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(line["object"], object.as_str());
        assert_eq!(
            of("trilane.audit.number")["intValue"],
            line["number"].to_string()
        );
        assert_eq!(
            (record["eventName"].as_str(), &of("user.id")["stringValue"]),
            (Some("key.create"), &line["actor"])
        );
        assert_eq!(of("client.address")["stringValue"], "192.0.2.7");
        object
    });
    objects.collect()
}

fn names(range: core::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("k{number}")).collect()
}

on_both! {
    async fn each_at_least_once_and_in_order(database: &TestDatabase) {
        let (store, other) = (database.open().await, database.open().await);
        let now = OffsetDateTime::now_utc();
        let later = |seconds: i64| now + Duration::seconds(seconds);
        assert_eq!(audit_export::take(&store, now).await.unwrap(), None, "there are none");
        add(&store, &names(0..501), now - Duration::seconds(90)).await;
        add(&store, &names(501..503), now).await;

        // One console has it, and after a failure everybody waits.
        let first = audit_export::take(&store, now).await.unwrap().unwrap();
        assert_eq!(objects(&first), names(0..500));
        assert_eq!(audit_export::take(&other, later(30)).await.unwrap(), None, "another console has it");
        audit_export::close(&store, &first, false, later(10)).await.unwrap();
        assert_eq!(audit_export::take(&other, later(10)).await.unwrap(), None, "the pause");
        let again = audit_export::take(&other, later(11)).await.unwrap().unwrap();
        assert_eq!(objects(&again), names(0..500), "nothing is lost");
        audit_export::close(&other, &again, false, later(11)).await.unwrap();
        assert_eq!(audit_export::take(&store, later(12)).await.unwrap(), None, "the pause is longer");

        // One that ends while it sends: after a while another one does, and what the first says then is of no account.
        let lost = audit_export::take(&store, later(13)).await.unwrap().unwrap();
        let taken_over = audit_export::take(&other, later(73)).await.unwrap().unwrap();
        assert_eq!(objects(&taken_over), names(0..500));
        audit_export::close(&store, &lost, false, later(74)).await.unwrap();
        assert_eq!(audit_export::take(&store, later(80)).await.unwrap(), None, "it is the other one's");
        audit_export::close(&other, &taken_over, true, later(75)).await.unwrap();
        audit_export::close(&store, &lost, true, later(76)).await.unwrap();

        // What follows, and those of now a minute later.
        let next = audit_export::take(&store, later(20)).await.unwrap().unwrap();
        assert_eq!(objects(&next), names(500..501));
        audit_export::close(&store, &next, true, later(21)).await.unwrap();
        assert_eq!(audit_export::take(&store, later(30)).await.unwrap(), None, "not settled");
        let last = audit_export::take(&store, later(90)).await.unwrap().unwrap();
        assert_eq!(objects(&last), names(501..503));
        // Over a restart: it is not taken by the collector yet.
        drop(store);
        let last = audit_export::take(&database.open().await, later(180)).await.unwrap().unwrap();
        assert_eq!(objects(&last), names(501..503));
        audit_export::close(&other, &last, true, later(181)).await.unwrap();
        assert_eq!(audit_export::take(&other, later(300)).await.unwrap(), None);
    }
}

on_both! {
    /// Large entries go one at a time.
    async fn a_batch_is_of_a_bounded_size(database: &TestDatabase) {
        let store = database.open().await;
        let now = OffsetDateTime::now_utc();
        let large = |name: &str| format!("{name}{}", "x".repeat(700_000));
        add(&store, &[large("a"), large("b"), "c".to_owned()], now - Duration::seconds(90)).await;
        let mut seen = Vec::new();
        while let Some(batch) = audit_export::take(&store, now).await.unwrap() {
            seen.push(objects(&batch).iter().map(|object| object[..1].to_owned()).collect::<String>());
            audit_export::close(&store, &batch, true, now).await.unwrap();
        }
        assert_eq!(seen, ["a", "bc"]);
    }
}
