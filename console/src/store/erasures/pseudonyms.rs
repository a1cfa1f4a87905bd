//! The pseudonyms of ids that are erased, found by digests of the ids.
//!
//! In PostgreSQL whoever takes lines in shares a lock that whoever begins an erasure has alone: a line is either there when the
//! erasure looks, or was taken in under the pseudonym.

use std::collections::HashMap;

use hex::encode;
use sha2::{Digest as _, Sha256};

use crate::secret;
use crate::store::{StoreError, Transaction, execute, fetch};

/// The lock of PostgreSQL.
const LOCK: i64 = 0x0074_7269_6c61_6e68;
/// The longest wait for the lock at the start of an erasure. The intake of lines waits behind it meanwhile.
const WAIT: &str = "SET LOCAL lock_timeout = '2s'";

/// The pseudonyms that there are.
#[derive(Debug, Clone, Default)]
pub struct Pseudonyms {
    salt: String,
    by_digest: HashMap<String, String>,
}

impl Pseudonyms {
    /// All of them. Until the transaction ends there are no others, so this is the first that a transaction reads.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn read(transaction: &mut Transaction) -> Result<Self, StoreError> {
        Self::share(transaction).await?;
        let rows: Vec<(String, String)> = fetch!(
            transaction,
            query_as.fetch_all,
            "SELECT digest, pseudonym FROM erasures",
            ()
        );
        if rows.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self {
            salt: salt(transaction).await?.unwrap_or_default(),
            by_digest: rows.into_iter().collect(),
        })
    }

    /// Lets nobody begin to erase an id until the transaction ends.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn share(transaction: &mut Transaction) -> Result<(), StoreError> {
        if let Transaction::Postgres(inner) = transaction {
            sqlx::query("SELECT pg_advisory_xact_lock_shared($1)")
                .bind(LOCK)
                .execute(&mut **inner)
                .await?;
        }
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_digest.is_empty()
    }

    /// The pseudonym of an id, if it is erased.
    pub fn of(&self, id: &str) -> Option<&str> {
        if id.is_empty() || self.is_empty() {
            return None;
        }
        self.by_digest
            .get(&digest(&self.salt, id))
            .map(String::as_str)
    }
}

fn digest(salt: &str, id: &str) -> String {
    encode(Sha256::digest(format!("{salt}\n{id}")))
}

async fn salt(transaction: &mut Transaction) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT salt FROM erasure_salt",
        ()
    ))
}

/// The digest of an id that is to be erased.
pub(super) async fn new_digest(
    transaction: &mut Transaction,
    id: &str,
) -> Result<String, StoreError> {
    if let Some(salt) = salt(transaction).await? {
        return Ok(digest(&salt, id));
    }
    let salt = secret::NewSecret::session().map_err(StoreError::Other)?;
    let salt = salt.digest();
    execute!(
        transaction,
        "INSERT INTO erasure_salt (one, salt) VALUES (1, $1)",
        (&salt)
    )?;
    Ok(digest(&salt, id))
}

pub(super) async fn lock_alone(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query(WAIT).execute(&mut **inner).await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(LOCK)
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}
