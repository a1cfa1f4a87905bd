//! Writing what a page says.

use super::bucket;
use super::judge::{Bench, Trust, Verdict};
use super::page::{Change, Page};
use super::reading::Reading;
use super::record::{Stamp, encode};
use super::{Coverage, Event, Outcome};
use crate::config::record::Unreadable;
use crate::shared_data::SharedData;

/// How often a bucket is written anew that a loader which has just lost its lease writes at the same time.
const ATTEMPTS: u32 = 8;

impl Reading {
    /// Takes a page that is trusted so far.
    pub(super) fn apply(
        &mut self,
        page: &Page<'_>,
        trust: Trust,
        shared: &impl SharedData,
        outcome: &mut Outcome,
    ) {
        let behind = page.version < self.state.head;
        let bench = Bench {
            trust,
            base: self.state.base,
            floor: self.state.floor,
            epoch: self.state.epoch,
            settled: self.state.settled,
        };
        let mut written = false;
        for change in page.changes() {
            match self.change(&bench, &change, shared) {
                Verdict::Taken => {
                    written = true;
                    outcome.taken = outcome.taken.saturating_add(1);
                }
                Verdict::Confirmed => written = true,
                Verdict::Known => {}
                Verdict::Stale { missed } => {
                    self.doubt |= missed && change.terms.is_some();
                    outcome.stale = outcome.stale.saturating_add(1);
                }
            }
        }
        let state = &mut self.state;
        state.head = state.head.max(page.version);
        state.cursor = Some(page.cursor.clone().into_owned());
        // Where a page changed nothing, the next may do as little: that must not go round and round.
        outcome.at_once = page.more && written;
        if page.more {
            return;
        }
        outcome.up_to_date = !behind;
        if trust != Trust::SetBack && !behind {
            state.settled = page.version;
        }
        if core::mem::take(&mut state.full) {
            outcome.event = Some(self.complete(trust, page.version));
            outcome.gate = (trust == Trust::Full).then(|| self.gate());
        }
    }

    /// Writes what a change says, where it is to be.
    fn change(&mut self, bench: &Bench, change: &Change<'_>, shared: &impl SharedData) -> Verdict {
        bucket::write_name(&change.digest, &mut self.name);
        for _ in 0..ATTEMPTS {
            let (old, version) = shared.get(&self.name);
            let old = old.unwrap_or_default();
            let (found, old) = match bucket::find(&old, &change.digest) {
                Ok(found) => (found, old.as_slice()),
                Err(Unreadable) => {
                    // Others' records are gone with it: a full reading brings them back.
                    self.doubt = true;
                    (None, Default::default())
                }
            };
            let stored = found.and_then(|found| Stamp::peek(found.record));
            let verdict = bench.judge(stored, change.version);
            let good = match verdict {
                Verdict::Taken => {
                    let terms = change.terms.as_ref();
                    encode(bench.epoch, change.version, terms, &mut self.bytes);
                    terms.is_some_and(|terms| !terms.disabled)
                }
                Verdict::Confirmed => {
                    self.bytes.clear();
                    let record = found.map_or(&[][..], |found| found.record);
                    self.bytes.extend_from_slice(record);
                    Stamp::confirm(bench.epoch, &mut self.bytes);
                    stored.is_some_and(Stamp::is_good)
                }
                Verdict::Known | Verdict::Stale { .. } => return verdict,
            };
            bucket::put(old, found, &change.digest, &self.bytes, &mut self.bucket);
            if shared.set(&self.name, &self.bucket, version).is_err() {
                continue;
            }
            let was = stored.filter(|stamp| stamp.is_good());
            let lived = bench.is_live(was);
            let given = was.is_some_and(|stamp| stamp.epoch == bench.epoch);
            count(&mut self.state.keys, lived, good);
            count(&mut self.state.given, given, good);
            return verdict;
        }
        // Somebody else writes all the time: what is missed now comes with a full reading.
        self.doubt = true;
        Verdict::Known
    }

    /// The full reading has come to its end.
    fn complete(&mut self, trust: Trust, version: u64) -> Event {
        let state = &mut self.state;
        if trust == Trust::SetBack {
            let head = state.head;
            return Event::CompleteButBehind { version, head };
        }
        state.floor = state.epoch;
        state.coverage = Coverage::Whole;
        state.keys = state.given;
        self.doubt = false;
        Event::Complete {
            version,
            keys: state.keys,
        }
    }
}

/// One more or one less, where that changes.
fn count(number: &mut u64, before: bool, after: bool) {
    match (before, after) {
        (false, true) => *number = number.saturating_add(1),
        (true, false) => *number = number.saturating_sub(1),
        _ => {}
    }
}
