//! All that lines add up to, in one place: what is counted of them, and is taken away where they are void.

use super::batch_sums::BatchSums;
use crate::store::{
    StoreError, SumChange, Transaction, account_answers, hour_counts, spend, spend_feed,
    usage_days, usage_dimensions,
};

/// Adds all that lines of an Envoy add up to, or takes it away.
///
/// # Errors
/// Those of the database.
pub(super) async fn change(
    transaction: &mut Transaction,
    envoy: &str,
    of: &BatchSums,
    (change, now): (SumChange, i64),
) -> Result<(), StoreError> {
    usage_days::change(transaction, &of.hours, change).await?;
    usage_dimensions::change(transaction, &of.dimensions, change).await?;
    hour_counts::change_first_bytes(transaction, &of.first_bytes, change).await?;
    hour_counts::change_attempts(transaction, &of.attempts, change).await?;
    spend::change(transaction, &of.charges, change).await?;
    // No sums: when a key was last used stays, and what an account last answered.
    if change == SumChange::Add {
        spend::note_use(transaction, &of.used).await?;
        account_answers::note(transaction, &of.answers, now).await?;
    }
    spend_feed::change(transaction, envoy, &of.charges, &of.shares, (change, now)).await
}
