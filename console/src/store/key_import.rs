//! How far the keys of `trilane serve` were copied.

use super::{StoreError, Transaction, on_either};

/// Up to which id they were copied, and whether all were; `None`: none was. Locked until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<Option<(String, bool)>, StoreError> {
    Ok(on_either!(transaction, connection => {
        sqlx::query_as("UPDATE key_import SET place = place RETURNING place, ended")
            .fetch_optional(connection)
            .await?
    }))
}

/// Notes that they were copied up to this id, and whether these were all.
///
/// # Errors
/// Those of the database.
pub async fn set(
    transaction: &mut Transaction,
    place: &str,
    ended: bool,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query(
            "INSERT INTO key_import (one, place, ended) VALUES (1, $1, $2) \
             ON CONFLICT (one) DO UPDATE SET place = excluded.place, ended = excluded.ended",
        )
        .bind(place)
        .bind(ended)
        .execute(connection)
        .await?;
    });
    Ok(())
}
