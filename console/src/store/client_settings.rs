//! The settings that clients ask gateways for.

use serde_json::{Map, Value};

use super::{StoreError, Transaction, execute, fetch};

/// The settings, as the database has them.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSettings {
    /// The settings.
    pub settings: Map<String, Value>,
    /// The names of members that are not inert, each approved.
    pub approved: Vec<String>,
    /// The time at which they were written, in microseconds since 1970.
    pub changed_at: i64,
}

/// Finds the settings; `None`: there are none.
///
/// # Errors
/// Those of the database, or they cannot be read.
pub async fn find(transaction: &mut Transaction) -> Result<Option<StoredSettings>, StoreError> {
    let row: Option<(String, String, i64)> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT settings, approved, changed_at FROM client_settings",
        ()
    );
    let Some((settings, approved, changed_at)) = row else {
        return Ok(None);
    };
    let unreadable = |error: serde_json::Error| StoreError::Value(error.to_string());
    Ok(Some(StoredSettings {
        settings: serde_json::from_str(&settings).map_err(unreadable)?,
        approved: serde_json::from_str(&approved).map_err(unreadable)?,
        changed_at,
    }))
}

/// Lets nobody else change the settings until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE client_settings IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// Puts settings in the place of those that are there.
///
/// # Errors
/// Those of the database.
pub async fn put(transaction: &mut Transaction, new: &StoredSettings) -> Result<(), StoreError> {
    let json = |value: Value| value.to_string();
    execute!(
        transaction,
        "INSERT INTO client_settings (one, settings, approved, changed_at) VALUES (1, $1, $2, $3) \
         ON CONFLICT (one) DO UPDATE SET settings = $1, approved = $2, changed_at = $3",
        (
            json(new.settings.clone().into()),
            json(new.approved.clone().into()),
            new.changed_at
        )
    )
}

/// Removes the settings.
///
/// # Errors
/// Those of the database.
pub async fn remove(transaction: &mut Transaction) -> Result<(), StoreError> {
    execute!(transaction, "DELETE FROM client_settings", ())
}
