//! Beginning to synchronise with a feed, or resuming where another loader was.

use super::SyncEvent;
use super::state::{FeedState, StoredState};
use super::sync::FeedSync;
use crate::config::FeedSource;
use crate::config::snapshot::{self, Snapshot};
use crate::keys::Coverage;
use crate::shared_data::SharedData;

impl FeedSync {
    /// Resumes the synchronisation with this feed where the loader before left it, as far as that is
    /// of use. `None` for the event where it just goes on.
    pub fn resume(
        source: &FeedSource,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> (Self, Option<SyncEvent>) {
        let policy = shared.get(snapshot::POLICY).0;
        let policy = policy.and_then(|bytes| Snapshot::read(bytes).ok());
        let watermark = policy
            .as_ref()
            .and_then(|p| p.feed)
            .map_or(0, |status| status.watermark);
        let mut state = match FeedState::stored(shared) {
            // Should the last write before a crash have been the policy's, its watermark is the newer.
            StoredState::State(state) if state.epoch >= watermark => FeedState {
                watermark: state.watermark.max(watermark),
                ..*state
            },
            StoredState::State(state) => lost(state.epoch, policy.as_ref()),
            StoredState::Unreadable(epoch) => lost(epoch, policy.as_ref()),
            StoredState::Absent => lost(0, policy.as_ref()),
        };
        // A policy in force that names no feed, whatever the state says of one before: nothing of
        // that one is good any more.
        let named_none = policy.is_some_and(|policy| policy.feed.is_none());
        if named_none {
            state.source = None;
        }
        Self::follow(state, source, shared, now_ms)
    }

    /// Switches to this feed.
    pub fn switch_source(
        self,
        source: &FeedSource,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> (Self, Option<SyncEvent>) {
        Self::follow(self.into_state(), source, shared, now_ms)
    }

    fn follow(
        mut state: FeedState,
        source: &FeedSource,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> (Self, Option<SyncEvent>) {
        let former = state.source.replace(source.clone());
        let why = match former {
            Some(former) if former == *source && (state.is_listing() || state.cursor.is_some()) => {
                return (Self::of(state), None);
            }
            Some(former) if former == *source => {
                state.begin(now_ms);
                "how far it was cannot be told"
            }
            Some(_) => {
                state.coverage = match state.coverage {
                    Coverage::Nothing => Coverage::Nothing,
                    Coverage::Former | Coverage::Whole => Coverage::Former,
                };
                state.begin(now_ms);
                "the document names another feed"
            }
            None => {
                state.coverage = Coverage::Nothing;
                state.begin(now_ms);
                state.raise_watermark();
                "the document names a feed"
            }
        };
        state.adopt(None);
        state.store(shared);
        (Self::of(state), Some(SyncEvent::Begun(why)))
    }

    /// The document names no feed any more.
    pub fn end(shared: &impl SharedData) {
        let mut state = match FeedState::stored(shared) {
            StoredState::Absent => return,
            StoredState::State(state) if state.source.is_none() => return,
            StoredState::State(state) => *state,
            StoredState::Unreadable(epoch) => FeedState {
                epoch,
                ..FeedState::default()
            },
        };
        state.source = None;
        state.store(shared);
    }
}

/// Returns the state to begin with where the stored one cannot be read: it has what the policy in force says. A full sync
/// begins.
fn lost(epoch: u64, policy: Option<&Snapshot>) -> FeedState {
    let status = policy.and_then(|policy| policy.feed).unwrap_or_default();
    let named = policy.and_then(|policy| policy.document.keys_feed.as_ref());
    FeedState {
        source: named.map(FeedSource::of_keys),
        epoch,
        watermark: status.watermark,
        coverage: status.coverage,
        ..FeedState::default()
    }
}
