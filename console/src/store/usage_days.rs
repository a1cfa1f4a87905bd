//! Usage by day, rolled up from usage by hour.
//!
//! All that is rolled up comes before one place in the order of the hours' rows, or stands at it. Whoever reads adds the days and
//! the hours behind the place. Lines that come late, whose rows come before it, are added to both at once.
//!
//! In PostgreSQL whoever adds to hours shares a lock that whoever moves the place has alone, so that both know of the same place.

use sqlx::AssertSqlSafe;
use time::{Duration, OffsetDateTime};

use super::usage_rows::{self, COLUMNS, UsageKey, UsageRows, UsageTable, joined};
use super::{Store, StoreError, SumChange, Transaction, fetch, on_either};
use crate::{in_transaction, timestamp};

/// The lock of PostgreSQL.
const LOCK: i64 = 0x0074_7269_6c61_6e67;
/// The longest wait for the lock to move the place. Writers that add rows wait behind it meanwhile.
const WAIT: &str = "SET LOCAL lock_timeout = '200ms'";

/// The delay between the end of an hour and its roll-up: most of its lines come earlier.
const LATER: Duration = Duration::minutes(5);
/// The rows of hours that one transaction rolls up, beside what else their last hour has of its last key.
const STEP: usize = 1000;

/// The place: an hour, and the id of a key within it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RolledUp(pub [String; 2]);

/// The place, as it is in the state that a transaction sees.
///
/// # Errors
/// Those of the database.
pub async fn rolled_up(transaction: &mut Transaction) -> Result<RolledUp, StoreError> {
    let (hour, key) = fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT hour, key_id FROM usage_by_day_to",
        ()
    );
    Ok(RolledUp([hour, key]))
}

/// Keeps the place where it is until the transaction ends.
///
/// # Errors
/// Those of the database.
pub(super) async fn share_place(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("SELECT pg_advisory_xact_lock_shared($1)")
            .bind(LOCK)
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// Adds sums by hour, to their days too where these are rolled up; or takes them away.
///
/// # Errors
/// Those of the database.
pub async fn change(
    transaction: &mut Transaction,
    hours: &UsageRows,
    change: SumChange,
) -> Result<(), StoreError> {
    if hours.is_empty() {
        return Ok(());
    }
    share_place(transaction).await?;
    // A statement of its own: it sees what was committed before the lock was given.
    let RolledUp([last_hour, last_key]) = rolled_up(transaction).await?;
    let is_late = |[hour, key, ..]: &UsageKey| (hour, key) <= (&last_hour, &last_key);
    let late = hours.iter().filter(|(key, _)| is_late(key));
    let late = late
        .map(|(key, totals)| (key.clone(), totals.clone()))
        .collect();
    for (table, rows) in [
        (UsageTable::Hours, hours),
        (UsageTable::Days, &late),
        (UsageTable::HoursOfAll, hours),
        (UsageTable::DaysOfAll, hours),
    ] {
        usage_rows::change(transaction, table, rows, change).await?;
    }
    Ok(())
}

/// Rolls up the hours that are over, a bounded number of rows in each transaction. Several consoles may do it at once.
///
/// # Errors
/// Those of the database; some may be rolled up.
pub async fn roll_up(store: &Store, now: OffsetDateTime) -> Result<(), StoreError> {
    let until = over(now);
    while roll_up_some(store, &until).await? {}
    Ok(())
}

/// The hour before which hours are over, and most of their lines have come.
pub(super) fn over(now: OffsetDateTime) -> String {
    timestamp::hour(now.checked_sub(LATER).unwrap_or(now))
}

/// Rolls up the next rows of hours before an hour. Whether there were any.
///
/// # Errors
/// Those of the database; nothing is rolled up then.
pub async fn roll_up_some(store: &Store, until: &str) -> Result<bool, StoreError> {
    in_transaction!(store, transaction => step(transaction, until).await)
}

/// Takes the lock to move the place, until the transaction ends.
///
/// # Errors
/// [`StoreError::Conflict`]: somebody adds rows for longer than it is waited for.
pub(super) async fn lock_place(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query(WAIT).execute(&mut **inner).await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(LOCK)
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

async fn step(transaction: &mut Transaction, until: &str) -> Result<bool, StoreError> {
    lock_place(transaction).await?;
    let RolledUp([from_hour, from_key]) = rolled_up(transaction).await?;
    let behind = "hour >= $1 AND (hour, key_id) > ($1, $2) AND hour < $3";
    let last = format!(
        "SELECT hour, key_id FROM (SELECT hour, key_id FROM usage_by_hour WHERE {behind} ORDER BY hour, key_id LIMIT {STEP}) AS next \
         ORDER BY hour DESC, key_id DESC LIMIT 1"
    );
    let last: Option<(String, String)> = on_either!(transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(last)).bind(&from_hour).bind(&from_key);
        query.bind(until).fetch_optional(connection).await?
    });
    let Some((hour, key)) = last else {
        return Ok(false);
    };
    let days = UsageTable::Days.sums();
    let sums = days.sums().into_iter().map(|name| format!("sum({name})"));
    let rolled_up = format!(
        "{into} SELECT substr(hour, 1, 10), {columns}, {sums} FROM usage_by_hour \
         WHERE {behind} AND (hour, key_id) <= ($4, $5) GROUP BY substr(hour, 1, 10), {columns} \
         ORDER BY substr(hour, 1, 10), {columns} {added}",
        into = days.insert(),
        columns = COLUMNS.join(", "),
        sums = joined(sums),
        added = days.added(),
    );
    on_either!(&mut *transaction, connection => {
        let rolled_up = sqlx::query(AssertSqlSafe(rolled_up)).bind(&from_hour).bind(&from_key);
        rolled_up.bind(until).bind(&hour).bind(&key).execute(connection).await?;
    });
    on_either!(transaction, connection => {
        let moved = sqlx::query("UPDATE usage_by_day_to SET hour = $1, key_id = $2");
        moved.bind(&hour).bind(&key).execute(connection).await?;
    });
    Ok(true)
}
