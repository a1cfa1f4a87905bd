//! Answers to requests that may be sent again under the same key.

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenAnswer {
    /// The digest of the request.
    pub digest: String,
    /// The HTTP status.
    pub status: i64,
    /// The body, without any secret that it had.
    pub body: String,
}

/// The answer that was given under a key of a token. Two requests under one key at once wait for each other.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    token: &str,
    key: &str,
) -> Result<Option<GivenAnswer>, StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))")
            .bind(token)
            .bind(key)
            .execute(&mut **inner)
            .await?;
    }
    let row: Option<(String, i64, String)> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT digest, status, body FROM idempotency WHERE token_id = $1 AND key = $2",
        (token, key)
    );
    Ok(row.map(|(digest, status, body)| GivenAnswer {
        digest,
        status,
        body,
    }))
}

/// Keeps an answer, in the transaction of the change that it tells of.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    token: &str,
    key: &str,
    answer: &GivenAnswer,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO idempotency (token_id, key, digest, status, body, at) VALUES ($1, $2, $3, $4, $5, $6)",
        (token, key, &answer.digest, answer.status, &answer.body, now)
    )
}

/// Answers that were given before a moment.
pub const OLD: OldRows = OldRows {
    table: "idempotency",
    key: "token_id, key",
    condition: "at < $1",
    lock: None,
};
