//! The room that the database takes.

use serde_json::Value;
use time::{Duration, OffsetDateTime};
use trilane_console::api::Role;
use trilane_console::storage::{StorageReading, StorageWatch};
use trilane_console::store::disk_use::DataKind;

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::retention::many;

/// Makes requests that were taken in on a day, of about 1 KB each.
async fn take_in(database: &TestDatabase, day: &str, rows: u32) {
    if database.is_postgres() {
        let name = format!("requests_{}", day.replace('-', "_"));
        let partition =
            format!("CREATE TABLE {name} PARTITION OF requests FOR VALUES IN ('{day}')");
        database.execute(&partition).await.unwrap();
    }
    let line = "x".repeat(1000);
    let insert = format!(
        "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, group_id, model, outcome, line) \
         SELECT '{day}', 'e', 'f', n, n, 'k', '', 'g', 'm', 'done', '{line}' FROM ({{numbers}}) AS numbers"
    );
    database
        .execute(&many(database, rows, &insert))
        .await
        .unwrap();
}

fn kind(view: &Value, kind: &str) -> i64 {
    let kinds = view["kinds"].as_array().unwrap();
    let found = kinds.iter().find(|of| of["kind"] == kind).unwrap();
    found["bytes"].as_i64().unwrap()
}

/// Adds up the parts.
fn sum(view: &Value) -> i64 {
    let kinds = view["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["bytes"].as_i64().unwrap_or(0));
    let of = |name: &str| view[name].as_i64().unwrap_or(0);
    kinds.sum::<i64>() + of("unmeasured_bytes") + of("free_bytes") + of("log_bytes")
}

fn requests(reading: &StorageReading) -> i64 {
    reading.data.kinds[&DataKind::Requests].unwrap()
}

on_both! {
    async fn what_takes_the_room(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let empty = api.get(&admin, "/api/v1/storage").await.expect(200);
        assert_eq!(sum(&empty), empty["bytes"].as_i64().unwrap(), "{empty}");
        assert!(kind(&empty, "keys") > 0 && kind(&empty, "other") > 0, "{empty}");
        assert_eq!(empty["keep_requests_days"], 30);
        for name in ["oldest_requests_of", "oldest_requests_go_on", "request_bytes_a_day"] {
            assert_eq!(empty[name], Value::Null, "{name}: no request is there");
        }
        for name in ["log_bytes", "free_bytes", "disk_free_bytes"] {
            assert_eq!(empty[name].is_null(), database.is_postgres(), "{name}");
        }
        let today = OffsetDateTime::now_utc().date();
        let day = today - Duration::days(10);
        take_in(database, &day.to_string(), 2000).await;
        let again = api.get(&admin, "/api/v1/storage").await.expect(200);
        assert_eq!(again, empty, "it is read once a minute at most");

        let reading = StorageWatch::new(api.store.clone(), 7).look().await.unwrap();
        let more = requests(&reading) - kind(&empty, "requests");
        assert!((2_000_000..6_000_000).contains(&more), "{more}: 2000 lines of 1 KB and their indexes");
        assert_eq!(reading.data.oldest, Some(day));
        assert_eq!(reading.oldest_go_on(), Some(day + Duration::days(8)));
        let a_day = reading.bytes_a_day().unwrap();
        assert!((requests(&reading) / 11..=requests(&reading) / 10).contains(&a_day), "{a_day}");
        // PostgreSQL may have cleaned up meanwhile.
        let keys = reading.data.kinds[&DataKind::Keys].unwrap() - kind(&empty, "keys");
        assert!(keys.abs() < 200_000, "{keys}: keys take what they took");
        api.was_well();
    }
}

on_both! {
    /// Of the first day nobody knows how much it brings.
    async fn the_first_day(database: &TestDatabase) {
        let store = database.open().await;
        let today = OffsetDateTime::now_utc().date();
        take_in(database, &today.to_string(), 10).await;
        let reading = StorageWatch::new(store, 30).look().await.unwrap();
        if OffsetDateTime::now_utc().date() == today {
            assert_eq!((reading.data.oldest, reading.bytes_a_day()), (Some(today), None));
        }
    }
}

/// SQLite's tables of more pages than are walked: what they take is known all the same, alone or together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_too_great_to_be_walked() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    take_in(&database, "2026-11-01", 30_000).await;
    let reading = StorageWatch::new(store.clone(), 30).look().await.unwrap();
    let walked: i64 = {
        use sqlx::Connection as _;
        let url = format!("sqlite://{}/console.db", database.text);
        let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
        let all = "SELECT SUM(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'requests')";
        sqlx::query_scalar(all)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    };
    assert!(walked > 5000 * 4096, "{walked}");
    assert_eq!((requests(&reading), reading.data.unmeasured), (walked, 0));

    // The audit is as great.
    let entry = "x".repeat(1000);
    let insert = format!(
        "INSERT INTO audit (at, actor, address, action, object, after) SELECT n, 'a', '', 'b', 'c', '{entry}' FROM ({{numbers}})"
    );
    database
        .execute(&many(&database, 25_000, &insert))
        .await
        .unwrap();
    let reading = StorageWatch::new(store, 30).look().await.unwrap();
    let great = [DataKind::Requests, DataKind::Audit].map(|kind| reading.data.kinds[&kind]);
    assert_eq!(great, [None, None]);
    assert!(
        reading.data.unmeasured > walked + 25_000_000,
        "{}",
        reading.data.unmeasured
    );
    assert!(reading.bytes_a_day().is_some());
}
