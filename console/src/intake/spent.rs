//! The spend of lines, for an agent that has them before they are taken in.

use std::collections::BTreeMap;

use time::Duration;

use super::batch::LedgerBatch;
use super::batch_sums::BatchSums;
use crate::ledger::Sum;
use crate::store::spend::SpendKey;
use crate::store::spend_feed::ShareKey;

/// The spend of lines, as the console adds it up when it takes them in.
#[derive(Debug, Default)]
pub struct SpentLines {
    /// Charges by subject and period.
    pub charges: BTreeMap<SpendKey, Sum>,
    /// Those of them that a process has in its own counters.
    pub shares: BTreeMap<ShareKey, Sum>,
}

impl SpentLines {
    /// Adds up the whole lines of a batch, by the clock that wrote them.
    pub fn of(batch: &LedgerBatch<'_>) -> Self {
        let BatchSums {
            charges, shares, ..
        } = BatchSums::of(batch, false, Duration::ZERO, Vec::new());
        Self { charges, shares }
    }
}
