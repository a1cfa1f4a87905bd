//! Passwords, as hashes.

use super::{StoreError, Transaction, on_either};

/// The hash of a person's password, if one is set.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Option<String>, StoreError> {
    Ok(on_either!(transaction, connection => {
        sqlx::query_scalar("SELECT hash FROM passwords WHERE person_id = $1")
            .bind(person)
            .fetch_optional(connection)
            .await?
    }))
}

/// Whether an admin who is not disabled has a password.
///
/// # Errors
/// Those of the database.
pub async fn has_admin(transaction: &mut Transaction) -> Result<bool, StoreError> {
    let admins: i64 = on_either!(transaction, connection => {
        sqlx::query_scalar(
            "SELECT count(*) FROM passwords JOIN people ON id = person_id WHERE role = 'admin' AND NOT disabled",
        )
        .fetch_one(connection)
        .await?
    });
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
    on_either!(transaction, connection => {
        sqlx::query(
            "INSERT INTO passwords (person_id, hash, changed_at) VALUES ($1, $2, $3) \
             ON CONFLICT (person_id) DO UPDATE SET hash = $2, changed_at = $3",
        )
        .bind(person)
        .bind(hash)
        .bind(now)
        .execute(connection)
        .await?;
    });
    Ok(())
}
