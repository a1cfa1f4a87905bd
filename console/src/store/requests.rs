//! Recent lines of the ledger.

use core::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Postgres};
use time::{Date, Duration};

use super::old_rows::{Cutoff, OldRows};
use super::sqlite_rows::{self, ROWS};
use super::{Engine, Store, StoreError, Transaction, on_either};
use crate::in_transaction;

/// A line, and what it is looked for by. Texts are empty where it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// The Envoy that wrote it.
    pub envoy_id: String,
    /// The file in which it stands.
    pub file_id: String,
    /// Where it begins in its file.
    pub position: i64,
    /// When the request began, in microseconds since 1970.
    pub at: i64,
    /// The key's id.
    pub key_id: String,
    /// Whose the key is.
    pub owner: String,
    /// The key's group.
    pub group_id: String,
    /// The model.
    pub model: String,
    /// How it ended.
    pub outcome: String,
    /// The line.
    pub line: String,
}

/// The lock of PostgreSQL that whoever makes or drops a partition holds.
const LOCK: i64 = 0x0074_7269_6c61_6e66;

/// Makes room for lines that are taken on this day and the next.
///
/// # Errors
/// Those of the database.
pub async fn make_room(store: &Store, today: Date) -> Result<(), StoreError> {
    let Engine::Postgres { room, .. } = &store.engine else {
        return Ok(());
    };
    if room.load(Ordering::Relaxed) == today.to_julian_day() {
        return Ok(());
    }
    let made: Result<(), StoreError> =
        in_transaction!(store, transaction => make_partitions(transaction, today).await);
    made?;
    room.store(today.to_julian_day(), Ordering::Relaxed);
    Ok(())
}

async fn make_partitions(transaction: &mut Transaction, today: Date) -> Result<(), StoreError> {
    let Transaction::Postgres(inner) = transaction else {
        return Ok(());
    };
    lock_partitions(inner).await?;
    let days = [Some(today), today.checked_add(Duration::DAY)];
    for day in days.into_iter().flatten() {
        let name = partition(day);
        let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(&name)
            .fetch_one(&mut **inner)
            .await?;
        if exists {
            continue;
        }
        // Made by itself and then attached: that waits for nobody who reads or writes lines, and nobody waits for it.
        for statement in [
            format!("CREATE TABLE {name} (LIKE requests INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"),
            format!("ALTER TABLE requests ATTACH PARTITION {name} FOR VALUES IN ('{day}')"),
        ] {
            sqlx::query(AssertSqlSafe(statement))
                .execute(&mut **inner)
                .await?;
        }
    }
    Ok(())
}

/// One console after the other makes partitions and drops them.
async fn lock_partitions(
    inner: &mut sqlx::Transaction<'static, Postgres>,
) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut **inner)
        .await?;
    Ok(())
}

/// The name of a day's partition.
fn partition(day: Date) -> String {
    format!("requests_{}", day.to_string().replace('-', "_"))
}

/// Adds lines.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    today: Date,
    lines: &[RequestLine],
) -> Result<(), StoreError> {
    let day = today.to_string();
    match transaction {
        Transaction::Sqlite(inner, _) => {
            for lines in lines.chunks(ROWS) {
                let sql = format!(
                    "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, group_id, model, outcome, line) {}",
                    sqlite_rows::values(lines.len(), 11),
                );
                let mut insert = sqlx::query(AssertSqlSafe(sql)).persistent(lines.len() == ROWS);
                for line in lines {
                    insert = insert
                        .bind(&day)
                        .bind(&line.envoy_id)
                        .bind(&line.file_id)
                        .bind(line.position)
                        .bind(line.at)
                        .bind(&line.key_id)
                        .bind(&line.owner)
                        .bind(&line.group_id)
                        .bind(&line.model)
                        .bind(&line.outcome)
                        .bind(&line.line);
                }
                insert.execute(&mut **inner).await?;
            }
        }
        Transaction::Postgres(inner) => {
            let texts = |of: fn(&RequestLine) -> &str| lines.iter().map(of).collect::<Vec<_>>();
            sqlx::query(
                "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, group_id, model, outcome, line) \
                 SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], \
                   $9::text[], $10::text[], $11::text[])",
            )
            .bind(&day)
            .bind(texts(|line| &line.envoy_id))
            .bind(texts(|line| &line.file_id))
            .bind(lines.iter().map(|line| line.position).collect::<Vec<_>>())
            .bind(lines.iter().map(|line| line.at).collect::<Vec<_>>())
            .bind(texts(|line| &line.key_id))
            .bind(texts(|line| &line.owner))
            .bind(texts(|line| &line.group_id))
            .bind(texts(|line| &line.model))
            .bind(texts(|line| &line.outcome))
            .bind(texts(|line| &line.line))
            .execute(&mut **inner)
            .await?;
        }
    }
    Ok(())
}

