//! Requests that are given up in their middle, and connections that are cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trilane_console::intake::IntakeError;
use trilane_console::store::{Transaction, ledger_files};

use crate::database::on_both;
use crate::ledger::{expected, line, position, send, spent, stored};

fn lines() -> String {
    (0..120)
        .map(|n| {
            line(
                &format!("2026-11-24T11:{:02}:00Z", n % 60),
                &format!("k{}", n % 5),
                "m",
                "0.001",
            )
        })
        .collect()
}

on_both! {
    /// An agent that goes away at any moment: its batch was taken whole, or not at all.
    async fn given_up_at_any_moment(database: &TestDatabase) {
        let store = database.open().await;
        let text = lines();
        let (bytes, mut at, mut given_up, mut turn) = (text.as_bytes(), 0, 0, 0_u64);
        while at < bytes.len() {
            let end = (at + 1500).min(bytes.len());
            turn += 1;
            let patience = Duration::from_micros(turn * 37 % 4000 + turn / 100 * 1000);
            match tokio::time::timeout(patience, send(&store, "e", at, &bytes[at..end])).await {
                // It does not know how far it came, and asks.
                Err(_) => {
                    given_up += 1;
                    at = position(send(&store, "e", at, b"").await);
                }
                Ok(answer) => at = position(answer),
            }
        }
        assert!(given_up > 5, "{given_up}");
        assert_eq!(stored(&store).await, expected(&[bytes]));
        assert_eq!(spent(&store, "k0", "2026-11").await, "0.024");
    }
}

/// PostgreSQL cuts connections at random moments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_cut() {
    let database = crate::database::TestDatabase::postgres().await;
    let store = database.open().await;
    let text = lines().repeat(20);
    let ended = Arc::new(AtomicBool::new(false));
    let cutting = {
        let (text, ended) = (database.text.clone(), Arc::clone(&ended));
        tokio::spawn(async move {
            use sqlx::{Connection as _, Executor as _};
            let mut connection = sqlx::PgConnection::connect(&text).await.unwrap();
            // It waits until each is gone: none is cut after the last statement has ended.
            let sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
                WHERE datname = current_database() AND application_name = 'trilane-console'";
            let mut turn = 0_u64;
            while !ended.load(Ordering::Relaxed) {
                turn += 1;
                connection.execute(sql).await.unwrap();
                // Longer from turn to turn, so that a slow machine comes to an end as well.
                let pause = 3000 + turn * 1777 % 9000 + turn * 50;
                tokio::time::sleep(Duration::from_micros(pause)).await;
            }
        })
    };
    let (bytes, mut at, mut failed) = (text.as_bytes(), 0, 0);
    while at < bytes.len() && failed < 6 {
        let end = (at + 700).min(bytes.len());
        match send(&store, "e", at, &bytes[at..end]).await {
            Err(IntakeError::Store(_)) => failed += 1,
            answer => at = position(answer),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    ended.store(true, Ordering::Relaxed);
    cutting.await.unwrap();
    assert!(failed == 6, "{failed}");
    assert_eq!(stored(&store).await, expected(&[&bytes[..at]]));
    database.drop().await;
}

/// A console whose host is gone holds its locks for half a minute, not for the hours that TCP takes to notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_goes_on_with_it() {
    let database = crate::database::TestDatabase::postgres().await;
    let store = database.open().await;
    let mut transaction = store.begin().await.unwrap();
    let Transaction::Postgres(inner) = &mut transaction else {
        panic!("{transaction:?}")
    };
    // The console's own patience, and then one that a test can wait for.
    let shown = "SHOW idle_in_transaction_session_timeout";
    let patience: String = sqlx::query_scalar(shown)
        .fetch_one(&mut **inner)
        .await
        .unwrap();
    assert_eq!(patience, "30s");
    let shorter = "SET LOCAL idle_in_transaction_session_timeout = '50ms'";
    sqlx::query(shorter).execute(&mut **inner).await.unwrap();
    let text = lines();
    ledger_files::lock(&mut transaction, "e", "file")
        .await
        .unwrap();
    // It waits for the lock of the one that does not go on.
    position(send(&store, "e", 0, text.as_bytes()).await);
    assert!(transaction.commit().await.is_err());
    assert_eq!(stored(&store).await, expected(&[text.as_bytes()]));
    database.drop().await;
}
