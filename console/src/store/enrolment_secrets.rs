//! Secrets with which agents enrol by themselves. Only their digests are known.

use super::{StoreError, Transaction, execute, fetch, on_either};

/// Keeps a secret under a name, in the place of what had it.
///
/// # Errors
/// Those of the database.
pub async fn put(
    transaction: &mut Transaction,
    name: &str,
    digest: &str,
    expires_at: Option<i64>,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO enrolment_secrets (name, digest, expires_at, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at, \
         created_at = excluded.created_at",
        (name, digest, expires_at, now)
    )
}

/// Removes the secret of a name. False: there is none.
///
/// # Errors
/// Those of the database.
pub async fn remove(transaction: &mut Transaction, name: &str) -> Result<bool, StoreError> {
    let removed = on_either!(transaction, connection => {
        sqlx::query("DELETE FROM enrolment_secrets WHERE name = $1")
            .bind(name)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(removed > 0)
}

/// The name of the secret with this digest that has not expired.
///
/// # Errors
/// Those of the database.
pub async fn name(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT name FROM enrolment_secrets WHERE digest = $1 AND (expires_at IS NULL OR expires_at > $2)",
        (digest, now)
    ))
}
