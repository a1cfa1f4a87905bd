//! Device grants (RFC 8628): clients that wait for somebody to let them in. Of a device code there is a digest only.

use super::locked_row::{LockedRow, for_update};
use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// A client that waits.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct DeviceGrant {
    /// The digest of the device code.
    pub digest: String,
    /// The code that the person compares or types.
    pub user_code: String,
    /// The name of the client.
    pub client: String,
    /// The name of the machine, as the client says it; empty: it says none.
    pub device: String,
    /// The address that the client asks from.
    pub address: String,
    /// The seconds that the client has to wait between two polls.
    pub poll_seconds: i64,
    /// The time of the latest poll, in microseconds since 1970; 0: there was none.
    pub polled_at: i64,
    /// Whether somebody has let it in or refused it: `pending`, `approved` or `denied`.
    pub state: String,
    /// The id of the person who has.
    pub person_id: Option<String>,
    /// The team that the sign-in is of; `None`: no team, in the person's own group.
    pub team: Option<String>,
    /// The id of the group that its key is of.
    pub group_id: Option<String>,
    /// The scopes of the token of the API that it asks for, with blanks between; `None`: it asks for a key.
    pub scopes: Option<String>,
    /// The time at which the client asked, in microseconds since 1970.
    pub created_at: i64,
    /// The time at which it waits no longer.
    pub expires_at: i64,
}

const COLUMNS: &str = "digest, user_code, client, device, address, poll_seconds, polled_at, state, person_id, team, group_id, scopes, created_at, expires_at";

/// The id of the person who has let the client with this device code in.
///
/// # Errors
/// Those of the database.
pub async fn person_of(
    transaction: &mut Transaction,
    digest: &str,
) -> Result<Option<String>, StoreError> {
    let found: Option<Option<String>> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT person_id FROM device_grants WHERE digest = $1",
        (digest)
    );
    Ok(found.flatten())
}

/// Counts the clients that wait.
///
/// # Errors
/// Those of the database.
pub async fn count(transaction: &mut Transaction, now: i64) -> Result<i64, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT count(*) FROM device_grants WHERE expires_at > $1",
        (now)
    ))
}

/// Adds a client that waits.
///
/// # Errors
/// [`StoreError::Rule`]: another one has this user code.
pub async fn insert(transaction: &mut Transaction, grant: &DeviceGrant) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO device_grants (digest, user_code, client, device, address, poll_seconds, polled_at, state, scopes, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, 0, 'pending', $7, $8, $9)",
        (
            &grant.digest,
            &grant.user_code,
            &grant.client,
            &grant.device,
            &grant.address,
            grant.poll_seconds,
            &grant.scopes,
            grant.created_at,
            grant.expires_at
        )
    )
}

/// The client with this device code, to be changed.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    digest: &str,
) -> Result<Option<LockedRow<DeviceGrant>>, StoreError> {
    by(transaction, "digest", digest).await
}

/// The client with this user code, to be changed.
///
/// # Errors
/// Those of the database.
pub async fn find_by_user_code(
    transaction: &mut Transaction,
    user_code: &str,
) -> Result<Option<LockedRow<DeviceGrant>>, StoreError> {
    by(transaction, "user_code", user_code).await
}

async fn by(
    transaction: &mut Transaction,
    column: &'static str,
    value: &str,
) -> Result<Option<LockedRow<DeviceGrant>>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM device_grants WHERE {column} = $1");
    let sql = for_update(transaction, &sql).await?;
    let row: Option<DeviceGrant> = fetch!(transaction, query_as.fetch_optional, sql, (value));
    Ok(row.map(LockedRow::new))
}

/// Notes a poll, and how many seconds the client has to wait until the next one.
///
/// # Errors
/// Those of the database.
pub async fn note_poll(
    transaction: &mut Transaction,
    grant: &LockedRow<DeviceGrant>,
    poll_seconds: i64,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE device_grants SET poll_seconds = $2, polled_at = $3 WHERE digest = $1",
        (&grant.digest, poll_seconds, now)
    )
}

/// Lets a client in, as this person: with a key of this team and group, or without either with the token that it asks for.
///
/// # Errors
/// Those of the database.
pub async fn approve(
    transaction: &mut Transaction,
    grant: &LockedRow<DeviceGrant>,
    person: &str,
    team: Option<&str>,
    group: Option<&str>,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE device_grants SET state = 'approved', person_id = $2, team = $3, group_id = $4 WHERE digest = $1",
        (&grant.digest, person, team, group)
    )
}

/// Refuses a client.
///
/// # Errors
/// Those of the database.
pub async fn deny(
    transaction: &mut Transaction,
    grant: &LockedRow<DeviceGrant>,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE device_grants SET state = 'denied' WHERE digest = $1",
        (&grant.digest)
    )
}

/// Removes a client that waits no longer.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    grant: &LockedRow<DeviceGrant>,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM device_grants WHERE digest = $1",
        (&grant.digest)
    )
}

/// Clients that wait no longer by a moment.
pub const EXPIRED: OldRows = OldRows {
    table: "device_grants",
    key: "digest",
    condition: "expires_at <= $1",
    lock: None,
};
