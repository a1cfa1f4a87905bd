//! Compaction: dropping tombstones, so that the store stays as large as what it holds.
//!
//! A tombstone keeps a key from coming back with an older page. A million short-lived keys a day leave as many of them,
//! and a lookup reads a whole bucket. So:
//!
//! 1. When more records have become tombstones than there are keys (and than [`TOMBSTONES`](super::state::TOMBSTONES)), a full sync is due. It costs
//!    at most as many keys as were removed since the last one. The incremental sync goes on between its pages, so that a
//!    revocation does not wait for its end.
//! 2. When the full sync is complete, its epoch is the watermark. Every record below it is dropped, some buckets with each
//!    page.
//!
//! Only records below the watermark are dropped, never a tombstone of the present epoch. So a loader that was held up in the middle of
//! a page, and has lost its lease since, cannot bring a dropped key back: what it writes is below the watermark too.
//!
//! Without a tombstone, a change up to the version that was settled then is still refused, except in two syncs. A full sync
//! takes it, and so it takes what tombstones below the watermark are for. A rollback sync takes what was never seen here, because keys
//! made after the rollback have such versions; it refuses what is at most [`Compaction::version`](super::state::Compaction::version).

use super::state::SyncMode;
use super::sync::FeedSync;
use crate::keys::bucket;
use crate::keys::codec::Stamp;
use crate::shared_data::SharedData;

/// The number of buckets compacted with each page: a fraction of what the page itself takes, and all of them within 512 pages.
const BUCKETS: u16 = 64;

impl FeedSync {
    /// Returns the reason for a full sync, where there are more tombstones than keys.
    pub(super) fn compaction_due(&self) -> Option<&'static str> {
        let state = &self.state;
        let due = state.mode == SyncMode::Incremental
            && state.tombstones > state.live.max(self.tombstone_limit);
        due.then_some("there are more tombstones than keys")
    }

    /// Begins a compaction after a full sync, where it is worth its while. One that is under way begins anew: what it drops from now on is
    /// below the new watermark.
    pub(super) fn begin_compaction(&mut self) {
        let state = &mut self.state;
        if state.tombstones > self.tombstone_limit || state.compaction.left > 0 {
            state.compaction.begin(state.settled);
            state.tombstones = 0;
        }
    }

    /// Compacts the next buckets.
    pub(super) fn compact(&mut self, shared: &impl SharedData) {
        for _ in 0..self.state.compaction.left.min(BUCKETS) {
            let next = self.state.compaction.next;
            self.compact_bucket(next, shared);
            let compaction = &mut self.state.compaction;
            compaction.next = next.wrapping_add(1) & (bucket::COUNT - 1);
            compaction.left = compaction.left.saturating_sub(1);
        }
    }

    /// Drops the records of a bucket that are below the watermark. Where somebody else writes it at this moment, they stay until
    /// the next compaction.
    pub(super) fn compact_bucket(&mut self, bucket: u16, shared: &impl SharedData) {
        let watermark = self.state.watermark;
        // What cannot be read may be a key.
        let keep = |record: &[u8]| Stamp::peek(record).is_none_or(|stamp| stamp.epoch >= watermark);
        self.buckets.retain(bucket, keep, shared);
    }
}
