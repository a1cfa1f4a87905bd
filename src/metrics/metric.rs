//! One gauge or histogram of Envoy's. Counters have [a file of their own](super::batch).

use crate::host::{StatId, StatKind, Stats};

/// A stat, defined when it is first used.
#[derive(Debug, Default)]
pub(super) struct Metric(StatId);

impl Metric {
    /// Defines it under this name, if it is not yet.
    fn define(
        &mut self,
        kind: StatKind,
        name: impl FnOnce() -> String,
        stats: &impl Stats,
    ) -> StatId {
        if self.0.is_none() {
            self.0 = stats.define(kind, &name());
        }
        self.0
    }

    /// Sets a gauge of this name.
    pub(super) fn set(&mut self, value: u64, name: impl FnOnce() -> String, stats: &impl Stats) {
        let id = self.define(StatKind::Gauge, name, stats);
        stats.record(id, value);
    }

    /// Puts a value into a histogram of this name.
    pub(super) fn observe(
        &mut self,
        value: u64,
        name: impl FnOnce() -> String,
        stats: &impl Stats,
    ) {
        let id = self.define(StatKind::Histogram, name, stats);
        stats.record(id, value);
    }
}
