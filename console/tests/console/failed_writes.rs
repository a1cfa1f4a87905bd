//! SQLite whose disk is full, or that others keep busy: after each failed change the next one is made, and health says what can be.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;
use trilane_console::in_transaction;
use trilane_console::live::LiveParts;
use trilane_console::metrics::{ConsoleMetrics, MetricsSource as _, MetricsText};
use trilane_console::store::keys::{self, StoredKey};
use trilane_console::store::{DatabaseAddress, Store, StoreError, Transaction};

use crate::database::TestDatabase;

fn key(number: usize, label: &str) -> StoredKey {
    StoredKey {
        sha256: format!("{number:064x}"),
        id: format!("k{number}"),
        group_id: "g".to_owned(),
        label: Some(label.to_owned()),
        ..StoredKey::default()
    }
}

async fn add(store: &Store, number: usize, label: &str) -> Result<(), StoreError> {
    let key = key(number, label);
    in_transaction!(store, transaction => keys::insert(transaction, &key).await)
}

async fn database_up(store: &Store) -> bool {
    let mut text = MetricsText::default();
    let metrics = ConsoleMetrics::new(store.clone(), LiveParts::default());
    metrics.write(&mut text).await;
    text.end().contains("trilane_console_database_up 1\n")
}

/// Whether a change could be made a moment ago, and that is forgotten.
async fn can_change(store: &Store) -> bool {
    tokio::time::sleep(std::time::Duration::from_millis(1050)).await;
    let can = store.can_change().await.is_ok();
    assert_eq!(database_up(store).await, can);
    can
}

/// The engine ends a transaction by itself, at whatever moment; whoever comes next begins another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_the_engine_has_ended() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    for (number, ending) in ["commit", "rollback", "drop"].iter().enumerate() {
        let mut transaction = store.begin().await.unwrap();
        keys::insert(&mut transaction, &key(100 + number, "lost"))
            .await
            .unwrap();
        let Transaction::Sqlite(inner, _) = &mut transaction else {
            panic!("{transaction:?}")
        };
        // As a full disk makes it do.
        inner.execute("ROLLBACK").await.unwrap();
        match *ending {
            "commit" => assert!(
                transaction.commit().await.is_err(),
                "nothing was made to last"
            ),
            "rollback" => transaction.rollback().await,
            _ => drop(transaction),
        }
        add(&store, number, "kept")
            .await
            .unwrap_or_else(|error| panic!("after {ending}: {error}"));
    }
    let mut transaction = store.read().await.unwrap();
    for number in 0..3 {
        assert!(
            keys::find(&mut transaction, &format!("k{number}"))
                .await
                .unwrap()
                .is_some()
        );
        assert!(
            keys::find(&mut transaction, &format!("k{}", 100 + number))
                .await
                .unwrap()
                .is_none()
        );
    }
}

/// The file may not grow: as on a full disk, but everywhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_may_not_grow() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let label = "x".repeat(100_000);
    for turn in 0..3 {
        let mut transaction = store.begin().await.unwrap();
        let Transaction::Sqlite(inner, _) = &mut transaction else {
            panic!("{transaction:?}")
        };
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count")
            .fetch_one(&mut **inner)
            .await
            .unwrap();
        inner
            .execute(sqlx::AssertSqlSafe(format!(
                "PRAGMA max_page_count = {pages}"
            )))
            .await
            .unwrap();
        let full = keys::insert(&mut transaction, &key(100 + turn, &label)).await;
        assert!(
            full.as_ref()
                .is_err_and(|error| error.to_string().contains("full")),
            "{full:?}"
        );
        // There is room again.
        let Transaction::Sqlite(inner, _) = &mut transaction else {
            panic!("{transaction:?}")
        };
        inner
            .execute("PRAGMA max_page_count = 1000000")
            .await
            .unwrap();
        transaction.rollback().await;
        add(&store, turn, &label)
            .await
            .unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        assert!(store.can_change().await.is_ok());
    }
}

/// A file system of some megabytes.
struct FullDisk(TempDir);

impl FullDisk {
    fn mount() -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"])
            .arg(directory.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.path())
            .status();
    }
}

/// Fills a disk to the last byte.
fn fill(file: &Path) {
    use std::io::Write as _;
    let mut file = File::create(file).unwrap();
    for size in [65_536, 4096, 1] {
        let bytes = vec![0; size];
        while file.write(&bytes).is_ok_and(|written| written > 0) {}
    }
}

/// A disk that is really full, again and again: no change is made, health says so, reading goes on; with room all is well again,
/// without a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk() {
    let Some(disk) = FullDisk::mount() else {
        println!("skipped: only root may mount a small disk");
        return;
    };
    let address = DatabaseAddress::Directory(disk.path().to_owned());
    let store = Store::open(&address).await.unwrap();
    let (ballast, label) = (disk.path().join("ballast"), "x".repeat(20_000));
    let mut number = 0;
    assert!(can_change(&store).await);
    add(&store, 0, "first").await.unwrap();
    for turn in 0..3 {
        fill(&ballast);
        let mut failed = None;
        for _ in 0..300 {
            number += 1;
            if let Err(error) = add(&store, number, &label).await {
                failed = Some(error.to_string());
                break;
            }
        }
        let failed = failed.expect("the disk is full");
        assert!(
            failed.contains("full") || failed.contains("I/O"),
            "turn {turn}: {failed}"
        );
        // Several at once, as they come.
        for _ in 0..4 {
            number += 1;
            assert!(add(&store, number, &label).await.is_err(), "turn {turn}");
        }
        let mut transaction = store.read().await.unwrap();
        assert!(
            keys::find(&mut transaction, "k0").await.unwrap().is_some(),
            "what is there can be read"
        );
        transaction.rollback().await;
        std::fs::remove_file(&ballast).unwrap();
        number += 1;
        add(&store, number, "short")
            .await
            .unwrap_or_else(|error| panic!("turn {turn}: with room again: {error}"));
        assert!(can_change(&store).await, "turn {turn}");
        // What was taken back is not there.
        let mut transaction = store.read().await.unwrap();
        assert!(
            keys::find(&mut transaction, &format!("k{}", number - 1))
                .await
                .unwrap()
                .is_none()
        );
        transaction.rollback().await;
        let mut transaction = store.begin().await.unwrap();
        let Transaction::Sqlite(inner, _) = &mut transaction else {
            panic!("{transaction:?}")
        };
        let removed = inner.execute("DELETE FROM keys WHERE id <> 'k0'").await;
        removed.unwrap();
        transaction.commit().await.unwrap();
    }
    store.close().await;
}

/// Another program holds the database: changes fail in time, and are made once it has gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_program_writes() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let mut other =
        sqlx::SqliteConnection::connect(&format!("sqlite://{}/console.db", database.text))
            .await
            .unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    assert!(!can_change(&store).await);
    let begun = Instant::now();
    let failed = add(&store, 1, "late").await;
    assert!(failed.is_err(), "{failed:?}");
    assert!(
        begun.elapsed().as_secs() < 15,
        "it waits {:?}",
        begun.elapsed()
    );
    other.execute("ROLLBACK").await.unwrap();
    add(&store, 1, "at last").await.unwrap();
    assert!(can_change(&store).await);
}
