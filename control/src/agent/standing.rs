//! How an agent stands: what it has, and what is in its way. It tells the console, and whoever runs it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trilane_console::api::EnvoyReport;

/// How an agent stands.
pub struct Standing {
    state: Mutex<State>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

#[derive(Debug, Default)]
struct State {
    document: Option<String>,
    keys: Option<u64>,
    ledger_waiting: u64,
    troubles: BTreeMap<&'static str, String>,
}

impl Standing {
    /// An agent that has nothing yet. `tell` gets what is new, in lines.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::default(),
            tell: Box::new(tell),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something.
    pub fn tell(&self, line: &str) {
        (self.tell)(line);
    }

    /// What is in the way of something; `None`: nothing. It is told when it begins, changes and ends.
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

    /// The document with this digest is there.
    pub fn has_document(&self, digest: &str) {
        self.state().document = Some(digest.to_owned());
    }

    /// All keys up to this version of the feed are there.
    pub fn has_keys(&self, version: u64) {
        self.state().keys = Some(version);
    }

    /// So many bytes of the ledger are not sent yet.
    pub fn has_waiting(&self, bytes: u64) {
        self.state().ledger_waiting = bytes;
    }

    /// What the console is told.
    pub fn report(&self) -> EnvoyReport {
        let state = self.state();
        let trouble = |(what, trouble): (&&'static str, &String)| format!("{what}: {trouble}");
        EnvoyReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            document: state.document.clone(),
            keys: state.keys,
            ledger_waiting: state.ledger_waiting,
            troubles: state.troubles.iter().map(trouble).collect(),
        }
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Standing").field(&*self.state()).finish()
    }
}
