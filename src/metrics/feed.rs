//! The stats of the keys feed.

use crate::feed::Reason;
use crate::host::{StatId, StatKind, Stats};

/// The stats that a loader keeps of a feed.
#[derive(Debug)]
pub struct FeedStats {
    version: StatId,
    keys: StatId,
    age_ms: StatId,
    changes: StatId,
    stale: StatId,
    unreachable: StatId,
    invalid: StatId,
    oversize: StatId,
    behind: StatId,
    cursor: StatId,
}

impl FeedStats {
    /// Defines them.
    pub fn define(stats: &impl Stats) -> Self {
        let gauge = |name| stats.define(StatKind::Gauge, name);
        let counter = |name| stats.define(StatKind::Counter, name);
        let rejections = |reason| {
            let name = format!("trilane_keys_feed_rejections_total;reason={reason};");
            stats.define(StatKind::Counter, &name)
        };
        Self {
            version: gauge("trilane_keys_feed_version"),
            keys: gauge("trilane_keys_feed_keys"),
            age_ms: gauge("trilane_keys_feed_age_ms"),
            changes: counter("trilane_keys_feed_changes_total"),
            stale: counter("trilane_keys_feed_stale_total"),
            unreachable: rejections("unreachable"),
            invalid: rejections("invalid"),
            oversize: rejections("oversize"),
            behind: rejections("behind"),
            cursor: rejections("cursor"),
        }
    }

    /// The feed's version, and how many keys it has.
    pub fn stands(&self, version: u64, keys: u64, stats: &impl Stats) {
        stats.record(self.version, version);
        stats.record(self.keys, keys);
    }

    /// Records the time since the feed last said that there is nothing more.
    pub fn age(&self, milliseconds: u64, stats: &impl Stats) {
        stats.record(self.age_ms, milliseconds);
    }

    /// Changes were written, or were older than what is known.
    pub fn changes(&self, taken: u64, stale: u64, stats: &impl Stats) {
        stats.add(self.changes, taken);
        stats.add(self.stale, stale);
    }

    /// A response was not used, or not all of it.
    pub fn rejected(&self, reason: Reason, stats: &impl Stats) {
        let counter = match reason {
            Reason::Unreachable => self.unreachable,
            Reason::Invalid => self.invalid,
            Reason::Oversize => self.oversize,
            Reason::Behind => self.behind,
            Reason::Cursor => self.cursor,
        };
        stats.add(counter, 1);
    }
}
