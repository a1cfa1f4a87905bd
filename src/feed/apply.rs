//! Applying a page to the store.

use super::merge::{MergeContext, MergeResult, SyncKind};
use super::page::{Change, Page};
use super::state::Mode;
use super::sync::FeedSync;
use super::{SyncEvent, SyncOutcome};
use crate::keys::codec::{Stamp, encode_fed};
use crate::keys::{Coverage, Unreadable, bucket};
use crate::shared_data::SharedData;

/// How often a bucket is written again that a loader which has just lost its lease writes at the same time.
const ATTEMPTS: u32 = 8;

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
            settled: self.state.settled,
            compacted: self.state.compaction.version,
        };
        let mut written = false;
        for change in page.changes() {
            match self.change(&context, &change, shared) {
                MergeResult::Taken => {
                    written = true;
                    outcome.taken = outcome.taken.saturating_add(1);
                }
                MergeResult::Confirmed => written = true,
                MergeResult::Known => {}
                MergeResult::Stale { missed } => {
                    self.missed |= missed && change.terms.is_some();
                    outcome.stale = outcome.stale.saturating_add(1);
                }
            }
        }
        let state = &mut self.state;
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
            (SyncKind::Rollback, Mode::Rollback { listed: false }) => {
                state.mode = Mode::Rollback { listed: true };
                let (version, head) = (page.version, state.head);
                outcome.event = Some(SyncEvent::CompleteButBehind { version, head });
            }
            _ => {}
        }
    }

    /// Writes what a change says, if it is to be written.
    fn change(
        &mut self,
        context: &MergeContext,
        change: &Change<'_>,
        shared: &impl SharedData,
    ) -> MergeResult {
        bucket::write_name(bucket::of(&change.digest), &mut self.name);
        for _ in 0..ATTEMPTS {
            let (old, version) = shared.get(&self.name);
            let old = old.unwrap_or_default();
            let (slot, old) = match bucket::find(&old, &change.digest) {
                Ok(slot) => (slot, old.as_slice()),
                Err(Unreadable) => {
                    // Others' records are gone with it: a full sync brings them back.
                    self.missed = true;
                    (None, Default::default())
                }
            };
            let stored = slot.and_then(|slot| Stamp::peek(slot.record));
            let merge = context.merge(stored, change.version);
            let (live, enabled) = match merge {
                MergeResult::Taken => {
                    let terms = change.terms.as_ref();
                    encode_fed(context.epoch, change.version, terms, &mut self.bytes);
                    (terms.is_some(), terms.is_some_and(|terms| !terms.disabled))
                }
                MergeResult::Confirmed => {
                    self.bytes.clear();
                    let record = slot.map_or(&[][..], |slot| slot.record);
                    self.bytes.extend_from_slice(record);
                    Stamp::confirm(context.epoch, &mut self.bytes);
                    (
                        stored.is_some_and(|stamp| !stamp.removed),
                        stored.is_some_and(Stamp::is_enabled),
                    )
                }
                MergeResult::Known | MergeResult::Stale { .. } => return merge,
            };
            bucket::put(old, slot, &change.digest, &self.bytes, &mut self.bucket);
            if shared.set(&self.name, &self.bucket, version).is_err() {
                continue;
            }
            self.count(context, stored, live, enabled);
            return merge;
        }
        // Somebody else writes all the time: what is missed now comes with a full sync.
        self.missed = true;
        MergeResult::Known
    }

    /// Counts a record that was written in place of this one.
    fn count(&mut self, context: &MergeContext, before: Option<Stamp>, live: bool, enabled: bool) {
        let state = &mut self.state;
        let before = before.filter(|stamp| !stamp.removed);
        let was_enabled = before.filter(|stamp| !stamp.disabled);
        let given = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| stamp.epoch == context.epoch);
        count(&mut state.keys, context.is_live(was_enabled), enabled);
        count(&mut state.given, given(was_enabled), enabled);
        count(&mut state.live, context.is_live(before), live);
        count(&mut state.given_live, given(before), live);
        if !live {
            state.tombstones = state.tombstones.saturating_add(1);
        }
    }

    /// The full sync is complete.
    fn complete(&mut self, version: u64) -> SyncEvent {
        let state = &mut self.state;
        state.raise_watermark();
        state.mode = Mode::Incremental;
        state.changes_cursor = None;
        state.coverage = Coverage::Whole;
        let keys = state.keys;
        self.missed = false;
        self.begin_compaction();
        SyncEvent::Complete { version, keys }
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
