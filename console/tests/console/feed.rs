//! The feed of keys from the database.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;
use trilane_console::feed::{CursorError, FeedCursor, PageError, PageRequest};
use trilane_console::in_transaction;
use trilane_console::store::keys::{self, StoredKey};
use trilane_console::store::{Store, Transaction, key_feed};

use crate::database::{TestDatabase, on_both};

pub fn key(number: u32) -> StoredKey {
    StoredKey {
        sha256: format!("{number:064x}"),
        id: format!("key_{number}"),
        group_id: "g".to_owned(),
        ..StoredKey::default()
    }
}

async fn insert(store: &Store, number: u32) {
    let key = key(number);
    in_transaction!(store, transaction => keys::insert(transaction, &key).await).unwrap();
}

async fn page(store: &Store, cursor: Option<&str>, limit: u32) -> Result<Value, PageError> {
    let asked = PageRequest {
        cursor: cursor.map(|text| FeedCursor::parse(text).unwrap()),
        limit,
    };
    let page = key_feed::page(store, &asked).await?;
    Ok(serde_json::from_slice(&page).unwrap())
}

/// A reader of the feed, as a gateway is one.
#[derive(Debug, Default)]
struct KeyFeedReader {
    cursor: Option<String>,
    version: u64,
    /// By digest: the version, and the id; `None` if it was removed.
    keys: BTreeMap<String, (u64, Option<String>)>,
}

impl KeyFeedReader {
    async fn read(&mut self, store: &Store, limit: u32) {
        loop {
            let page = page(store, self.cursor.as_deref(), limit).await.unwrap();
            for change in page["changes"].as_array().unwrap() {
                let version = change["version"].as_u64().unwrap();
                assert!(self.cursor.is_none() || version > 0, "{change}");
                let id = change["id"].as_str().map(str::to_owned);
                self.keys
                    .insert(change["sha256"].as_str().unwrap().to_owned(), (version, id));
            }
            self.version = page["version"].as_u64().unwrap();
            self.cursor = page["cursor"].as_str().map(str::to_owned);
            if page["more"] == false {
                return;
            }
        }
    }

    fn ids(&self) -> Vec<&str> {
        self.keys
            .values()
            .filter_map(|(_, id)| id.as_deref())
            .collect()
    }
}

on_both! {
    /// Lists in the next page exactly what plain SQL has changed.
    async fn changes_by_plain_sql(database: &TestDatabase) {
        let store = database.open().await;
        let mut reader = KeyFeedReader::default();
        reader.read(&store, 2).await;
        let digest = |c: char| c.to_string().repeat(64);
        let [a, b, c] = ['a', 'b', 'c'].map(digest);
        let steps = [
            (format!("INSERT INTO keys (sha256, id, group_id) VALUES ('{a}', 'ka', 'g'), ('{b}', 'kb', 'g'), ('{c}', 'kc', 'g')"), vec!["ka", "kb", "kc"], 3),
            ("UPDATE keys SET label = 'mine', created_at = 'today' WHERE id = 'ka'".to_owned(), vec!["ka", "kb", "kc"], 0),
            ("UPDATE keys SET owner = 'sales', limits = '{\"requests_per_minute\": 5}', expires_at = '2027-01-01T00:00:00Z' WHERE id = 'kb'".to_owned(), vec!["ka", "kb", "kc"], 1),
            ("UPDATE keys SET max_multiplier = '1.5' WHERE id = 'kb'".to_owned(), vec!["ka", "kb", "kc"], 1),
            ("UPDATE keys SET addresses = '[\"10.0.0.0/8\"]' WHERE id = 'kb'".to_owned(), vec!["ka", "kb", "kc"], 1),
            ("UPDATE keys SET group_id = group_id".to_owned(), vec!["ka", "kb", "kc"], 0),
            ("INSERT INTO people VALUES ('sales', '', 'member', FALSE, 0, NULL, '[\"10.1.0.0/16\"]')".to_owned(), vec!["ka", "kb", "kc"], 0),
            ("UPDATE keys SET disabled = disabled WHERE owner = 'sales'".to_owned(), vec!["ka", "kb", "kc"], 1),
            ("UPDATE keys SET disabled = disabled WHERE owner = 'sales'".to_owned(), vec!["ka", "kb", "kc"], 0),
            ("DELETE FROM keys WHERE id = 'ka'".to_owned(), vec!["kb", "kc"], 1),
            (format!("INSERT INTO keys (sha256, id, group_id) VALUES ('{a}', 'kd', 'g')"), vec!["kd", "kb", "kc"], 1),
            (format!("UPDATE keys SET sha256 = '{}' WHERE id = 'kc'", digest('d')), vec!["kd", "kb", "kc"], 2),
            ("UPDATE keys SET disabled = true WHERE id = 'kc'".to_owned(), vec!["kd", "kb", "kc"], 1),
            ("DELETE FROM keys".to_owned(), vec![], 3),
        ];
        for (sql, ids, changes) in steps {
            let before = reader.keys.clone();
            database.execute(&sql).await.unwrap();
            reader.read(&store, 2).await;
            assert_eq!(reader.ids(), ids, "{sql}");
            let changed = reader.keys.iter().filter(|(digest, key)| before.get(*digest) != Some(key)).count();
            assert_eq!(changed, changes, "{sql}");
            let mut anew = KeyFeedReader::default();
            anew.read(&store, 1).await;
            let mut all: Vec<_> = anew.ids();
            let mut ids = ids;
            all.sort_unstable();
            ids.sort_unstable();
            assert_eq!(all, ids, "anew, after {sql}");
        }
    }
}

