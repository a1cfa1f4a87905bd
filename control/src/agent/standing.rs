//! The state of an agent: what it has, and what is in its way. It tells the console, and the operator.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trilane_console::cases::EnvoyReport;

use super::backlog::LedgerBacklog;

/// The number of documents that are known by their numbers: those that an Envoy may still have in force.
const DOCUMENTS: usize = 8;

/// The state of an agent.
pub struct AgentProgress {
    state: Mutex<StandingState>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

#[derive(Debug, Default)]
struct StandingState {
    /// The documents that have come, by their numbers; the last is the present one.
    documents: VecDeque<(u64, String)>,
    /// The digest of the one that Envoy says is in force; empty: none that is known. `None`: Envoy is not asked.
    in_force: Option<String>,
    keys: Option<u64>,
    backlog: LedgerBacklog,
    sent: SentCounts,
    faults: LedgerFaults,
    /// Requests of Envoys that have ended and that the ledger has no line of.
    lost: u64,
    /// The room that a ballast beside the ledger holds, in bytes.
    ballast: u64,
    troubles: BTreeMap<&'static str, String>,
    /// The time at which each part of the work last had nothing left to do; at first, the time of its start.
    up_to_date: BTreeMap<&'static str, Instant>,
}

/// The numbers of ledger batches and lines, by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentCounts {
    /// Batches that the console took.
    pub taken: u64,
    /// Batches instead of which the console wants others.
    pub elsewhere: u64,
    /// Batches that were not taken.
    pub failed: u64,
    /// Lines that the console counted.
    pub counted: u64,
    /// Lines that the console kept aside.
    pub aside: u64,
}

/// Changes that others have made to the ledger's files, so that lines may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerFaults {
    /// The number of times that the open file has become shorter.
    pub shortened: u64,
    /// Files that are gone before the console had all of them.
    pub gone: u64,
}

