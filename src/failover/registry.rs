//! State that the filters of one VM share: the requests whose attempts are under way, and the known state of the accounts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::active_keys::KeyMark;
use super::moved::{self, Move};
use super::recent_states::RecentStates;
use super::request::RequestAttempts;
use super::states::{self, AccountEvent, States};
use super::usage_option::{KnownOption, WayMark};
use crate::config::account::Accounts;
use crate::host::{Clocks, Stats};
use crate::shared_data::SharedData;

/// The maximum number of requests that are remembered: more than one worker has under way.
const MOST: usize = 100_000;

/// The attempts of the requests under way, by the id that Envoy gave the request, and the accounts' states.
///
/// All filters of a VM share one: the gateway's filter begins an entry and ends it, those that see attempts look it up.
#[derive(Debug, Default)]
pub struct Registry {
    requests: RefCell<HashMap<SmolStr, Rc<RequestAttempts>>>,
    hop: Cell<bool>,
    states: RecentStates,
    usage_option: KnownOption,
}

impl Registry {
    /// The filter on the way to the account hop is of this VM.
    pub fn note_hop(&self) {
        self.hop.set(true);
    }

    /// Whether the filter on the way to the account hop is of this VM. It is not where the gateway's filter alone was
    /// replaced (ECDS); and after a crash, until it is needed.
    pub fn has_hop(&self) -> bool {
        self.hop.get()
    }

    /// Begins a request. Gives whether it is remembered.
    pub fn begin(&self, id: &SmolStr, attempts: &Rc<RequestAttempts>) -> bool {
        let Ok(mut requests) = self.requests.try_borrow_mut() else {
            return false;
        };
        let room = requests.len() < MOST && !requests.contains_key(id);
        if room {
            requests.insert(id.clone(), Rc::clone(attempts));
        }
        room
    }

    /// The attempts of a request.
    pub fn find(&self, id: &[u8]) -> Option<Rc<RequestAttempts>> {
        let id = core::str::from_utf8(id).ok()?;
        self.requests.try_borrow().ok()?.get(id).map(Rc::clone)
    }

    /// Returns the known state of a source's accounts: at the most ten milliseconds old, but for what this VM has noted since.
    pub fn states(&self, now_us: u64, source: &str, shared: &impl SharedData) -> Rc<States> {
        self.states.at(now_us, source, shared)
    }

    /// Notes what became of an attempt at the account with this index, for all workers; nothing of an only account, which nothing
    /// is chosen by.
    pub fn note(
        &self,
        event: AccountEvent,
        source: &str,
        accounts: &Accounts,
        index: usize,
        host: &(impl SharedData + Clocks + Stats),
    ) {
        if accounts.are_alternatives() {
            states::note(event, source, accounts, index, host);
            self.states.forget(source);
        }
    }

    /// Notes that a key uses a source, for all workers.
    pub fn note_use(&self, source: &str, key: KeyMark, host: &(impl SharedData + Clocks)) {
        states::note_use(source, key, host);
        self.states.forget(source);
    }

    /// Notes where a conversation of a source was answered, for all workers.
    pub fn note_move(&self, change: Move, source: &str, host: &(impl SharedData + Clocks)) {
        moved::note(change, source, host.steady_us(), host);
        self.states.forget(source);
    }

    /// Whether the account of a way takes the option that makes a stream report its usage; `None` where it is not known.
    pub fn takes_usage_option(
        &self,
        way: WayMark,
        now_us: u64,
        shared: &impl SharedData,
    ) -> Option<bool> {
        self.usage_option.takes(way, now_us, shared)
    }

    /// Notes whether the account of a way takes that option, for all workers.
    pub fn note_usage_option(&self, way: WayMark, takes: bool, host: &(impl SharedData + Clocks)) {
        self.usage_option.note(way, takes, host);
    }

    /// The request is over.
    pub fn end(&self, id: &str) {
        if let Ok(mut requests) = self.requests.try_borrow_mut() {
            requests.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{request, source};
    use super::*;

    #[test]
    fn requests_begin_and_end() {
        let registry = Registry::default();
        let one = Rc::new(request(&source(2), 0, 2));
        assert!(registry.begin(&"a".into(), &one), "the first");
        assert!(!registry.begin(&"a".into(), &one), "an id is one request's");
        assert!(registry.find(b"a").is_some(), "under way");
        for id in [&b"b"[..], b"", b"\xff"] {
            assert!(registry.find(id).is_none(), "{id:?} is not");
        }
        registry.end("a");
        assert!(registry.find(b"a").is_none(), "over");
        assert_eq!(Rc::strong_count(&one), 1, "nothing is kept");
    }
}
