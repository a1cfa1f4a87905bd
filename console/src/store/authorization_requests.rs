//! Requests of browsers to sign in at an identity provider. Of their secrets only digests are known.

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// A browser that was sent to an identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// The digest of its `state`.
    pub state: String,
    /// The provider's id.
    pub provider: String,
    /// The digest of the browser's cookie.
    pub browser: String,
    /// The path that is shown afterwards.
    pub target: String,
    /// The time until which it is good, in microseconds since 1970.
    pub expires_at: i64,
}

/// Adds a request.
///
/// # Errors
/// [`StoreError::Conflict`]: there is no such provider any more.
pub async fn insert(
    transaction: &mut Transaction,
    request: &AuthorizationRequest,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO authorization_requests (state, provider_id, browser, target, expires_at) VALUES ($1, $2, $3, $4, $5)",
        (
            &request.state,
            &request.provider,
            &request.browser,
            &request.target,
            request.expires_at
        )
    )
}

/// Uses a request up. The path that is shown afterwards; `None`: it was used, has expired, or is of another provider or browser.
///
/// # Errors
/// Those of the database.
pub async fn take(
    transaction: &mut Transaction,
    (state, provider, browser): (&str, &str, &str),
    now: i64,
) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "DELETE FROM authorization_requests WHERE state = $1 AND provider_id = $2 AND browser = $3 AND expires_at > $4 RETURNING target",
        (state, provider, browser, now)
    ))
}

/// Requests that have expired by a moment.
pub const EXPIRED: OldRows = OldRows {
    table: "authorization_requests",
    key: "state",
    condition: "expires_at <= $1",
    lock: None,
};