/// The state of an agent at a moment, for its metrics.
#[derive(Debug)]
pub struct AgentStanding {
    /// The digest of the document.
    pub document: Option<String>,
    /// The version of the feed of keys.
    pub keys: Option<u64>,
    /// Bytes of the ledger that the console does not have.
    pub ledger_waiting: u64,
    /// The age of the oldest of them.
    pub ledger_age: Duration,
    /// The numbers of ledger batches and lines, by outcome.
    pub sent: SentCounts,
    /// Changes that others have made to its files.
    pub faults: LedgerFaults,
    /// Requests of Envoys that have ended and that it has no line of.
    pub lost: u64,
    /// The room that a ballast beside it holds, in bytes.
    pub ballast: u64,
    /// The parts of the work: since when each had nothing left to do, and whether nothing is in its way.
    pub parts: Vec<(&'static str, Duration, bool)>,
}

impl AgentProgress {
    /// An agent that has nothing yet. `tell` gets what is new, in lines.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::default(),
            tell: Box::new(tell),
        }
    }

    fn state(&self) -> MutexGuard<'_, StandingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something.
    pub fn tell(&self, line: &str) {
        (self.tell)(line);
    }

    /// Records the trouble with `what`; `None` clears it. It is reported when it begins, changes and ends.
    pub fn note(&self, what: &'static str, trouble: Option<&str>) {
        let before = {
            let mut state = self.state();
            match trouble {
                Some(trouble) => state.troubles.insert(what, trouble.to_owned()),
                None => state.troubles.remove(what),
            }
        };
        match (before, trouble) {
            (None, Some(new)) => self.tell(&format!("{what}: {new}")),
            (Some(old), Some(new)) if old != new => self.tell(&format!("{what}: {new}")),
            (Some(_), None) => self.tell(&format!("{what}: goes on")),
            _ => {}
        }
    }

    /// The document with this digest is there, which Envoy shows by this number.
    pub fn has_document(&self, digest: &str, number: u64) {
        let documents = &mut self.state().documents;
        documents.retain(|(known, _)| *known != number);
        documents.push_back((number, digest.to_owned()));
        if documents.len() > DOCUMENTS {
            documents.pop_front();
        }
    }

    /// Envoy shows that the document with this number is in force, or shows nothing. Whether that is the present one.
    pub fn gateway_shows(&self, number: Option<u64>) -> bool {
        let mut state = self.state();
        let mut documents = state.documents.iter().rev();
        let found = documents.find(|(known, _)| Some(*known) == number);
        let found = found.map(|(_, digest)| digest.clone());
        state.in_force = Some(found.unwrap_or_default());
        let present = state.documents.back();
        present.is_some_and(|(known, _)| Some(*known) == number)
    }

    /// All keys up to this version of the feed are there.
    pub fn has_keys(&self, version: u64) {
        self.state().keys = Some(version);
    }

    /// Records the number of bytes of the ledger that are not sent yet.
    pub fn has_waiting(&self, bytes: u64) {
        self.state().backlog.wait(bytes, Instant::now());
    }

    /// The console has so many bytes of the ledger more.
    pub fn has_acknowledged(&self, bytes: u64) {
        self.state().backlog.acknowledge(bytes);
    }

    /// Counts a batch of the ledger.
    pub fn count_sent(&self, count: impl FnOnce(&mut SentCounts)) {
        count(&mut self.state().sent);
    }

    /// Counts what somebody else has done to the ledger's files.
    pub fn count_fault(&self, count: impl FnOnce(&mut LedgerFaults)) {
        count(&mut self.state().faults);
    }

    /// Counts further requests that have no line.
    pub fn count_lost(&self, requests: u64) {
        let lost = &mut self.state().lost;
        *lost = lost.saturating_add(requests);
    }

    /// Notes the room that is held beside the ledger, in bytes.
    pub fn has_ballast(&self, bytes: u64) {
        self.state().ballast = bytes;
    }

    /// A part of the work has nothing left to do, or begins.
    pub fn is_up_to_date(&self, part: &'static str) {
        self.state().up_to_date.insert(part, Instant::now());
    }

    /// Returns the present state, for the metrics.
    pub fn now(&self) -> AgentStanding {
        let state = self.state();
        let part = |(part, since): (&&'static str, &Instant)| {
            (*part, since.elapsed(), !state.troubles.contains_key(part))
        };
        AgentStanding {
            document: state.documents.back().map(|(_, digest)| digest.clone()),
            keys: state.keys,
            ledger_waiting: state.backlog.waiting(),
            ledger_age: state.backlog.age(Instant::now()),
            sent: state.sent,
            faults: state.faults,
            lost: state.lost,
            ballast: state.ballast,
            parts: state.up_to_date.iter().map(part).collect(),
        }
    }

    /// Builds the report for the console.
    pub fn report(&self) -> EnvoyReport {
        let state = self.state();
        let trouble = |(what, trouble): (&&'static str, &String)| format!("{what}: {trouble}");
        EnvoyReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            document: state.documents.back().map(|(_, digest)| digest.clone()),
            in_force: state.in_force.clone(),
            keys: state.keys,
            keys_read: None,
            clock: None,
            certificate_ends_at: None,
            ledger_waiting: state.backlog.waiting(),
            troubles: state.troubles.iter().map(trouble).collect(),
        }
    }
}

impl fmt::Debug for AgentProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Standing").field(&*self.state()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_is_what_envoy_shows() {
        let standing = AgentProgress::new(|_| {});
        let said = || {
            let report = standing.report();
            (report.document, report.in_force)
        };
        let digest = |text: &str| Some(text.to_owned());
        assert_eq!(said(), (None, None), "Envoy is not asked");
        assert!(!standing.gateway_shows(Some(1)), "nothing is here");
        assert_eq!(said(), (None, digest("")));
        standing.has_document("one", 1);
        assert_eq!(
            said(),
            (digest("one"), digest("")),
            "written is not in force"
        );
        assert!(standing.gateway_shows(Some(1)));
        assert_eq!(said(), (digest("one"), digest("one")));
        standing.has_document("two", 2);
        for (case, shown, present, want) in [
            ("still the one before", Some(1), false, digest("one")),
            ("none", Some(0), false, digest("")),
            ("the present one", Some(2), true, digest("two")),
            ("another one", Some(7), false, digest("")),
            ("no answer", None, false, digest("")),
        ] {
            assert_eq!(standing.gateway_shows(shown), present, "{case}");
            assert_eq!(said(), (digest("two"), want), "{case}");
        }
        for number in 3..20 {
            standing.has_document("later", number);
        }
        assert!(!standing.gateway_shows(Some(2)));
        assert_eq!(said(), (digest("later"), digest("")), "forgotten");
    }
}
