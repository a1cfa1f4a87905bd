//! The stats of limits: which of them reject requests, and how often counting failed.
//!
//! A key's id is no label: keys are many. The ledger says whose limit it was.

use hashbrown::HashMap;

use super::metric::Metric;
use crate::host::{StatKind, Stats};
use crate::ledger::Record;
use crate::limits::{Limit, Scope};

/// The stats of the limits of all groups and of their keys.
#[derive(Debug, Default)]
pub(super) struct LimitStats {
    /// By the group's id: the limits that a document names, so there are never many.
    limited: HashMap<String, HashMap<(Scope, Limit), Metric>>,
    lost: Metric,
}

impl LimitStats {
    /// Counts what limits did to one exchange.
    pub(super) fn count(&mut self, record: &Record, stats: &impl Stats) {
        // Defined before its first event: a counter that begins with one shows no increase.
        let name = || "trilane_limit_lost_total".to_owned();
        let lost = self.lost.define(StatKind::Counter, name, stats);
        if record.settled.lost {
            stats.add(lost, 1);
        }
        let Some((scope, limit)) = record.limit else {
            return;
        };
        let group = record.group.as_deref().unwrap_or_default();
        // By what is borrowed: an id is copied only when it is new.
        let limits = self.limited.entry_ref(group).or_default();
        let metric = limits.entry((scope, limit)).or_default();
        let name = || {
            let (limit, scope) = (limit.name(), scope.name());
            format!("trilane_limited_total;group={group};limit={limit};scope={scope};")
        };
        metric.add(1, name, stats);
    }
}
