//! Forgets what is old. Several consoles may do it at once: each of them finds less to do.

use core::time::Duration;

use time::OffsetDateTime;

use crate::in_transaction;
use crate::sessions;
use crate::store::{Store, StoreError, key_feed, requests, spend_feed};

/// For how long what is kept.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// That a key was removed, in days: a gateway that was away for longer reads all keys anew.
    pub removals: u32,
    /// Lines of the ledger, in days. Sums stay.
    pub requests: u32,
}

/// A day, in seconds.
const DAY: u64 = 86_400;

/// Forgets what is older than it is kept, and makes room for the next day.
///
/// # Errors
/// Those of the database; some of it may be done.
pub async fn run(store: &Store, retention: Retention) -> Result<(), StoreError> {
    let now = OffsetDateTime::now_utc();
    requests::make_room(store, now.date()).await?;
    let removals = u64::from(retention.removals).saturating_mul(DAY);
    key_feed::compact(store, Duration::from_secs(removals)).await?;
    let kept = time::Duration::days(i64::from(retention.requests));
    if let Some(before) = now.date().checked_sub(kept) {
        requests::forget(store, before).await?;
    }
    let forgotten: Result<(), StoreError> =
        in_transaction!(store, transaction => spend_feed::forget(transaction, now.date()).await);
    forgotten?;
    sessions::forget(store, now).await
}
