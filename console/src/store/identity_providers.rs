//! Identity providers, and the switch of passwords.

use super::locked_row::{LockedRow, for_update};
use super::{StoreError, Transaction, execute, fetch, on_either};

/// An identity provider, as the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProvider {
    /// The id, which stands in the address that browsers come back to.
    pub id: String,
    /// Grows with each change.
    pub revision: i64,
    /// The issuer.
    pub issuer: String,
    /// The id of this console's client there.
    pub client_id: String,
    /// The client's secret, sealed (`identity_providers/secrets.rs`); `None`: it has none.
    pub client_secret: Option<String>,
    /// Label, scopes, domains and rules, as JSON.
    pub settings: String,
    /// Whether people may sign in by it.
    pub enabled: bool,
    /// The time at which it was added, in microseconds since 1970.
    pub created_at: i64,
}

type ProviderRow = (
    String,
    i64,
    String,
    String,
    Option<String>,
    String,
    bool,
    i64,
);

fn of(row: ProviderRow) -> StoredProvider {
    StoredProvider {
        id: row.0,
        revision: row.1,
        issuer: row.2,
        client_id: row.3,
        client_secret: row.4,
        settings: row.5,
        enabled: row.6,
        created_at: row.7,
    }
}

const BY_ID: &str = "SELECT id, revision, issuer, client_id, client_secret, settings, enabled, created_at FROM identity_providers WHERE id = $1";

/// Lets nobody else add, change or remove providers, or the switch of passwords, until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE identity_providers IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// Adds a provider.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    provider: &StoredProvider,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO identity_providers (id, revision, issuer, client_id, client_secret, settings, enabled, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            &provider.id,
            provider.revision,
            &provider.issuer,
            &provider.client_id,
            &provider.client_secret,
            &provider.settings,
            provider.enabled,
            provider.created_at
        )
    )
}

/// Changes a provider. Sessions by it end when it is disabled; so do its identities with another issuer, whose subjects are others.
///
/// # Errors
/// Those of the database.
pub async fn update(
    transaction: &mut Transaction,
    before: &LockedRow<StoredProvider>,
    provider: &StoredProvider,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE identity_providers SET revision = $2, issuer = $3, client_id = $4, client_secret = $5, settings = $6, enabled = $7 \
         WHERE id = $1",
        (
            &before.id,
            provider.revision,
            &provider.issuer,
            &provider.client_id,
            &provider.client_secret,
            &provider.settings,
            provider.enabled
        )
    )?;
    let other_issuer = before.issuer != provider.issuer;
    if other_issuer {
        execute!(
            transaction,
            "DELETE FROM identities WHERE provider_id = $1",
            (&before.id)
        )?;
    }
    if other_issuer || !provider.enabled {
        execute!(
            transaction,
            "DELETE FROM sessions WHERE provider_id = $1",
            (&before.id)
        )?;
    }
    Ok(())
}

/// Removes a provider, with its identities and the sessions by it. Memberships that its rules gave stay.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    provider: &LockedRow<StoredProvider>,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM identity_providers WHERE id = $1",
        (&provider.id)
    )
}

/// The provider of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<StoredProvider>, StoreError> {
    let row: Option<ProviderRow> = fetch!(transaction, query_as.fetch_optional, BY_ID, (id));
    Ok(row.map(of))
}

/// The provider of this id, to be changed or removed.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<LockedRow<StoredProvider>>, StoreError> {
    let sql = for_update(transaction, BY_ID).await?;
    let row: Option<ProviderRow> = fetch!(transaction, query_as.fetch_optional, sql, (id));
    Ok(row.map(of).map(LockedRow::new))
}

/// All providers, in the order of their ids.
///
/// # Errors
/// Those of the database.
pub async fn all(transaction: &mut Transaction) -> Result<Vec<StoredProvider>, StoreError> {
    let rows: Vec<ProviderRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, revision, issuer, client_id, client_secret, settings, enabled, created_at FROM identity_providers ORDER BY id",
        ()
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Puts the same secret, sealed anew, in the place of what is there. False: another one is there by now.
///
/// # Errors
/// Those of the database.
pub async fn reseal(
    transaction: &mut Transaction,
    id: &str,
    before: &str,
    secret: &str,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE identity_providers SET client_secret = $3 WHERE id = $1 AND client_secret = $2")
            .bind(id)
            .bind(before)
            .bind(secret)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(changed > 0)
}

/// Whether people sign in with passwords.
///
/// # Errors
/// Those of the database.
pub async fn passwords_allowed(transaction: &mut Transaction) -> Result<bool, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT passwords FROM sign_in_settings",
        ()
    ))
}

/// Turns passwords on or off. Whoever does it has the [`lock`].
///
/// # Errors
/// Those of the database.
pub async fn allow_passwords(
    transaction: &mut Transaction,
    allowed: bool,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE sign_in_settings SET passwords = $1",
        (allowed)
    )
}
