//! Sign-ins of clients: a coding agent or the command, which a person has let in. Of a refresh token there is a digest only.

use sqlx::AssertSqlSafe;

use super::locked_row::{LockedRow, for_update};
use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// A sign-in of a client. It has one key, whose value changes.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ClientSignIn {
    /// The id of the sign-in, which is that of its key.
    pub id: String,
    /// The id of the person.
    pub person_id: String,
    /// The digest of the refresh token.
    pub digest: String,
    /// The name of the client.
    pub client: String,
    /// The name of the machine, as the client says it; empty: it says none.
    pub device: String,
    /// The address that the client asked from.
    pub address: String,
    /// The number of the key's present value.
    pub value_number: i64,
    /// Until when that is good, in microseconds since 1970.
    pub value_until: i64,
    /// The time of the sign-in, in microseconds since 1970.
    pub created_at: i64,
    /// The time of the latest refresh.
    pub used_at: i64,
    /// The time at which the sign-in ends at the latest.
    pub expires_at: i64,
}

const COLUMNS: &str = "id, person_id, digest, client, device, address, value_number, value_until, created_at, used_at, expires_at";

/// Adds a sign-in.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    sign_in: &ClientSignIn,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO client_sign_ins (id, person_id, digest, client, device, address, value_number, value_until, created_at, used_at, \
         expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        (
            &sign_in.id,
            &sign_in.person_id,
            &sign_in.digest,
            &sign_in.client,
            &sign_in.device,
            &sign_in.address,
            sign_in.value_number,
            sign_in.value_until,
            sign_in.created_at,
            sign_in.used_at,
            sign_in.expires_at
        )
    )
}

/// The sign-in with this refresh token, to be changed or ended.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    digest: &str,
) -> Result<Option<LockedRow<ClientSignIn>>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM client_sign_ins WHERE digest = $1");
    let sql = for_update(transaction, &sql).await?;
    let row: Option<ClientSignIn> = fetch!(transaction, query_as.fetch_optional, sql, (digest));
    Ok(row.map(LockedRow::new))
}

/// Returns the id of the person whose sign-in has this refresh token.
///
/// # Errors
/// Those of the database.
pub async fn person_of(
    transaction: &mut Transaction,
    digest: &str,
) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT person_id FROM client_sign_ins WHERE digest = $1",
        (digest)
    ))
}

/// Notes a refresh: the number of the key's value, and until when that is good.
///
/// # Errors
/// Those of the database.
pub async fn note_refresh(
    transaction: &mut Transaction,
    sign_in: &LockedRow<ClientSignIn>,
    (value_number, value_until): (i64, i64),
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE client_sign_ins SET value_number = $2, value_until = $3, used_at = $4 WHERE id = $1",
        (&sign_in.id, value_number, value_until, now)
    )
}

/// The sign-ins of a person that are not over, the latest used first.
///
/// # Errors
/// Those of the database.
pub async fn of_person(
    transaction: &mut Transaction,
    person: &str,
    now: i64,
) -> Result<Vec<ClientSignIn>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM client_sign_ins WHERE person_id = $1 AND expires_at > $2 ORDER BY used_at DESC, id"
    );
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (person, now)
    ))
}

/// Removes a sign-in of a person. Whether there was one.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    person: &str,
    id: &str,
) -> Result<bool, StoreError> {
    let removed: Option<String> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "DELETE FROM client_sign_ins WHERE id = $1 AND person_id = $2 RETURNING id",
        (id, person)
    );
    Ok(removed.is_some())
}

/// Sign-ins that have ended by a moment. Their keys have expired before.
pub const EXPIRED: OldRows = OldRows {
    table: "client_sign_ins",
    key: "id",
    condition: "expires_at <= $1",
    lock: None,
};
