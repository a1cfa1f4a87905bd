//! Passwords, as hashes.

use super::{StoreError, Transaction, execute, fetch};

/// The hash of a person's password, if one is set.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT hash FROM passwords WHERE person_id = $1",
        (person)
    ))
}

/// Whether an admin who is not disabled has a password.
///
/// # Errors
/// Those of the database.
pub async fn has_admin(transaction: &mut Transaction) -> Result<bool, StoreError> {
    let admins: i64 = fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT count(*) FROM passwords JOIN people ON id = person_id WHERE role = 'admin' AND NOT disabled",
        ()
    );
    Ok(admins > 0)
}

/// Sets a person's password.
///
/// # Errors
/// Those of the database.
pub async fn set(
    transaction: &mut Transaction,
    person: &str,
    hash: &str,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO passwords (person_id, hash, changed_at) VALUES ($1, $2, $3) \
         ON CONFLICT (person_id) DO UPDATE SET hash = $2, changed_at = $3",
        (person, hash, now)
    )
}
