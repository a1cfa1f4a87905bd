//! Who used the most: the few greatest of a column, so that a page need not read all.

use sqlx::AssertSqlSafe;

use super::conditions::Conditions;
use super::usage_before_teams;
use super::usage_hours::UsageColumn;
use super::usage_rows::UsageTable;
use super::{StoreError, Transaction, on_either};

/// What is ranked.
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
    /// How many.
    pub limit: i64,
}

/// The values whose charges are the greatest, the greatest first; those with the same charge by requests.
///
/// SQLite ranks by rounded sums: this is about places, and whoever shows amounts reads the exact ones.
///
/// # Errors
/// Those of the database.
pub async fn values(
    transaction: &mut Transaction,
    asked: &TopQuery<'_>,
) -> Result<Vec<String>, StoreError> {
    let (charge, collate) = match transaction {
        Transaction::Sqlite(..) => ("CAST(charge AS REAL)", ""),
        Transaction::Postgres(_) => ("charge", " COLLATE \"C\""),
    };
    let rows_of = Conditions::default()
        .and("currency =", Some(asked.currency))
        .and("hour >=", asked.since)
        .and("hour <", asked.until)
        .and("owner =", asked.owner);
    // Rows that are not moved yet have no team.
    let of = |table: &str, column: &str| {
        let rows_of = rows_of.sql();
        format!("SELECT {column}{collate} AS value, charge, \"requests\" FROM {table} {rows_of}")
    };
    let column = asked.by.expression();
    let before = match asked.by {
        UsageColumn::Team => "''",
        _ => column,
    };
    let sql = format!(
        "SELECT value FROM ({hours} UNION ALL {before}) AS used \
         GROUP BY value ORDER BY sum({charge}) DESC, sum(\"requests\") DESC, value LIMIT {limit}",
        hours = of(UsageTable::Hours.name(), column),
        before = of(usage_before_teams::TABLE, before),
        limit = asked.limit,
    );
    Ok(on_either!(transaction, connection => {
        let mut query = sqlx::query_scalar(AssertSqlSafe(sql));
        for value in rows_of.values() {
            query = query.bind(*value);
        }
        query.fetch_all(connection).await?
    }))
}
