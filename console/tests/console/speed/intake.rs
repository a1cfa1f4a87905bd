//! Lines of the ledger a second, beside what the database itself takes for rows of the same texts.

use trilane_console::store::Store;

use super::{SpeedMeter, measured, most_memory, rows};
use crate::database::TestDatabase;
use crate::ledger::{line, position, send};

/// The lines of an agent that has had something to catch up with: it sends them in parts of 1 MiB.
const PART: usize = 1 << 20;
/// The bytes that are sent at once on an ordinary second.
const SMALL_PART: usize = 64 << 10;

fn lines(count: u64) -> Vec<String> {
    let line = |n: u64| {
        let at = format!(
            "2026-11-{:02}T{:02}:{:02}:00Z",
            20 + n / 40_000 % 5,
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

async fn take_all(store: &Store, envoy: &str, bytes: &[u8], part: usize) {
    let mut at = 0;
    while at < bytes.len() {
        let end = (at + part).min(bytes.len());
        at = position(send(store, envoy, at, &bytes[at..end]).await);
    }
}

async fn measure(database: &TestDatabase) {
    let store = database.open().await;
    let count = rows(200_000);
    let lines = lines(count);
    let text = lines.concat();
    let before = most_memory();
    for (what, envoy, part) in [
        ("parts of 1 MiB", "e", PART),
        ("parts of 64 KiB", "f", SMALL_PART),
    ] {
        let meter = SpeedMeter::start(database);
        take_all(&store, envoy, text.as_bytes(), part).await;
        let cost = meter.stop();
        println!(
            "  {count} lines in {what}: {cost}, {} a second of one core",
            cost.a_second(count)
        );
    }
    let more = most_memory() - before;
    println!(
        "  memory: {more} MiB more than before, for {} MiB of lines",
        text.len() >> 20
    );
    let meter = SpeedMeter::start(database);
    floor(database, &lines).await;
    let cost = meter.stop();
    println!(
        "  the floor, rows of the bare lines: {cost}, {} a second",
        cost.a_second(count)
    );
}

/// COPY, or inserts by a prepared statement, of the same lines into a table without an index.
async fn floor(database: &TestDatabase, lines: &[String]) {
    use sqlx::Connection as _;
    database
        .execute("CREATE TABLE bare (line TEXT NOT NULL)")
        .await
        .unwrap();
    if database.is_postgres() {
        let mut connection = sqlx::PgConnection::connect(&database.text).await.unwrap();
        let mut copy = connection
            .copy_in_raw("COPY bare FROM STDIN (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')")
            .await
            .unwrap();
        for part in lines.chunks(2000) {
            copy.send(part.concat().into_bytes()).await.unwrap();
        }
        copy.finish().await.unwrap();
        connection.close().await.unwrap();
        return;
    }
    let url = format!("sqlite://{}/console.db", database.text);
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    for part in lines.chunks(2000) {
        let mut transaction = connection.begin().await.unwrap();
        for line in part {
            sqlx::query("INSERT INTO bare (line) VALUES ($1)")
                .bind(line)
                .execute(&mut *transaction)
                .await
                .unwrap();
        }
        transaction.commit().await.unwrap();
    }
    connection.close().await.unwrap();
}

measured!(measure);
