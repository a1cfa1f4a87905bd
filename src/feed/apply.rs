//! Applying a page to the store.

use super::bucket_writer::{Merged, MergedChanges};
use super::merge::{MergeContext, MergeResult, SyncKind};
use super::page::{Change, Page};
use super::state::{FeedState, SyncMode};
use super::sync::FeedSync;
use super::{SyncEvent, SyncOutcome};
use crate::keys::codec::Stamp;
use crate::keys::{Coverage, bucket};
use crate::shared_data::SharedData;

impl FeedSync {
    /// Applies a page.
    pub(super) fn apply(
        &mut self,
        page: &Page<'_>,
        kind: SyncKind,
        shared: &impl SharedData,
        outcome: &mut SyncOutcome,
    ) {
        let behind = page.version < self.state.head;
        let context = MergeContext {
            kind,
            base: self.state.base,
            watermark: self.state.watermark,
            epoch: self.state.epoch,
            listed_from: self.state.listed_from,
            settled: self.state.settled,
            compacted: self.state.compaction.version,
        };
        let mut written = false;
        let changes: Vec<Change<'_>> = page.changes().collect();
        // A service that lists the keys in the order of their digests has those of a bucket together.
        for changes in changes.chunk_by(|a, b| bucket::of(&a.digest) == bucket::of(&b.digest)) {
            let Some(bucket) = changes.first().map(|change| bucket::of(&change.digest)) else {
                continue;
            };
            let MergedChanges { merged, lost } =
                self.buckets.merge(bucket, &context, changes, shared);
            self.missed |= lost;
            for (change, merged) in changes.iter().zip(merged) {
                if merged.result.writes() {
                    written = true;
                    self.state.count(&context, change.version, merged);
                }
                match merged.result {
                    MergeResult::Taken => outcome.taken = outcome.taken.saturating_add(1),
                    MergeResult::Confirmed | MergeResult::Known => {}
                    MergeResult::Stale { missed } => {
                        self.missed |= missed && change.terms.is_some();
                        outcome.stale = outcome.stale.saturating_add(1);
                    }
                }
            }
        }
        let state = &mut self.state;
        if kind == SyncKind::Full && state.cursor.is_none() {
            state.listed_from = Some(page.version);
        }
        state.head = state.head.max(page.version);
        let cursor = Some(page.cursor.clone().into_owned());
        // Where a page changed nothing, the next may do as little: that must not go round and round.
        outcome.at_once = page.more && written;
        if self.in_between {
            state.changes_cursor = cursor;
            // The full sync goes on.
            outcome.at_once = true;
        } else {
            state.cursor = cursor;
        }
        if page.more {
            return;
        }
        outcome.up_to_date = !behind;
        if kind != SyncKind::Rollback && !behind {
            state.settled = page.version;
        }
        if self.in_between {
            return;
        }
        match (kind, state.mode) {
            (SyncKind::Full, _) => {
                outcome.event = Some(self.complete(page.version));
                outcome.status = Some(self.status());
            }
            (SyncKind::Rollback, SyncMode::Rollback { listed: false }) => {
                state.mode = SyncMode::Rollback { listed: true };
                let (version, head) = (page.version, state.head);
                outcome.event = Some(SyncEvent::CompleteButBehind { version, head });
            }
            _ => {}
        }
    }

    /// The full sync is complete.
    fn complete(&mut self, version: u64) -> SyncEvent {
        let state = &mut self.state;
        state.raise_watermark();
        state.mode = SyncMode::Incremental;
        state.changes_cursor = None;
        state.coverage = Coverage::Whole;
        let keys = state.keys;
        self.missed = false;
        self.begin_compaction();
        SyncEvent::Complete { version, keys }
    }
}

impl FeedState {
    /// Counts a record of this version that was written in place of another one.
    fn count(&mut self, context: &MergeContext, version: u64, merged: &Merged) {
        let Merged {
            before,
            live,
            enabled,
            ..
        } = *merged;
        let before = before.filter(|stamp| !stamp.removed);
        let was_enabled = before.filter(|stamp| !stamp.disabled);
        let given = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| stamp.epoch == context.epoch);
        let gives = context.epoch_of(version) == context.epoch;
        count(&mut self.keys, context.is_live(was_enabled), enabled);
        count(&mut self.given, given(was_enabled), enabled && gives);
        count(&mut self.live, context.is_live(before), live);
        count(&mut self.given_live, given(before), live && gives);
        if !live {
            self.tombstones = self.tombstones.saturating_add(1);
        }
    }
}

/// Counts one more or one less, where that changes.
fn count(number: &mut u64, before: bool, after: bool) {
    match (before, after) {
        (false, true) => *number = number.saturating_add(1),
        (true, false) => *number = number.saturating_sub(1),
        _ => {}
    }
}
