//! Forgets what is old, goes on with erasures and voids that were broken off, and rolls usage up, a bounded number of rows at a time, so that
//! nobody waits for it. Several consoles may do it at once: each of them finds less to do.
//!
//! Sums but those by session, spend, the audit and published documents are never forgotten.

use core::time::Duration;

use futures_util::FutureExt as _;
use time::{Date, OffsetDateTime};

use crate::intake::void;
use crate::sessions;
use crate::store::old_rows::Cutoff;
use crate::store::{
    Store, StoreError, api_tokens, client_sign_ins, device_grants, erasures, idempotency, key_feed,
    keys, nearly_spent, requests, spend_feed, usage_days, usage_dimensions, webhooks,
};

/// The times for which data is kept.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// The time for which removals of keys are told, in days: a gateway that was away for longer reads all keys anew.
    pub removals: u32,
    /// Lines of the ledger, in days. Sums stay.
    pub requests: u32,
}

/// A day, in seconds.
const DAY: u64 = 86_400;
/// Answers that may be asked for again, in days.
const ANSWERS: i64 = 1;
/// Tokens that have expired, in days: their list says so until then.
const TOKENS: i64 = 30;
/// Messages of webhooks after their day, in days. More than a month: until it is over, its messages keep others from being sent.
const MESSAGES: i64 = 90;

/// Forgets what is older than it is kept, makes room for the next day, and rolls usage up.
///
/// # Errors
/// The first that there was; all else was tried.
pub async fn run(store: &Store, retention: Retention) -> Result<(), StoreError> {
    let now = OffsetDateTime::now_utc();
    let today = now.date();
    let removals = u64::from(retention.removals).saturating_mul(DAY);
    // One that is in the way of others is not to be in the way of what follows.
    let done = [
        requests::make_room(store, today).await,
        key_feed::compact(store, Duration::from_secs(removals)).await,
        requests::forget(store, before(today, i64::from(retention.requests))).await,
        spend_feed::forget(store, today).await,
        sessions::forget(store, now).await,
        forget_others(store, now).await,
        forget_sessions_of_requests(store, today, retention.requests).await,
        erasures::run_all(store).await,
        void::run_all(store).await,
        usage_days::roll_up(store, now).await,
        usage_dimensions::fold(store, now).boxed().await,
    ];
    done.into_iter().collect()
}

async fn forget_others(store: &Store, now: OffsetDateTime) -> Result<(), StoreError> {
    let moment = |days: i64| {
        let age = days.saturating_mul(DAY.cast_signed());
        let seconds = now.unix_timestamp().saturating_sub(age);
        Cutoff::Moment(seconds.saturating_mul(1_000_000))
    };
    idempotency::OLD.delete(store, &moment(ANSWERS)).await?;
    api_tokens::EXPIRED.delete(store, &moment(TOKENS)).await?;
    device_grants::EXPIRED.delete(store, &moment(0)).await?;
    // The keys first: which those are is known by their sign-ins.
    keys::OF_ENDED_SIGN_INS.delete(store, &moment(0)).await?;
    client_sign_ins::EXPIRED.delete(store, &moment(0)).await?;
    let day = before(now.date(), MESSAGES).to_string();
    webhooks::OVER
        .delete(store, &Cutoff::Period(day.clone()))
        .await?;
    nearly_spent::OVER
        .delete(store, &Cutoff::Period(day))
        .await?;
    Ok(())
}

/// Forgets usage by session with the lines that have the sessions.
async fn forget_sessions_of_requests(
    store: &Store,
    today: Date,
    days: u32,
) -> Result<(), StoreError> {
    let day = before(today, i64::from(days)).to_string();
    let old = usage_dimensions::OLD_SESSIONS;
    old.delete(store, &Cutoff::Period(day)).await.map(drop)
}

fn before(today: Date, days: i64) -> Date {
    let day = today.checked_sub(time::Duration::days(days));
    day.unwrap_or(Date::MIN)
}
