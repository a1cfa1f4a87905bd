//! Counts by hour that answer how soon responses began, and how attempts at upstream accounts ended. Both tables are bounded: by
//! the names of a document, and by kinds and bounds that are fixed here.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::AssertSqlSafe;

use super::conditions::Conditions;
use super::sum_table::{SumRow, SumTable};
use super::{StoreError, SumChange, Transaction, fetch};

/// The bounds that first bytes are counted by, in milliseconds. The last one has what took longer, too.
pub const BOUNDS: [i64; 22] = [
    50, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 7_500, 10_000,
    15_000, 20_000, 30_000, 60_000, 120_000, 3_600_000,
];

/// The narrowest bound for a time in microseconds.
pub fn bound(microseconds: u64) -> i64 {
    let is_within = |bound: &i64| {
        let bound = u64::try_from(*bound).unwrap_or_default();
        microseconds <= bound.saturating_mul(1000)
    };
    let last = BOUNDS.last().copied().unwrap_or_default();
    BOUNDS.into_iter().find(is_within).unwrap_or(last)
}

/// First bytes: hour, model, account, bound.
pub type FirstByteKey = (String, String, String, i64);
/// Attempts: hour, source, account, how they ended.
pub type AttemptKey = [String; 4];

/// Adds counts of first bytes, or takes them away.
///
/// # Errors
/// Those of the database.
pub async fn change_first_bytes(
    transaction: &mut Transaction,
    counts: &BTreeMap<FirstByteKey, i64>,
    change: SumChange,
) -> Result<(), StoreError> {
    let bounds: Vec<_> = counts.keys().map(|key| key.3.to_string()).collect();
    let rows = counts.iter().zip(&bounds);
    let rows = rows.map(|(((hour, model, account, _), count), bound)| SumRow {
        key: vec![hour, model, account, bound],
        counts: vec![*count],
        amounts: Vec::new(),
    });
    let rows: Vec<_> = rows.collect();
    let table = counted(
        "first_byte_hours",
        &["hour", "model", "account", "within_ms"],
        1,
    );
    table.change(transaction, &rows, change).await
}

/// Adds counts of attempts, or takes them away.
///
/// # Errors
/// Those of the database.
pub async fn change_attempts(
    transaction: &mut Transaction,
    counts: &BTreeMap<AttemptKey, i64>,
    change: SumChange,
) -> Result<(), StoreError> {
    let rows = counts.iter().map(|(key, count)| SumRow {
        key: key.iter().map(String::as_str).collect(),
        counts: vec![*count],
        amounts: Vec::new(),
    });
    let rows: Vec<_> = rows.collect();
    let table = counted(ATTEMPTS, &["hour", "source", "account", "ended"], 0);
    table.change(transaction, &rows, change).await
}

/// The table of attempts.
const ATTEMPTS: &str = "attempt_hours";

/// A table of counts by hour.
fn counted(name: &'static str, key: &[&'static str], numbers: usize) -> SumTable {
    SumTable {
        name,
        key: key.to_vec(),
        numbers,
        counts: vec!["count".to_owned()],
        amounts: &[],
    }
}

/// A column that both are grouped by, beside a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountColumn {
    /// The model: of first bytes only.
    Model,
    /// The upstream account.
    Account,
    /// The source: of attempts only.
    Source,
}

impl CountColumn {
    /// Returns the name, as the API has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Account => "account",
            Self::Source => "source",
        }
    }
}

/// The grouping and filters of a query for counts.
#[derive(Debug, Clone, Default)]
pub struct CountQuery<'a> {
    /// The number of characters of the hour that make a period: 13, 10 or 7; 0 for all time.
    pub period: u8,
    /// The other column to group by.
    pub by: Option<CountColumn>,
    /// From this hour on.
    pub since: Option<&'a str>,
    /// Before this hour.
    pub until: Option<&'a str>,
    /// Of this account only.
    pub account: Option<&'a str>,
    /// At most so many rows.
    pub limit: i64,
}

/// A period, the value of the column, the source of an account's attempts, the bound or the end, and how many.
pub type Counted<T> = (String, String, String, T, i64);

/// Counts of first bytes by period, column and bound, in this order.
///
/// # Errors
/// Those of the database.
pub async fn first_bytes(
    transaction: &mut Transaction,
    asked: &CountQuery<'_>,
) -> Result<Vec<Counted<i64>>, StoreError> {
    let (sql, values) = select(transaction, "first_byte_hours", "within_ms", asked);
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        [..values]
    ))
}

/// Counts of attempts by period, column and end, in this order.
///
/// # Errors
/// Those of the database.
pub async fn attempts(
    transaction: &mut Transaction,
    asked: &CountQuery<'_>,
) -> Result<Vec<Counted<String>>, StoreError> {
    let (sql, values) = select(transaction, ATTEMPTS, "ended", asked);
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        [..values]
    ))
}

fn select<'a>(
    transaction: &Transaction,
    table: &str,
    kind: &str,
    asked: &CountQuery<'a>,
) -> (String, Vec<&'a str>) {
    let rows_of = Conditions::default()
        .and("hour >=", asked.since)
        .and("hour <", asked.until)
        .and("account =", asked.account);
    let collate = match transaction {
        Transaction::Sqlite(..) => "",
        // As SQLite and Rust order texts: by their bytes.
        Transaction::Postgres(_) => " COLLATE \"C\"",
    };
    let column = asked.by.map_or("''", CountColumn::name);
    // Accounts of several sources may have one id.
    let source = match (table, asked.by) {
        (ATTEMPTS, Some(CountColumn::Account)) => "source",
        _ => "''",
    };
    let sql = format!(
        "SELECT period, name, source, kind, CAST(sum(count) AS BIGINT) FROM \
         (SELECT substr(hour, 1, {length}){collate} AS period, {column}{collate} AS name, {source}{collate} AS source, {kind} AS kind, count \
         FROM {table} {rows_of}) AS counts \
         GROUP BY period, name, source, kind ORDER BY period, name, source, kind LIMIT {limit}",
        length = asked.period,
        limit = asked.limit,
        rows_of = rows_of.sql(),
    );
    (sql, rows_of.values().to_vec())
}

/// The source groups and accounts that have answered a request since an hour, or a day.
///
/// # Errors
/// Those of the database.
pub async fn answering_since(
    transaction: &mut Transaction,
    hour: &str,
) -> Result<BTreeSet<(String, String)>, StoreError> {
    let rows: Vec<(String, String)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT DISTINCT source, account FROM attempt_hours WHERE hour >= $1 AND ended = 'answered'",
        (hour)
    );
    Ok(rows.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        assert!(BOUNDS.is_sorted());
        for (microseconds, want) in [
            (0, 50),
            (50_000, 50),
            (50_001, 100),
            (812_000, 1_000),
            (7_200_000_000, 3_600_000),
        ] {
            assert_eq!(bound(microseconds), want, "{microseconds}");
        }
    }
}
