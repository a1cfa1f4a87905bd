//! Sums of usage by all that it is looked at by. Whole days are read from `usage_days.rs`, what is left from hours.

use sqlx::{AssertSqlSafe, Row as _};

use super::usage_parts::{self, UsageParts};
use super::usage_windows::UsageWindows;
use super::{StoreError, Transaction, on_either, usage_days, usage_rows};
use crate::ledger::{Measure, Sum, UsageColumn};

/// A query for usage: sums by some columns, of some rows.
#[derive(Debug, Clone, Default)]
pub struct UsageQuery {
    /// The columns to group by, beside the currency. `day` and `month` are parts of the hour. Beside one that is a dimension
    /// there are only keys, owners, teams and whole days.
    pub by: Vec<UsageColumn>,
    /// From this hour on: `2026-11-24T00`.
    pub since: Option<String>,
    /// Before this hour.
    pub until: Option<String>,
    /// Of this key only.
    pub key: Option<String>,
    /// Of these values of the first column only.
    pub among: Option<Vec<String>>,
    /// Of this owner only.
    pub owner: Option<String>,
    /// Of this team only.
    pub team: Option<String>,
    /// Of this group only.
    pub group: Option<String>,
    /// Of this model only.
    pub model: Option<String>,
    /// Of this upstream account only.
    pub account: Option<String>,
    /// Rows after the one with these values, the currency last.
    pub after: Option<Vec<String>>,
    /// At most so many rows.
    pub limit: i64,
}

impl UsageQuery {
    /// The dimension that it looks at: the name of a column.
    pub(super) fn dimension(&self) -> Option<&str> {
        let column = self.by.iter().find(|column| column.is_dimension());
        column.map(UsageColumn::name)
    }

    /// Whether it looks at keys, owners or teams. What does not is read where all of them are added up.
    pub(super) fn is_of_keys(&self) -> bool {
        let of = [UsageColumn::Key, UsageColumn::Owner, UsageColumn::Team];
        let is_filtered = [&self.key, &self.owner, &self.team]
            .into_iter()
            .any(Option::is_some);
        is_filtered || of.iter().any(|column| self.by.contains(column))
    }
}

/// Returns the SQL expression of a column in a row of hours. No row has a status.
pub(super) fn expression(column: &UsageColumn) -> &str {
    match column {
        UsageColumn::Day => "substr(hour, 1, 10)",
        UsageColumn::Month => "substr(hour, 1, 7)",
        UsageColumn::Key => "key_id",
        UsageColumn::Group => "group_id",
        UsageColumn::Status => "''",
        column if column.is_dimension() => "value",
        other => other.name(),
    }
}

/// Sums of rows with the same values.
#[derive(Debug, Clone)]
pub struct UsageSums {
    /// The values that were asked for, in their order.
    pub values: Vec<String>,
    /// The currency of the charges; empty if there are none.
    pub currency: String,
    /// The counts, in the order of [`Measure::ALL`].
    pub counts: Vec<u64>,
    /// The charges.
    pub charge: Sum,
    /// The part of them that is estimated.
    pub estimated_charge: Sum,
    /// The part of them whose cost is known.
    pub costed_charge: Sum,
    /// The costs of that part.
    pub cost: Sum,
}

/// Sums, in the order of their values. The transaction is one that reads all of one state.
///
/// # Errors
/// Those of the database.
pub async fn sums(
    transaction: &mut Transaction,
    asked: &UsageQuery,
) -> Result<Vec<UsageSums>, StoreError> {
    for until in UsageWindows::of(transaction, asked).await? {
        let within = UsageQuery {
            until: Some(until),
            ..asked.clone()
        };
        let found = all_sums(transaction, &within).await?;
        if i64::try_from(found.len()).is_ok_and(|count| count >= asked.limit) {
            return Ok(found);
        }
    }
    all_sums(transaction, asked).await
}

async fn all_sums(
    transaction: &mut Transaction,
    asked: &UsageQuery,
) -> Result<Vec<UsageSums>, StoreError> {
    let to = usage_days::rolled_up(transaction).await?;
    let parts = UsageParts::of(asked);
    let (sql, values) = usage_parts::statement(asked, &parts, &to);
    let mut sums = Vec::new();
    on_either!(transaction, connection => {
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for value in values {
            query = query.bind(value);
        }
        for row in &query.fetch_all(connection).await? {
            let mut values = Vec::with_capacity(asked.by.len());
            for place in 0..asked.by.len() {
                values.push(row.try_get(place)?);
            }
            let totals = usage_rows::totals(row, asked.by.len().saturating_add(1))?;
            let count = |measure| u64::try_from(totals.count(measure)).unwrap_or(u64::MAX);
            sums.push(UsageSums {
                values,
                currency: row.try_get(asked.by.len())?,
                counts: Measure::ALL.into_iter().map(count).collect(),
                charge: totals.charge,
                estimated_charge: totals.estimated_charge,
                costed_charge: totals.costed_charge,
                cost: totals.cost,
            });
        }
    });
    Ok(sums)
}
