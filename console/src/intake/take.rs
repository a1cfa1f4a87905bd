//! Taking a batch in.

use core::fmt;

use time::OffsetDateTime;

use super::batch::LedgerBatch;
use super::batch_sums::BatchSums;
use super::sums;
use crate::counted::{BatchOutcome, counted};
use crate::store::erasures::Pseudonyms;
use crate::store::{
    AsStoreError, Store, StoreError, SumChange, Transaction, envoys, ledger_files, lines_aside,
    requests, voids,
};
use crate::{envoy_clock, in_transaction, timestamp};

/// The result of taking in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenBatch {
    /// The byte offset at which the next batch begins.
    pub position: i64,
    /// The lines that were counted now.
    pub lines: usize,
    /// The lines that were kept aside now.
    pub aside: usize,
}

/// The reason that a batch was not taken. Nothing is changed then.
#[derive(Debug)]
pub enum IntakeError {
    /// It does not begin where the batches before ended: go on from there.
    Elsewhere {
        /// The byte offset at which the next batch begins.
        position: i64,
    },
    /// The database.
    Store(StoreError),
}

impl fmt::Display for IntakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { position } => write!(f, "go on from {position}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for IntakeError {}

impl From<StoreError> for IntakeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl AsStoreError for IntakeError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// Takes a batch in, in one transaction. `now` is the console's clock, which decides only how long the lines themselves are kept.
///
/// # Errors
/// The reason that nothing was changed.
pub async fn take(
    store: &Store,
    batch: &LedgerBatch<'_>,
    now: OffsetDateTime,
) -> Result<TakenBatch, IntakeError> {
    let taken = take_once(store, batch, now).await;
    let (outcome, lines, aside) = match &taken {
        Ok(TakenBatch { lines, aside, .. }) if lines.saturating_add(*aside) > 0 => {
            (BatchOutcome::Taken, *lines, *aside)
        }
        Ok(_) => (BatchOutcome::Repeated, 0, 0),
        Err(IntakeError::Elsewhere { .. }) => (BatchOutcome::Elsewhere, 0, 0),
        Err(IntakeError::Store(_)) => (BatchOutcome::Failed, 0, 0),
    };
    counted().batch(batch.envoy(), outcome, lines, aside);
    taken
}

async fn take_once(
    store: &Store,
    batch: &LedgerBatch<'_>,
    now: OffsetDateTime,
) -> Result<TakenBatch, IntakeError> {
    requests::make_room(store, now.date()).await?;
    in_transaction!(store, transaction => take_in(transaction, batch, now).await)
}

async fn take_in(
    transaction: &mut Transaction,
    batch: &LedgerBatch<'_>,
    now: OffsetDateTime,
) -> Result<TakenBatch, IntakeError> {
    let (envoy, file) = (batch.envoy(), batch.file());
    // The first lock of all.
    let pseudonyms = Pseudonyms::read(transaction).await?;
    let before = ledger_files::lock(transaction, envoy, file).await?;
    if before.position >= batch.to() && !batch.bytes().is_empty() {
        // It came before.
        return Ok(TakenBatch {
            position: before.position,
            lines: 0,
            aside: 0,
        });
    }
    if before.position != batch.from() {
        return Err(IntakeError::Elsewhere {
            position: before.position,
        });
    }
    let offset = envoys::clock_offset(transaction, envoy).await?;
    let correction = envoy_clock::correction(offset);
    let void = voids::times_of(transaction, envoy).await?;
    let mut batch_sums = BatchSums::of(batch, before.skipping, correction, void);
    batch_sums.give_pseudonyms(&pseudonyms);
    let read = i64::try_from(batch_sums.read).unwrap_or(i64::MAX);
    let after = ledger_files::FilePosition {
        position: before.position.saturating_add(read),
        skipping: batch_sums.skipping,
        lines: plus(before.lines, batch_sums.requests.len()),
        aside: plus(before.aside, batch_sums.aside.len()),
    };
    let taken_at = timestamp::microseconds(now);
    ledger_files::set(transaction, envoy, file, after, taken_at).await?;
    lines_aside::insert(transaction, envoy, file, &batch_sums.aside, taken_at).await?;
    requests::insert(transaction, now.date(), &batch_sums.requests).await?;
    sums::change(transaction, envoy, &batch_sums, (SumChange::Add, taken_at)).await?;
    Ok(TakenBatch {
        position: after.position,
        lines: batch_sums.requests.len(),
        aside: batch_sums.aside.len(),
    })
}

fn plus(count: i64, more: usize) -> i64 {
    count.saturating_add(i64::try_from(more).unwrap_or(i64::MAX))
}
