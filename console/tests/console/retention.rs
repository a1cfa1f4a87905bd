//! Old rows are deleted in small parts, and hold nobody up.

use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::{sleep, timeout};
use trilane_console::cases::Role;
use trilane_console::maintenance::{self, Retention};
use trilane_console::store::old_rows::{BATCH, Cutoff};
use trilane_console::store::{Store, idempotency, requests};

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::spend_feed::line;

/// Longer than anything here takes. A test that waits for so long has failed.
const STUCK: Duration = Duration::from_secs(60);

/// A statement that makes so many rows.
pub fn many(database: &TestDatabase, rows: u32, insert: &str) -> String {
    let numbers = match database.is_postgres() {
        true => format!("SELECT n FROM generate_series(1, {rows}) AS made (n)"),
        false => format!(
            "WITH RECURSIVE made (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < {rows}) SELECT n FROM made"
        ),
    };
    insert.replace("{numbers}", &numbers)
}

async fn count(database: &TestDatabase, table: &str) -> usize {
    let start = format!("{table} ");
    let dump = database.dump().await;
    dump.lines().filter(|line| line.starts_with(&start)).count()
}

on_both! {
    async fn a_transaction_deletes_a_bounded_number(database: &TestDatabase) {
        let store = database.open().await;
        let insert = "INSERT INTO idempotency SELECT 't', CAST(n AS TEXT), '', 200, '', n FROM ({numbers}) AS numbers";
        database.execute(&many(database, 4600, insert)).await.unwrap();
        let before = Cutoff::Moment(4501);
        for (case, want) in [("a whole part", 2000), ("another", 2000), ("what is left", 500), ("nothing", 0)] {
            assert_eq!(idempotency::OLD.delete_some(&store, &before).await.unwrap(), want, "{case}");
        }
        assert_eq!(BATCH, 2000);
        assert_eq!(count(database, "idempotency").await, 100, "what is not old stays");
        assert_eq!(idempotency::OLD.delete(&store, &Cutoff::Moment(i64::MAX)).await.unwrap(), 100);
    }
}

/// Counts the lines of the ledger.
async fn lines(store: &Store, key: &str) -> usize {
    let mut transaction = store.read().await.unwrap();
    let asked = requests::RequestQuery {
        key: Some(key),
        limit: 1_000_000,
        ..requests::RequestQuery::default()
    };
    let found = requests::recent(&mut transaction, &asked).await.unwrap();
    transaction.rollback().await;
    found.lines.len()
}

/// Whether there is an old line from before a moment. They go in the order of their moments.
async fn is_there(store: &Store, moment: i64) -> bool {
    let of = |at: i64| requests::StoredRequest {
        at,
        ..requests::StoredRequest::default()
    };
    let mut transaction = store.read().await.unwrap();
    let asked = requests::RequestQuery {
        key: Some("old"),
        before: Some(&of(moment).place()),
        limit: 1,
        ..requests::RequestQuery::default()
    };
    let found = requests::recent(&mut transaction, &asked).await.unwrap();
    transaction.rollback().await;
    !found.lines.is_empty()
}

/// In SQLite, which has one writer, the intake gets its turn while lines are forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_intake_goes_on_between_parts() {
    const ROWS: u32 = 60_000;
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    let admin = api.person("root", Role::Admin).await;
    let insert = "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, group_id, model, outcome, line) SELECT '2020-01-01', 'e', 'old', n, n, 'old', '', 'g', 'm', 'done', '{}' FROM ({numbers})";
    database
        .execute(&many(&database, ROWS, insert))
        .await
        .unwrap();
    let store = api.store.clone();
    let forgetting =
        tokio::spawn(
            async move { requests::forget(&store, OffsetDateTime::now_utc().date()).await },
        );
    while is_there(&api.store, 2).await {
        sleep(Duration::from_millis(1)).await;
    }
    api.ledger(
        &admin,
        "/api/v1/ledger/e/f?from=0",
        &line("new", "", "1", &["key"], "i"),
    )
    .await
    .expect(200);
    assert!(
        is_there(&api.store, i64::MAX).await,
        "the line was taken only when all was forgotten"
    );
    timeout(STUCK, forgetting).await.unwrap().unwrap().unwrap();
    assert_eq!(
        (
            lines(&api.store, "old").await,
            lines(&api.store, "new").await
        ),
        (0, 1)
    );
    api.was_well();
}