/// Where a line stands among all, by time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlace(i64, String, String, i64);

impl RequestLine {
    /// Where it stands among all.
    pub fn place(&self) -> RequestPlace {
        RequestPlace(
            self.at,
            self.envoy_id.clone(),
            self.file_id.clone(),
            self.position,
        )
    }
}

/// Which lines are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestQuery<'a> {
    /// Of this key only.
    pub key: Option<&'a str>,
    /// Of this owner only.
    pub owner: Option<&'a str>,
    /// Before this place.
    pub before: Option<&'a RequestPlace>,
    /// At most so many.
    pub limit: i64,
}

/// The latest lines.
///
/// # Errors
/// Those of the database.
pub async fn recent(
    transaction: &mut Transaction,
    asked: &RequestQuery<'_>,
) -> Result<Vec<RequestLine>, StoreError> {
    type Row = (
        String,
        String,
        i64,
        i64,
        String,
        String,
        String,
        String,
        String,
        String,
    );
    let first = RequestPlace(i64::MAX, String::new(), String::new(), 0);
    let before = asked.before.unwrap_or(&first);
    // Only the conditions that are asked for: a database uses no index for one that may be off.
    let conditions = [("key_id", asked.key), ("owner", asked.owner)];
    let of: String = (5..)
        .zip(conditions.iter().filter(|(_, value)| value.is_some()))
        .map(|(place, (column, _)): (u32, _)| format!(" AND {column} = ${place}"))
        .collect();
    let sql = format!(
        "SELECT envoy_id, file_id, position, at, key_id, owner, group_id, model, outcome, line FROM requests \
         WHERE (at, envoy_id, file_id, position) < ($1, $2, $3, $4){of} \
         ORDER BY at DESC, envoy_id DESC, file_id DESC, position DESC LIMIT {}",
        asked.limit,
    );
    let rows: Vec<Row> = on_either!(transaction, connection => {
        let mut query = sqlx::query_as(AssertSqlSafe(sql));
        query = query.bind(before.0).bind(&before.1).bind(&before.2).bind(before.3);
        for value in conditions.iter().filter_map(|(_, value)| *value) {
            query = query.bind(value);
        }
        query.fetch_all(connection).await?
    });
    let lines = rows.into_iter().map(|row| RequestLine {
        envoy_id: row.0,
        file_id: row.1,
        position: row.2,
        at: row.3,
        key_id: row.4,
        owner: row.5,
        group_id: row.6,
        model: row.7,
        outcome: row.8,
        line: row.9,
    });
    Ok(lines.collect())
}

/// In SQLite: lines that were taken before a day.
const OLD: OldRows = OldRows {
    table: "requests",
    key: "rowid",
    condition: "taken_on < $1",
    lock: None,
};

/// How long a partition is waited for that is in use. Whoever comes meanwhile waits behind, the intake too.
const WAIT: &str = "SET LOCAL lock_timeout = '200ms'";

/// Forgets the lines that were taken before a day. Sums stay.
///
/// # Errors
/// Those of the database; some may be forgotten. [`StoreError::Conflict`]: somebody goes on reading what is to go.
pub async fn forget(store: &Store, before: Date) -> Result<(), StoreError> {
    if let Engine::Sqlite { .. } = &store.engine {
        OLD.delete(store, &Cutoff::Period(before.to_string()))
            .await?;
        return Ok(());
    }
    for name in partitions(store, &partition(before)).await? {
        let dropped: Result<(), StoreError> =
            in_transaction!(store, transaction => drop_partition(transaction, &name).await);
        dropped?;
    }
    Ok(())
}

/// The partitions of days before that of a name, the oldest first.
async fn partitions(store: &Store, before: &str) -> Result<Vec<String>, StoreError> {
    let mut transaction = store.read().await?;
    let names = match &mut transaction {
        Transaction::Sqlite(..) => Vec::new(),
        Transaction::Postgres(inner) => {
            sqlx::query_scalar(
                "SELECT relid::text FROM pg_partition_tree('requests') WHERE isleaf AND relid::text < $1 COLLATE \"C\" \
                 ORDER BY relid::text COLLATE \"C\"",
            )
            .bind(before)
            .fetch_all(&mut **inner)
            .await?
        }
    };
    transaction.rollback().await;
    Ok(names)
}

async fn drop_partition(transaction: &mut Transaction, name: &str) -> Result<(), StoreError> {
    let Transaction::Postgres(inner) = transaction else {
        return Ok(());
    };
    lock_partitions(inner).await?;
    sqlx::query(WAIT).execute(&mut **inner).await?;
    // Another console may have dropped it.
    let drop = format!("DROP TABLE IF EXISTS {name}");
    sqlx::query(AssertSqlSafe(drop))
        .execute(&mut **inner)
        .await?;
    Ok(())
}
