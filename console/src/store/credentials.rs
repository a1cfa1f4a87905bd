//! Credentials of upstream accounts, sealed: a row for each destination.

use super::{StoreError, Transaction, execute, fetch, on_either};
use crate::credentials::{CredentialDestination, SealedFor, SealedValue};

/// A sealed credential for one destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCredential {
    /// The name of the credential, as accounts name it.
    pub name: String,
    /// The only destination that it may be sent to.
    pub destination: CredentialDestination,
    /// Whether a document that was in force has sent it there.
    pub in_use: bool,
    /// Itself, sealed.
    pub value: SealedValue,
    /// Since when, in microseconds since 1970.
    pub set_at: i64,
    /// The id of the person who set the credential.
    pub set_by: String,
}

impl StoredCredential {
    /// Returns the purpose that it is sealed for.
    pub fn bound_to(&self) -> SealedFor<'_> {
        SealedFor::Credential {
            name: &self.name,
            destination: &self.destination,
        }
    }
}

type CredentialRow = (String, String, bool, String, String, String, i64, String);

fn of(row: CredentialRow) -> Result<StoredCredential, StoreError> {
    let destination = CredentialDestination::parse(&row.1);
    let wrong = || StoreError::Value(format!("the destination of the credential {}", row.0));
    Ok(StoredCredential {
        destination: destination.ok_or_else(wrong)?,
        name: row.0,
        in_use: row.2,
        value: SealedValue {
            key_id: row.3,
            nonce: row.4,
            sealed: row.5,
        },
        set_at: row.6,
        set_by: row.7,
    })
}

/// Lets nobody else change credentials until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE credentials IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// Puts one where there is none.
///
/// # Errors
/// [`StoreError::Rule`]: there is one.
pub async fn insert(
    transaction: &mut Transaction,
    credential: &StoredCredential,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO credentials (name, destination, in_use, key_id, nonce, sealed, set_at, set_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            &credential.name,
            credential.destination.text(),
            credential.in_use,
            &credential.value.key_id,
            &credential.value.nonce,
            &credential.value.sealed,
            credential.set_at,
            &credential.set_by
        )
    )
}

/// Notes that a document in force sends one to its destination.
///
/// # Errors
/// Those of the database.
pub async fn note_use(
    transaction: &mut Transaction,
    name: &str,
    destination: &CredentialDestination,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE credentials SET in_use = TRUE WHERE name = $1 AND destination = $2",
        (name, destination.text())
    )
}

/// Puts the same credential, sealed anew, in the place of what has this nonce. False: it is another one by now, or gone.
///
/// # Errors
/// Those of the database.
pub async fn reseal(
    transaction: &mut Transaction,
    before: &StoredCredential,
    value: &SealedValue,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query(
            "UPDATE credentials SET key_id = $4, nonce = $5, sealed = $6 WHERE name = $1 AND destination = $2 AND nonce = $3",
        )
        .bind(&before.name)
        .bind(before.destination.text())
        .bind(&before.value.nonce)
        .bind(&value.key_id)
        .bind(&value.nonce)
        .bind(&value.sealed)
        .execute(connection)
        .await?
        .rows_affected()
    });
    Ok(changed > 0)
}

/// Removes all of a name, or (with a destination) one. How many there were.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    name: &str,
    destination: Option<&CredentialDestination>,
) -> Result<u64, StoreError> {
    let destination = destination.map(CredentialDestination::text);
    Ok(on_either!(transaction, connection => {
        sqlx::query("DELETE FROM credentials WHERE name = $1 AND (CAST($2 AS TEXT) IS NULL OR destination = $2)")
            .bind(name)
            .bind(destination)
            .execute(connection)
            .await?
            .rows_affected()
    }))
}

/// All of them, in the order of their names. There are as many as accounts.
///
/// # Errors
/// Those of the database.
pub async fn all(transaction: &mut Transaction) -> Result<Vec<StoredCredential>, StoreError> {
    let rows: Vec<CredentialRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT name, destination, in_use, key_id, nonce, sealed, set_at, set_by FROM credentials ORDER BY name, destination",
        ()
    );
    rows.into_iter().map(of).collect()
}
