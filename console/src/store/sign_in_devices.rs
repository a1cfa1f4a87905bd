//! Devices with which people have signed in. Only digests of their tokens are known.

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// The most devices of a person: the latest.
const MOST: i64 = 20;

/// Notes that a person has signed in with a device. One more than a person may have takes the place of that which was not used for
/// longest.
///
/// # Errors
/// Those of the database.
pub async fn note(
    transaction: &mut Transaction,
    digest: &str,
    person: &str,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO sign_in_devices (digest, person_id, used_at) VALUES ($1, $2, $3) \
         ON CONFLICT (digest) DO UPDATE SET used_at = excluded.used_at",
        (digest, person, now)
    )?;
    execute!(
        transaction,
        "DELETE FROM sign_in_devices WHERE person_id = $1 AND digest NOT IN \
         (SELECT digest FROM sign_in_devices WHERE person_id = $1 ORDER BY used_at DESC, digest LIMIT $2)",
        (person, MOST)
    )
}

/// Whether a person has signed in with the device of this digest.
///
/// # Errors
/// Those of the database.
pub async fn is_known(
    transaction: &mut Transaction,
    digest: &str,
    person: &str,
) -> Result<bool, StoreError> {
    let found: Option<i64> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT used_at FROM sign_in_devices WHERE digest = $1 AND person_id = $2",
        (digest, person)
    );
    Ok(found.is_some())
}

/// Forgets all devices of a person.
///
/// # Errors
/// Those of the database.
pub async fn remove_all(transaction: &mut Transaction, person: &str) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM sign_in_devices WHERE person_id = $1",
        (person)
    )
}

/// Devices that were not used since a moment.
pub const OLD: OldRows = OldRows {
    table: "sign_in_devices",
    key: "digest",
    condition: "used_at < $1",
    lock: None,
};