/// In PostgreSQL a day is dropped whole. While somebody goes on reading it, it stays, and nobody waits for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_intake_does_not_wait_for_a_day_that_is_read() {
    let database = TestDatabase::postgres().await;
    let api = Api::new(&database).await;
    let admin = api.person("root", Role::Admin).await;
    let day = OffsetDateTime::now_utc().date();
    let old = day - time::Duration::days(40);
    requests::make_room(&api.store, old).await.unwrap();
    let insert = format!(
        "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, group_id, model, outcome, line) VALUES ('{old}', 'e', 'old', 1, 1, 'old', '', 'g', 'm', 'done', '{{}}')"
    );
    database.execute(&insert).await.unwrap();
    // Somebody reads, and has not finished.
    let mut reader = api.store.read().await.unwrap();
    let asked = requests::RequestQuery {
        limit: 10,
        ..requests::RequestQuery::default()
    };
    assert_eq!(
        requests::recent(&mut reader, &asked)
            .await
            .unwrap()
            .lines
            .len(),
        1
    );
    let store = api.store.clone();
    let forgetting = tokio::spawn(async move { requests::forget(&store, day).await });
    // A new day begins, too.
    timeout(
        STUCK,
        requests::make_room(&api.store, day + time::Duration::days(5)),
    )
    .await
    .expect("a new day waits")
    .unwrap();
    let sent = line("new", "", "1", &["key"], "i");
    let taken = api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &sent);
    timeout(STUCK, taken)
        .await
        .expect("the intake waits")
        .expect(200);
    let later = timeout(STUCK, forgetting)
        .await
        .expect("it waits for ever")
        .unwrap();
    assert!(later.is_err(), "it is said that something stays");
    reader.rollback().await;
    requests::forget(&api.store, day).await.unwrap();
    assert_eq!(
        (
            lines(&api.store, "old").await,
            lines(&api.store, "new").await
        ),
        (0, 1)
    );
    api.was_well();
    database.drop().await;
}

