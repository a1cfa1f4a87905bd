//! The stats of limits: which of them reject requests, and how often counting failed.
//!
//! A key's id is no label: keys are many. The ledger says whose limit it was.

use hashbrown::HashMap;

use super::batch::{BatchedCounter, CounterBatch};
use crate::host::Stats;
use crate::ledger::Record;
use crate::limits::{Limit, SubjectKind};

/// The stats of the limits of all groups and of their keys.
#[derive(Debug, Default)]
pub(super) struct LimitStats {
    /// By the group's id: the limits that a document names, so there are never many.
    limited: HashMap<String, HashMap<(SubjectKind, Limit), BatchedCounter>>,
    lost: BatchedCounter,
}

impl LimitStats {
    /// Counts what limits did to one exchange.
    pub(super) fn count(&mut self, record: &Record, batch: &mut CounterBatch, stats: &impl Stats) {
        // Defined before its first event: a counter that begins with one shows no increase.
        let name = || "trilane_limit_lost_total".to_owned();
        batch.define(&mut self.lost, name, stats);
        if record.settled.lost {
            batch.add(&mut self.lost, 1, name, stats);
        }
        let Some((scope, limit)) = record.limit else {
            return;
        };
        let group = record.group.as_deref().unwrap_or_default();
        // By what is borrowed: an id is copied only when it is new.
        let limits = self.limited.entry_ref(group).or_default();
        let counter = limits.entry((scope, limit)).or_default();
        let name = || {
            let (limit, scope) = (limit.name(), scope.name());
            format!("trilane_limited_total;group={group};limit={limit};scope={scope};")
        };
        batch.add(counter, 1, name, stats);
    }
}
