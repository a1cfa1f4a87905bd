//! Beginning to read a feed, or going on where another loader was.

use super::reading::Reading;
use super::state::{State, Stored};
use super::{Coverage, Event, FeedSource};
use crate::config::snapshot::{self, Peeked};
use crate::shared_data::SharedData;

impl Reading {
    /// Takes the reading of this feed up where whoever loaded before has left it, as far as that is
    /// of use. `None` for the event where it just goes on.
    pub fn take_up(
        source: &FeedSource,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> (Self, Option<Event>) {
        let policy = shared.get(snapshot::POLICY).0;
        let policy = policy.as_deref().and_then(snapshot::peek);
        let floor = policy
            .as_ref()
            .and_then(|p| p.feed)
            .map_or(0, |gate| gate.floor);
        let mut state = match State::stored(shared) {
            // Should the last write before a crash have been the policy's, its floor is the newer.
            Stored::State(state) if state.epoch >= floor => State {
                floor: state.floor.max(floor),
                ..state
            },
            Stored::State(state) => lost(state.epoch, policy.as_ref()),
            Stored::Unreadable(epoch) => lost(epoch, policy.as_ref()),
            Stored::Absent => lost(0, policy.as_ref()),
        };
        // A policy in force that names no feed, whatever the state says of one before: nothing of
        // that one is good any more.
        let named_none = policy.is_some_and(|policy| policy.feed.is_none());
        if named_none {
            state.source = None;
        }
        Self::turn(state, source, shared, now_ms)
    }

    /// Reads this feed from now on.
    pub fn turn_to(
        self,
        source: &FeedSource,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> (Self, Option<Event>) {
        Self::turn(self.into_state(), source, shared, now_ms)
    }

    fn turn(
        mut state: State,
        source: &FeedSource,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> (Self, Option<Event>) {
        let former = state.source.replace(source.clone());
        let why = match former {
            Some(former) if former == *source && (state.full || state.cursor.is_some()) => {
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
                state.keys = 0;
                state.begin(now_ms);
                state.floor = state.epoch;
                "the document names a feed"
            }
        };
        state.adopt(None);
        state.store(shared);
        (Self::of(state), Some(Event::Begun(why)))
    }

    /// The document names no feed any more.
    pub fn end(shared: &impl SharedData) {
        let mut state = match State::stored(shared) {
            Stored::Absent => return,
            Stored::State(state) if state.source.is_none() => return,
            Stored::State(state) => state,
            Stored::Unreadable(epoch) => State {
                epoch,
                ..State::default()
            },
        };
        state.source = None;
        state.store(shared);
    }
}

/// What is left to know where the state cannot be read: what the policy in force says. The reading
/// begins anew.
fn lost(epoch: u64, policy: Option<&Peeked>) -> State {
    let gate = policy.and_then(|policy| policy.feed).unwrap_or_default();
    let named = policy.and_then(|policy| policy.document.keys_feed.as_ref());
    State {
        source: named.map(FeedSource::named_by),
        epoch,
        floor: gate.floor,
        coverage: gate.coverage,
        ..State::default()
    }
}