on_both! {
    /// Deletes old rows of every table, and nothing else.
    async fn what_is_over_goes(database: &TestDatabase) {
        let store = database.open().await;
        let now = OffsetDateTime::now_utc();
        let at = |days: i64| (now - time::Duration::days(days)).unix_timestamp() * 1_000_000;
        let day = |days: i64| (now - time::Duration::days(days)).date().to_string();
        let (hour, fresh) = (at(0) - 3_600_000_000, at(-1));
        let mut sql = "INSERT INTO people VALUES ('p', 'P', 'admin', FALSE, 0, NULL, NULL);\n\
            INSERT INTO identity_providers VALUES ('i', 1, 'https://i.example', 'c', NULL, '{}', TRUE, 0);\n\
            INSERT INTO webhooks (id, kind, url, secret, thresholds, language, created_at) VALUES ('w', 'webhook', 'https://a.example', '', '[80]', 'en', 0);\n".to_owned();
        sql.push_str(&format!("INSERT INTO keys (sha256, id, group_id) VALUES ('{}', 'of', 'g');\n", "ab".repeat(32)));
        // (the row's name, whether it stays, the row)
        let mut wanted: Vec<String> = Vec::new();
        for (table, name, stays, values) in [
            ("idempotency", "answer-new", true, format!("'t', 'answer-new', '', 200, '', {hour}")),
            ("idempotency", "answer-old", false, format!("'t', 'answer-old', '', 200, '', {}", at(2))),
            ("sessions", "session-new", true, format!("'session-new', 'p', 'admin', 0, {hour}, {fresh}, NULL")),
            ("sessions", "session-expired", false, format!("'session-expired', 'p', 'admin', 0, {hour}, {hour}, NULL")),
            ("sessions", "session-idle", false, format!("'session-idle', 'p', 'admin', 0, {}, {fresh}, 'i'", at(1))),
            ("authorization_requests", "authorization-new", true, format!("'authorization-new', 'i', 'b', '/', {fresh}")),
            ("authorization_requests", "authorization-over", false, format!("'authorization-over', 'i', 'b', '/', {hour}")),
            ("ordered_keys", "order-of-long-ago", true, "'order-of-long-ago', 'p', '{}', 0".to_owned()),
            ("sign_in_links", "link-new", true, format!("'link-new', 'p', 0, {fresh}")),
            ("sign_in_links", "link-expired", false, format!("'link-expired', 'p', 0, {hour}")),
            ("device_grants", "grant-new", true, format!("'grant-new', 'BCDFGHJK', 'c', '', '', 5, 0, 'pending', NULL, NULL, NULL, NULL, 0, {fresh}")),
            ("device_grants", "grant-expired", false, format!("'grant-expired', 'BCDFGHJL', 'c', '', '', 5, 0, 'pending', NULL, NULL, NULL, NULL, 0, {hour}")),
            ("client_sign_ins", "sign-in-new", true, format!("'sign-in-new', 'p', 'r1', 'c', '', '', 1, 0, 0, 0, {fresh}")),
            ("client_sign_ins", "sign-in-over", false, format!("'sign-in-over', 'p', 'r2', 'c', '', '', 1, 0, 0, 0, {hour}")),
            ("sign_in_failures", "failure-new", true, format!("'failure-new', 1, {hour}, 0")),
            ("sign_in_failures", "failure-old", false, format!("'failure-old', 1, {}, 0", at(2))),
            ("api_tokens", "token-for-ever", true, "'token-for-ever', 'd1', 'p', '', '', NULL, 0, NULL".to_owned()),
            ("api_tokens", "token-good", true, format!("'token-good', 'd2', 'p', '', '', {fresh}, 0, NULL")),
            ("api_tokens", "token-just-expired", true, format!("'token-just-expired', 'd3', 'p', '', '', {}, 0, NULL", at(29))),
            ("api_tokens", "token-expired", false, format!("'token-expired', 'd4', 'p', '', '', {}, 0, NULL", at(31))),
            ("webhook_events", "message-today", true, format!("'w', 'key', 'k', '{}', 80, 'message-today', '', 1, NULL, 1, NULL", day(0))),
            ("webhook_events", "message-month", true, format!("'w', 'key', 'k', '{}', 80, 'message-month', '', 1, NULL, 1, NULL", &day(0)[..7])),
            ("webhook_events", "message-waiting", true, format!("'w', 'key', 'k', '{}', 80, 'message-waiting', '', 1, 5, NULL, NULL", day(200))),
            ("webhook_events", "message-delivered", false, format!("'w', 'key', 'k', '{}', 80, 'message-delivered', '', 1, NULL, 1, NULL", day(91))),
            ("webhook_events", "message-given-up", false, format!("'w', 'key', 'k', '{}', 100, 'message-given-up', '', 14, NULL, NULL, 'no'", day(91))),
            ("webhook_events", "message-unused", true, "'w', 'unused', 'of', 'since 2020', 0, 'message-unused', '', 1, NULL, 1, NULL".to_owned()),
            ("webhook_events", "message-of-no-key", false, "'w', 'unused', 'gone', 'since 2020', 0, 'message-of-no-key', '', 1, NULL, 1, NULL".to_owned()),
            ("nearly_spent", "nearly-today", true, format!("'{}', 'key', 'nearly-today'", day(0))),
            ("nearly_spent", "nearly-old", false, format!("'{}', 'key', 'nearly-old'", day(91))),
            ("audit", "audit-old", true, "1, 1, 'p', '', 'audit-old', '', NULL, NULL".to_owned()),
            ("spend", "spend-old", true, "'key', 'spend-old', '2020-01', 'USD', 0, 0, 0, 10, 0".to_owned()),
        ] {
            let columns = if table == "webhook_events" {
                " (receiver, kind, subject, period, threshold, id, body, attempts, next_at, delivered_at, problem)"
            } else {
                ""
            };
            let over = if table == "audit" && database.is_postgres() { " OVERRIDING SYSTEM VALUE" } else { "" };
            sql.push_str(&format!("INSERT INTO {table}{columns}{over} VALUES ({values});\n"));
            if stays {
                wanted.push(name.to_owned());
            }
        }
        database.execute(&sql).await.unwrap();
        let retention = Retention { removals: 30, requests: 30 };
        for turn in 0..2 {
            maintenance::run(&store, retention).await.unwrap();
            let dump = database.dump().await;
            let names = ["answer-", "grant-", "session-", "sign-in-", "order-", "authorization-", "link-", "failure-", "token-", "message-", "nearly-", "audit-", "spend-"];
            let mut left: Vec<String> = dump
                .split(|c: char| !(c.is_ascii_alphabetic() || c == '-'))
                .filter(|word| names.iter().any(|name| word.starts_with(name)))
                .map(str::to_owned)
                .collect();
            let mut wanted = wanted.clone();
            left.sort();
            wanted.sort();
            assert_eq!(left, wanted, "turn {turn}");
        }
    }
}
