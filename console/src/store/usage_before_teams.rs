//! Usage by hour as the release before keeps it, without teams: its rows are moved into the tables that have them.

use sqlx::AssertSqlSafe;

use super::erasures::{self, Pseudonyms};
use super::usage_days;
use super::usage_rows::{self, COLUMNS, UsageRows, joined, measures};
use super::{Store, StoreError, SumChange, Transaction, on_either};
use crate::in_transaction;

/// Its table.
pub const TABLE: &str = "usage_hours";

/// The rows that one transaction moves.
const STEP: usize = 1000;

/// Moves all rows, a bounded number in each transaction. A console of the release before may add more meanwhile.
///
/// # Errors
/// Those of the database; some may be moved.
pub async fn move_all(store: &Store) -> Result<(), StoreError> {
    while move_some(store).await? {}
    Ok(())
}

/// Moves some rows. Whether there were any.
///
/// # Errors
/// Those of the database; nothing is moved then.
pub async fn move_some(store: &Store) -> Result<bool, StoreError> {
    in_transaction!(store, transaction => step(transaction).await)
}

async fn step(transaction: &mut Transaction) -> Result<bool, StoreError> {
    // A console of the release before knows of no pseudonym.
    let pseudonyms = Pseudonyms::read(transaction).await?;
    let rows = take(transaction, None).await?;
    let is_more = !rows.is_empty();
    let rows = erasures::renamed(rows, |owner| pseudonyms.of(owner).map(str::to_owned))?;
    usage_days::change(transaction, &rows, SumChange::Add).await?;
    Ok(is_more)
}

/// Takes some rows away, of an owner or of all.
///
/// # Errors
/// Those of the database.
pub(super) async fn take(
    transaction: &mut Transaction,
    owner: Option<&str>,
) -> Result<UsageRows, StoreError> {
    let key: Vec<_> = COLUMNS.into_iter().filter(|name| *name != "team").collect();
    let key = key.join(", ");
    // Locked in the order in which the release before locks them.
    let (charge, lock) = match transaction {
        Transaction::Sqlite(..) => ("", ""),
        Transaction::Postgres(_) => ("::text", " FOR UPDATE"),
    };
    let columns = COLUMNS.map(|name| if name == "team" { "'' AS team" } else { name });
    let sql = format!(
        "DELETE FROM {TABLE} WHERE (hour, {key}) IN (SELECT hour, {key} FROM {TABLE} {of} ORDER BY hour, {key} LIMIT {STEP}{lock}) \
         RETURNING hour, {columns}, {counts}, charge{charge}, estimated_charge{charge}",
        columns = columns.join(", "),
        counts = joined(measures()),
        of = owner.map_or("", |_| "WHERE owner = $1"),
    );
    let mut rows = UsageRows::new();
    on_either!(transaction, connection => {
        let mut taken = sqlx::query(AssertSqlSafe(sql));
        if let Some(owner) = owner {
            taken = taken.bind(owner);
        }
        for row in taken.fetch_all(connection).await? {
            rows.insert(usage_rows::key(&row)?, usage_rows::totals(&row, COLUMNS.len().saturating_add(1))?);
        }
    });
    Ok(rows)
}
