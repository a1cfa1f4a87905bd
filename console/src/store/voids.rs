//! Times of which the lines of an Envoy are void.

use sqlx::AssertSqlSafe;

use super::{StoreError, Transaction, execute, fetch, on_either};

/// A time of which the lines of an Envoy are void. Moments are microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoidRange {
    /// The Envoy.
    pub envoy: String,
    /// The beginnings of requests: from this moment on.
    pub since: i64,
    /// Before this moment.
    pub until: i64,
    /// The time at which the lines were made void, in microseconds since 1970.
    pub begun_at: i64,
    /// Up to where lines that had been counted are taken away.
    pub place: i64,
    /// The number of lines that were subtracted.
    pub lines: i64,
    /// The time at which all lines had been subtracted; `None`: it is going on.
    pub ended_at: Option<i64>,
}

const COLUMNS: &str = "envoy_id, since, until, begun_at, place, lines, ended_at";

type VoidRangeRow = (String, i64, i64, i64, i64, i64, Option<i64>);

fn of(row: VoidRangeRow) -> VoidRange {
    VoidRange {
        envoy: row.0,
        since: row.1,
        until: row.2,
        begun_at: row.3,
        place: row.4,
        lines: row.5,
        ended_at: row.6,
    }
}

/// Makes a time void, again where it was. Nobody takes lines in until the transaction ends
/// ([`erasures::lock`](super::erasures::lock)).
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    envoy: &str,
    (since, until): (i64, i64),
    now: i64,
) -> Result<VoidRange, StoreError> {
    let sql = format!(
        "INSERT INTO void_ranges ({COLUMNS}) VALUES ($1, $2, $3, $4, $2, 0, NULL) \
         ON CONFLICT (envoy_id, since, until) DO UPDATE SET place = excluded.place, ended_at = NULL RETURNING {COLUMNS}"
    );
    let row: VoidRangeRow = on_either!(transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(envoy).bind(since).bind(until);
        query.bind(now).fetch_one(connection).await?
    });
    Ok(of(row))
}

/// The times of an Envoy: each from a moment on, and before another.
///
/// # Errors
/// Those of the database.
pub async fn times_of(
    transaction: &mut Transaction,
    envoy: &str,
) -> Result<Vec<(i64, i64)>, StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT since, until FROM void_ranges WHERE envoy_id = $1",
        (envoy)
    ))
}

/// The times of an Envoy after one, in their order.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    envoy: &str,
    (since, until): (i64, i64),
    limit: i64,
) -> Result<Vec<VoidRange>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM void_ranges WHERE envoy_id = $1 AND (since, until) > ($2, $3) ORDER BY since, until LIMIT $4"
    );
    let rows: Vec<VoidRangeRow> = on_either!(transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(envoy).bind(since).bind(until);
        query.bind(limit).fetch_all(connection).await?
    });
    Ok(rows.into_iter().map(of).collect())
}

/// The times whose lines are not all taken away.
///
/// # Errors
/// Those of the database.
pub async fn unfinished(transaction: &mut Transaction) -> Result<Vec<VoidRange>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM void_ranges WHERE ended_at IS NULL ORDER BY begun_at");
    let rows: Vec<VoidRangeRow> = fetch!(transaction, query_as.fetch_all, AssertSqlSafe(sql), ());
    Ok(rows.into_iter().map(of).collect())
}

/// A time whose lines are not all taken away, locked until the transaction ends; `None`: they are.
///
/// # Errors
/// Those of the database.
pub async fn lock(
    transaction: &mut Transaction,
    range: &VoidRange,
) -> Result<Option<VoidRange>, StoreError> {
    let sql = format!(
        "UPDATE void_ranges SET place = place WHERE envoy_id = $1 AND since = $2 AND until = $3 AND ended_at IS NULL \
         RETURNING {COLUMNS}"
    );
    let row: Option<VoidRangeRow> = on_either!(transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(&range.envoy).bind(range.since);
        query.bind(range.until).fetch_optional(connection).await?
    });
    Ok(row.map(of))
}

/// Notes how far a time is that is locked.
///
/// # Errors
/// Those of the database.
pub async fn set(transaction: &mut Transaction, range: &VoidRange) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE void_ranges SET place = $4, lines = $5, ended_at = $6 WHERE envoy_id = $1 AND since = $2 AND until = $3",
        (
            &range.envoy,
            range.since,
            range.until,
            range.place,
            range.lines,
            range.ended_at
        )
    )
}
