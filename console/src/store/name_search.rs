//! People and teams that have a text in their id or name.

use sqlx::AssertSqlSafe;

use super::key_lists::pattern;
use super::{StoreError, Transaction, fetch};

/// The ids and names of people with a text in one of the two, in the order of their ids, so many at most.
///
/// # Errors
/// Those of the database.
pub async fn people(
    transaction: &mut Transaction,
    text: &str,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    having(transaction, "people", text, limit).await
}

/// The same of teams.
///
/// # Errors
/// Those of the database.
pub async fn teams(
    transaction: &mut Transaction,
    text: &str,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    having(transaction, "teams", text, limit).await
}

async fn having(
    transaction: &mut Transaction,
    table: &str,
    text: &str,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    let collation = transaction.collation();
    let has_it =
        ["id", "name"].map(|column| format!("lower({column}{collation}) LIKE $1 ESCAPE '\\'"));
    let sql = format!(
        "SELECT id, name FROM {table} WHERE {} ORDER BY id LIMIT {limit}",
        has_it.join(" OR ")
    );
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (pattern(text))
    ))
}