on_both! {
    /// Many keys that one statement changes are many changes, each said once, in versions that follow those before.
    async fn many_by_one_statement(database: &TestDatabase) {
        let store = database.open().await;
        insert(&store, 0).await;
        let mut reader = KeyFeedReader::default();
        reader.read(&store, 10).await;
        let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50)";
        let digest = if database.is_postgres() { "lpad(n::text, 64, '0')" } else { "printf('%064d', n)" };
        for (sql, keys, changes) in [
            (format!("{numbers} INSERT INTO keys (sha256, id, group_id) SELECT {digest}, 'k' || n, 'g' FROM numbers"), 51, 50),
            ("UPDATE keys SET owner = CASE WHEN id LIKE 'k1%' THEN 'sales' END".to_owned(), 51, 11),
            ("UPDATE keys SET sha256 = substr(sha256, 2) || 'f', owner = NULL WHERE id LIKE 'k2%' OR id = 'k1'".to_owned(), 51, 24),
            ("DELETE FROM keys WHERE id LIKE 'k3%'".to_owned(), 40, 11),
            ("DELETE FROM keys WHERE id = 'nobody'".to_owned(), 40, 0),
        ] {
            let before = reader.keys.clone();
            let version = reader.version;
            database.execute(&sql).await.unwrap();
            reader.read(&store, 7).await;
            let changed: Vec<_> = reader.keys.iter().filter(|(digest, key)| before.get(*digest) != Some(key)).collect();
            assert_eq!((reader.ids().len(), changed.len()), (keys, changes), "{sql}");
            assert!(changed.iter().all(|(_, (of, _))| (version + 1..=reader.version).contains(of)), "{sql}");
        }
        let refused = "UPDATE keys SET limits = CASE WHEN id = 'k40' THEN '{}' END";
        assert!(database.execute(refused).await.is_err(), "one of many has limits that limit nothing");
    }
}

