//! The stats of the spend feed.

use crate::feed::Reason;
use crate::host::{StatId, StatKind, Stats};

/// The stats that a loader keeps of a spend feed.
#[derive(Debug)]
pub struct SpendStats {
    age_ms: StatId,
    changes: StatId,
    unreachable: StatId,
    invalid: StatId,
    oversize: StatId,
}

impl SpendStats {
    /// Defines them.
    pub fn define(stats: &impl Stats) -> Self {
        let counter = |name: &str| stats.define(StatKind::Counter, name);
        let rejections = |reason| {
            let name = format!("trilane_spend_feed_rejections_total;reason={reason};");
            counter(&name)
        };
        Self {
            age_ms: stats.define(StatKind::Gauge, "trilane_spend_feed_age_ms"),
            changes: counter("trilane_spend_feed_changes_total"),
            unreachable: rejections("unreachable"),
            invalid: rejections("invalid"),
            oversize: rejections("oversize"),
        }
    }

    /// Records the time since the feed last said that there is nothing more.
    pub fn age(&self, milliseconds: u64, stats: &impl Stats) {
        stats.record(self.age_ms, milliseconds);
    }

    /// Adds the number of subjects that the feed has told of.
    pub fn changes(&self, count: u64, stats: &impl Stats) {
        stats.add(self.changes, count);
    }

    /// A response was not used.
    pub fn rejected(&self, reason: Reason, stats: &impl Stats) {
        let counter = match reason {
            Reason::Unreachable => self.unreachable,
            Reason::Oversize => self.oversize,
            Reason::Invalid | Reason::Behind | Reason::Cursor => self.invalid,
        };
        stats.add(counter, 1);
    }
}
