//! Keys that are disabled with their owner, and enabled again with that person. Keys that somebody else had disabled stay so.

use sqlx::AssertSqlSafe;

use super::keys::{COLUMNS, StoredKey};
use super::{StoreError, Transaction, execute, fetch};

/// The keys of a person that are not disabled, and the old values of their keys. Those of sign-ins of clients end with these.
const ACTIVE: &str = "NOT disabled AND (owner = $1 OR counts_as IN (SELECT id FROM keys WHERE owner = $1)) \
     AND coalesce(counts_as, id) NOT IN (SELECT id FROM client_sign_ins)";

async fn select(
    transaction: &mut Transaction,
    condition: &str,
    person: &str,
) -> Result<Vec<StoredKey>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE {condition} ORDER BY id");
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (person)
    ))
}

/// Disables the keys of a person: those keys, as they were. The transaction has its turn to change keys.
///
/// # Errors
/// Those of the database.
pub async fn stop(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Vec<StoredKey>, StoreError> {
    let stopped = select(transaction, ACTIVE, person).await?;
    let sql = format!("UPDATE keys SET disabled = TRUE, disabled_with = $1 WHERE {ACTIVE}");
    execute!(transaction, AssertSqlSafe(sql), (person))?;
    Ok(stopped)
}

/// Enables the keys that were disabled with a person: those keys, as they were. The transaction has its turn to change keys.
///
/// # Errors
/// Those of the database.
pub async fn resume(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Vec<StoredKey>, StoreError> {
    let resumed = select(transaction, "disabled_with = $1", person).await?;
    execute!(
        transaction,
        "UPDATE keys SET disabled = FALSE, disabled_with = NULL WHERE disabled_with = $1",
        (person)
    )?;
    Ok(resumed)
}

/// Counts the keys that [`stop`] would disable, and those that [`resume`] would enable.
///
/// # Errors
/// Those of the database.
pub async fn count(transaction: &mut Transaction, person: &str) -> Result<(i64, i64), StoreError> {
    let sql = format!(
        "SELECT (SELECT count(*) FROM keys WHERE {ACTIVE}), (SELECT count(*) FROM keys WHERE disabled_with = $1)"
    );
    Ok(fetch!(
        transaction,
        query_as.fetch_one,
        AssertSqlSafe(sql),
        (person)
    ))
}
