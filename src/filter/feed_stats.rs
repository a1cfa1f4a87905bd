//! The Envoy stats of the feed of keys.

use proxy_wasm::types::MetricType::{Counter, Gauge};

use super::host;
use crate::feed::Reason;

/// The stats that reading a feed keeps.
#[derive(Debug)]
pub(super) struct FeedStats {
    version: Option<u32>,
    keys: Option<u32>,
    age_ms: Option<u32>,
    changes: Option<u32>,
    stale: Option<u32>,
    unreachable: Option<u32>,
    invalid: Option<u32>,
    oversize: Option<u32>,
    behind: Option<u32>,
    cursor: Option<u32>,
}

impl FeedStats {
    /// Defines them.
    pub(super) fn new() -> Self {
        let rejections = |reason| {
            let name = format!("trilane_keys_feed_rejections_total;reason={reason};");
            host::metric(Counter, &name)
        };
        Self {
            version: host::metric(Gauge, "trilane_keys_feed_version"),
            keys: host::metric(Gauge, "trilane_keys_feed_keys"),
            age_ms: host::metric(Gauge, "trilane_keys_feed_age_ms"),
            changes: host::metric(Counter, "trilane_keys_feed_changes_total"),
            stale: host::metric(Counter, "trilane_keys_feed_stale_total"),
            unreachable: rejections("unreachable"),
            invalid: rejections("invalid"),
            oversize: rejections("oversize"),
            behind: rejections("behind"),
            cursor: rejections("cursor"),
        }
    }

    /// The feed's version, and how many keys it has.
    pub(super) fn stands(&self, version: u64, keys: u64) {
        host::record(self.version, version);
        host::record(self.keys, keys);
    }

    /// How long ago the feed last said that there is nothing more.
    pub(super) fn age(&self, milliseconds: u64) {
        host::record(self.age_ms, milliseconds);
    }

    /// Changes were written, or were older than what is known.
    pub(super) fn changes(&self, taken: u64, stale: u64) {
        host::add(self.changes, taken);
        host::add(self.stale, stale);
    }

    /// An answer was not used, or not all of it.
    pub(super) fn rejected(&self, reason: Reason) {
        let counter = match reason {
            Reason::Unreachable => self.unreachable,
            Reason::Invalid => self.invalid,
            Reason::Oversize => self.oversize,
            Reason::Behind => self.behind,
            Reason::Cursor => self.cursor,
        };
        host::add(counter, 1);
    }
}