/// A program's transaction that changes many keys keeps no revocation waiting, and none of its keys is passed over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_waits_for_no_transaction_that_changes_many_keys() {
    use sqlx::{Connection as _, Executor as _};
    let database = TestDatabase::postgres().await;
    let store = database.open().await;
    insert(&store, 1).await;
    insert(&store, 2).await;
    let mut reader = KeyFeedReader::default();
    reader.read(&store, 100).await;
    let mut import = sqlx::PgConnection::connect(&database.text).await.unwrap();
    let many = |from: u32| {
        sqlx::AssertSqlSafe(format!(
            "INSERT INTO keys (sha256, id, group_id) SELECT lpad(n::text, 64, '0'), 'k' || n, 'g' FROM generate_series({from}, {}) n",
            from + 5999
        ))
    };
    let remove = async |number| {
        let removed = in_transaction!(store, transaction => {
            let found = keys::find_locked(transaction, &key(number).id).await?;
            keys::remove(transaction, &found.expect("a key")).await
        });
        removed.unwrap();
    };

    import.execute("BEGIN").await.unwrap();
    import.execute(many(10_000)).await.unwrap();
    import.execute(many(20_000)).await.unwrap();
    let removed = tokio::time::timeout(Duration::from_secs(5), remove(1)).await;
    assert!(removed.is_ok(), "it waits for the import");
    reader.read(&store, 100).await;
    assert_eq!(
        reader.ids(),
        ["key_2"],
        "and nothing of what is not committed"
    );

    import.execute("COMMIT").await.unwrap();
    // It comes later than all of them, and is told first.
    remove(2).await;
    let next = page(&store, reader.cursor.as_deref(), 100).await.unwrap();
    let first = &next["changes"][0];
    assert_eq!(
        (&first["sha256"], &first["id"]),
        (&Value::from(key(2).sha256), &Value::Null)
    );
    while reader.keys.len() < 12_002 {
        let before = reader.version;
        reader.read(&store, 1000).await;
        assert!(
            reader.version > before,
            "{} keys are told of",
            reader.keys.len()
        );
    }
    let mut anew = KeyFeedReader::default();
    anew.read(&store, 1000).await;
    assert_eq!(anew.ids(), reader.ids());
    database.drop().await;
}

