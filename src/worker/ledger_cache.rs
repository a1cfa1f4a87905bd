//! The word on the ledger that a VM has read lately.

use std::cell::Cell;

use crate::ledger::writability;
use crate::shared_data::{SharedData, is_fresh};

/// The word on the ledger, as it was ten milliseconds ago at the most. It is read only for policies that want it.
#[derive(Debug, Default)]
pub(super) struct LedgerCache {
    /// The time of the last reading, in microseconds of a steady clock.
    read_us: Cell<u64>,
    unwritable: Cell<bool>,
}

impl LedgerCache {
    /// Whether the ledger cannot be written, as far as is known.
    pub(super) fn is_unwritable(&self, now_us: u64, shared: &impl SharedData) -> bool {
        if !is_fresh(self.read_us.get(), now_us) {
            self.read_us.set(now_us);
            let unwritable = writability::is_unwritable(now_us / 1000, shared);
            self.unwritable.set(unwritable);
        }
        self.unwritable.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Writability;
    use crate::shared_data::FRESH_US;
    use crate::shared_data::fake::FakeSharedData;

    #[test]
    fn the_word_is_read_again_after_a_while() {
        let (shared, cache) = (FakeSharedData::default(), LedgerCache::default());
        let start = 5_000_000_000;
        assert!(!cache.is_unwritable(start, &shared), "nothing is known");
        Writability { writable: false }.publish(start / 1000, &shared);
        for (case, now_us, want) in [
            ("at once", start, false),
            ("a moment before", start + FRESH_US - 1, false),
            ("after a while", start + FRESH_US, true),
        ] {
            assert_eq!(cache.is_unwritable(now_us, &shared), want, "{case}");
        }
        Writability { writable: true }.publish(start / 1000, &shared);
        assert!(!cache.is_unwritable(start + 2 * FRESH_US, &shared));
    }
}
