//! The stats of the ledger, where the document wants no request without a line.

use crate::host::{StatId, StatKind, Stats};

/// The stats that a loader keeps of the ledger.
#[derive(Debug)]
pub struct LedgerStats {
    unwritable: StatId,
    age_ms: StatId,
}

impl LedgerStats {
    /// Defines them.
    pub fn define(stats: &impl Stats) -> Self {
        let gauge = |name| stats.define(StatKind::Gauge, name);
        Self {
            unwritable: gauge("trilane_ledger_unwritable"),
            age_ms: gauge("trilane_ledger_answer_age_ms"),
        }
    }

    /// Records whether requests are refused, and the time since somebody last said whether the ledger can be written.
    pub fn stands(&self, unwritable: bool, age_ms: u64, stats: &impl Stats) {
        stats.record(self.unwritable, u64::from(unwritable));
        stats.record(self.age_ms, age_ms);
    }
}
