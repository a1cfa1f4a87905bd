//! The ranking of usage: the few greatest values of a column, so that a page need not read all.

use sqlx::AssertSqlSafe;

use super::conditions::Conditions;
use super::sum_table::amount_columns;
use super::usage_hours::UsageQuery;
use super::usage_parts::{self, UsageParts};
use super::{StoreError, Transaction, fetch, usage_days};
use crate::ledger::{Measure, UsageColumn};

/// A query for a ranking.
#[derive(Debug, Clone)]
pub struct TopQuery<'a> {
    /// The column.
    pub by: UsageColumn,
    /// From this hour on: `2026-11-24T00`.
    pub since: Option<&'a str>,
    /// Before this hour.
    pub until: Option<&'a str>,
    /// Of this owner only.
    pub owner: Option<&'a str>,
    /// Charges in this currency.
    pub currency: &'a str,
    /// The number of ranks.
    pub limit: i64,
}

impl TopQuery<'_> {
    /// The usage that is ranked.
    fn usage(&self) -> UsageQuery {
        UsageQuery {
            by: vec![self.by.clone()],
            since: self.since.map(str::to_owned),
            until: self.until.map(str::to_owned),
            owner: self.owner.map(str::to_owned),
            ..UsageQuery::default()
        }
    }
}

/// Whether a ranking would read more rows than these. No more than these are counted.
///
/// # Errors
/// Those of the database.
pub async fn has_more_rows(
    transaction: &mut Transaction,
    asked: &TopQuery<'_>,
    most: i64,
) -> Result<bool, StoreError> {
    let to = usage_days::rolled_up(transaction).await?;
    let query = asked.usage();
    let parts = UsageParts::of(&query);
    let read = ["1 AS one".to_owned()];
    let (rows, values) = usage_parts::rows_of_parts(&query, &parts, &to, &read, "");
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM ({rows}) AS parts LIMIT {}) AS counted",
        most.saturating_add(1)
    );
    let count: i64 = fetch!(
        transaction,
        query_scalar.fetch_one,
        AssertSqlSafe(sql),
        [..values.iter().copied()]
    );
    Ok(count > most)
}

/// The values whose charges are the greatest, the greatest first; those with the same charge by requests.
///
/// SQLite ranks by rounded sums: this is about places, and those who show amounts read the exact ones.
///
/// # Errors
/// Those of the database.
pub async fn values(
    transaction: &mut Transaction,
    asked: &TopQuery<'_>,
) -> Result<Vec<String>, StoreError> {
    let to = usage_days::rolled_up(transaction).await?;
    let query = asked.usage();
    let parts = UsageParts::of(&query);
    let charge = amount_columns("charge");
    let requests = format!("\"{}\"", Measure::Requests.name());
    let columns: Vec<_> = charge.iter().cloned().chain([requests.clone()]).collect();
    // Added up once, not in each part and then again.
    let (rows, values) = usage_parts::rows_of_parts(&query, &parts, &to, &columns, "");
    let rows_of = Conditions::numbered_behind(values.len()).and("c2 =", Some(asked.currency));
    let amount = charge.iter().zip(0_usize..);
    let amount = amount
        .map(|(name, place)| format!("sum({name}) * 1{}", "0".repeat(place.saturating_mul(6))));
    let amount = amount.collect::<Vec<_>>().join(" + ");
    let sql = format!(
        "SELECT c1 FROM ({rows}) AS parts {rows_of} \
         GROUP BY c1 ORDER BY {amount} DESC, sum({requests}) DESC, c1 LIMIT {limit}",
        rows_of = rows_of.sql(),
        limit = asked.limit,
    );
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        AssertSqlSafe(sql),
        [..values.iter().chain(rows_of.values()).copied()]
    ))
}