on_both! {
    async fn what_a_page_says_of_a_key(database: &TestDatabase) {
        let store = database.open().await;
        let key = StoredKey {
            owner: Some("sales".to_owned()),
            label: Some("laptop".to_owned()),
            expires_at: Some("2027-01-01T00:00:00Z".to_owned()),
            disabled: true,
            limits: Some(r#"{"requests_per_minute": 60, "budget": {"per_day": "10.00"}}"#.to_owned()),
            created_by: Some("admin".to_owned()),
            hint: Some("wxyz".to_owned()),
            ..key(1)
        };
        in_transaction!(store, transaction => keys::insert(transaction, &key).await).unwrap();
        let page = page(&store, None, 10).await.unwrap();
        let mut change = page["changes"][0].clone();
        let version = change.as_object_mut().unwrap().remove("version").unwrap();
        assert_eq!(page["version"], version);
        let want = serde_json::json!({"sha256": key.sha256, "id": "key_1", "group": "g", "owner": "sales",
            "expires_at": "2027-01-01T00:00:00Z", "disabled": true,
            "limits": {"requests_per_minute": 60, "budget": {"per_day": "10.00"}}});
        assert_eq!(change, want);
    }
}

on_both! {
    async fn cursors_that_lead_nowhere(database: &TestDatabase) {
        let store = database.open().await;
        for number in 0..3 {
            insert(&store, number).await;
        }
        let mut reader = KeyFeedReader::default();
        reader.read(&store, 10).await;
        let cursor = reader.cursor.clone().unwrap();
        let feed = cursor.split_once('.').unwrap().0;
        let cases = [
            (format!("other.{}", reader.version), CursorError::OtherFeed),
            (format!("{feed}.{}", reader.version + 1), CursorError::Ahead),
        ];
        for (cursor, want) in cases {
            assert_eq!(page(&store, Some(&cursor), 10).await, Err(PageError::Cursor(want)), "{cursor}");
        }
        // A removal that is forgotten takes the cursors before it along.
        in_transaction!(store, transaction => {
            let key = keys::find_locked(transaction, "key_1").await?.unwrap();
            keys::remove(transaction, &key).await
        }).unwrap();
        key_feed::compact(&store, Duration::from_secs(3600)).await.unwrap();
        page(&store, Some(&cursor), 10).await.unwrap();
        database.execute("UPDATE key_changes SET removed_at = removed_at - 7200 WHERE removed_at IS NOT NULL").await.unwrap();
        key_feed::compact(&store, Duration::from_secs(3600)).await.unwrap();
        assert_eq!(page(&store, Some(&cursor), 10).await, Err(PageError::Cursor(CursorError::Compacted)));
        let mut anew = KeyFeedReader::default();
        anew.read(&store, 10).await;
        assert_eq!(anew.ids(), ["key_0", "key_2"]);
    }
}

on_both! {
    /// A transaction that commits late is not skipped: its changes get their versions after those that are visible. In SQLite others wait
    /// for it, in PostgreSQL none does.
    async fn a_late_commit(database: &TestDatabase) {
        let store = database.open().await;
        insert(&store, 1).await;
        let mut reader = KeyFeedReader::default();
        reader.read(&store, 10).await;

        let mut late = store.begin().await.unwrap();
        let sql = "INSERT INTO keys (sha256, id, group_id) VALUES ($1, 'key_2', 'g')";
        match &mut late {
            Transaction::Sqlite(inner, _) => drop(sqlx::query(sql).bind(key(2).sha256).execute(&mut **inner).await.unwrap()),
            Transaction::Postgres(inner) => drop(sqlx::query(sql).bind(key(2).sha256).execute(&mut **inner).await.unwrap()),
        }
        let other = database.open().await;
        let next = tokio::spawn(async move { insert(&other, 3).await });
        if database.is_postgres() {
            next.await.unwrap();
            reader.read(&store, 10).await;
            assert_eq!(reader.ids(), ["key_1", "key_3"], "the later one does not wait");
            late.commit().await.unwrap();
        } else {
            sleep(Duration::from_millis(300)).await;
            reader.read(&store, 10).await;
            assert_eq!(reader.ids(), ["key_1"], "neither is visible");
            assert!(!next.is_finished(), "the later one waits for the earlier one");
            late.commit().await.unwrap();
            next.await.unwrap();
        }
        let (before, known) = (reader.version, reader.keys.len());
        reader.read(&store, 10).await;
        assert_eq!(reader.ids(), ["key_1", "key_2", "key_3"]);
        let newer = reader.keys.values().filter(|(version, _)| *version > before);
        assert_eq!(newer.count(), 3 - known, "all that was not visible comes later");
    }
}

on_both! {
    /// Many writers, some of which take their changes back, and a reader that never begins anew.
    async fn many_writers(database: &TestDatabase) {
        let store = database.open().await;
        let mut writers = Vec::new();
        for writer in 0..4_u32 {
            let store = database.open().await;
            writers.push(tokio::spawn(async move {
                for turn in 0..15 {
                    let mut transaction = store.begin().await.unwrap();
                    keys::insert(&mut transaction, &key(100 * writer + turn)).await.unwrap();
                    sleep(Duration::from_millis(u64::from((writer * 7 + turn * 3) % 11))).await;
                    match turn % 5 {
                        4 => transaction.rollback().await,
                        _ => transaction.commit().await.unwrap(),
                    }
                }
            }));
        }
        let mut reader = KeyFeedReader::default();
        while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
            reader.read(&store, 3).await;
        }
        for writer in writers {
            writer.await.unwrap();
        }
        reader.read(&store, 3).await;
        assert_eq!(reader.ids().len(), 4 * 12);
    }
}

/// Keys changed in opposite orders: neither of two transactions waits for the other for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_in_opposite_orders() {
    let database = TestDatabase::postgres().await;
    let store = database.open().await;
    insert(&store, 1).await;
    insert(&store, 2).await;
    let change = |order: [u32; 2], group: &'static str| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                let mut transaction = store.begin().await.unwrap();
                for number in order {
                    let key = StoredKey {
                        group_id: group.to_owned(),
                        ..key(number)
                    };
                    let before = keys::find_locked(&mut transaction, &key.id)
                        .await
                        .unwrap()
                        .unwrap();
                    keys::update(&mut transaction, &before, &key).await.unwrap();
                    tokio::task::yield_now().await;
                }
                transaction.commit().await.unwrap();
            }
        })
    };
    let (one, two) = (change([1, 2], "one"), change([2, 1], "two"));
    one.await.unwrap();
    two.await.unwrap();
    database.drop().await;
}
