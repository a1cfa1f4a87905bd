//! Links that sign a person in, once. Only digests of their tokens are known.

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// Adds a link, which is good until `expires_at`.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    digest: &str,
    person: &str,
    now: i64,
    expires_at: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO sign_in_links (digest, person_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        (digest, person, now, expires_at)
    )
}

/// Uses a link up. Whose it was, if it was good.
///
/// # Errors
/// Those of the database.
pub async fn take(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "DELETE FROM sign_in_links WHERE digest = $1 AND expires_at > $2 RETURNING person_id",
        (digest, now)
    ))
}

/// Until when a person's link is good, in microseconds since 1970, if there is one.
///
/// # Errors
/// Those of the database.
pub async fn good_until(
    transaction: &mut Transaction,
    person: &str,
    now: i64,
) -> Result<Option<i64>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT max(expires_at) FROM sign_in_links WHERE person_id = $1 AND expires_at > $2",
        (person, now)
    ))
}

/// Voids all links of a person.
///
/// # Errors
/// Those of the database.
pub async fn remove_all(transaction: &mut Transaction, person: &str) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM sign_in_links WHERE person_id = $1",
        (person)
    )
}

/// Links that have expired by a moment.
pub const EXPIRED: OldRows = OldRows {
    table: "sign_in_links",
    key: "digest",
    condition: "expires_at <= $1",
    lock: None,
};
