//! How many lines a second are taken in: `cargo test --package trilane-console --test console speed -- --ignored --nocapture`.

use std::time::Instant;

use crate::database::TestDatabase;
use crate::ledger::{line, position, send};

fn lines(count: u32) -> String {
    let line = |n: u32| {
        let at = format!(
            "2026-11-{:02}T{:02}:{:02}:00Z",
            20 + n / 40_000,
            n / 3600 % 24,
            n / 60 % 60
        );
        line(
            &at,
            &format!("key_{}", n % 1000),
            &format!("model-{}", n % 7),
            "0.00123",
        )
    };
    (0..count).map(line).collect()
}

async fn measure(database: &TestDatabase, name: &str) {
    let store = database.open().await;
    let text = lines(100_000);
    let (bytes, mut at, since) = (text.as_bytes(), 0, Instant::now());
    while at < bytes.len() {
        let end = (at + (1 << 20)).min(bytes.len());
        at = position(send(&store, "e", at, &bytes[at..end]).await);
    }
    let took = since.elapsed();
    let a_second = 100_000_000_u128 / took.as_millis().max(1);
    println!("{name}: 100 000 lines in {took:?}, {a_second} a second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures, and is no test"]
async fn sqlite() {
    measure(&TestDatabase::sqlite(), "SQLite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures, and is no test"]
async fn postgres() {
    let database = TestDatabase::postgres().await;
    measure(&database, "PostgreSQL").await;
    database.drop().await;
}
