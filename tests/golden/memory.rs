//! A host in memory: shared data, clocks that stand until time passes, and the stats and lines that were written.

use core::fmt;
use core::time::Duration;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use trilane::failover::ToldFailure;
use trilane::failover::attempt::AttemptHost;
use trilane::host::{
    CallId, Clocks, Entropy, Fetch, FetchRequest, FetchResponse, Log, Peer, StatId, StatKind,
    Stats, Timer,
};
use trilane::shared_data::{Conflict, SharedData};

/// Noon of a Sunday, UTC.
const WALL_US: u64 = 1_795_348_800_000_000;
const STEADY_US: u64 = 5_000_000_000;

#[derive(Debug, Clone, Default)]
pub struct Memory {
    shared: RefCell<BTreeMap<String, (Vec<u8>, u32)>>,
    passed_us: Cell<u64>,
    names: RefCell<Vec<String>>,
    /// The counters and gauges by their names.
    pub stats: RefCell<BTreeMap<String, u64>>,
    pub lines: RefCell<Vec<String>>,
    /// The page that calls are answered with; empty: none is sent.
    pub page: Vec<u8>,
    /// The calls that no answer has come to.
    pub calls: RefCell<Vec<CallId>>,
    /// The facts that the filter of attempts sees: the request's id, the status, the hop's report.
    pub attempt: RefCell<(String, u16, String)>,
    /// The judgement on the response that it sees.
    pub judged: RefCell<Option<ToldFailure>>,
    /// The body of the response that it sees.
    pub attempt_answer: RefCell<String>,
    /// The address and port of the client.
    pub peer: RefCell<String>,
}

impl AttemptHost for Memory {
    fn request_id(&self) -> Option<Vec<u8>> {
        Some(self.attempt.borrow().0.clone().into_bytes())
    }

    fn status(&self) -> u16 {
        self.attempt.borrow().1
    }

    fn judged(&self) -> Option<ToldFailure> {
        self.judged.borrow().clone()
    }

    fn told_wait(&self) -> Option<u64> {
        None
    }

    fn take_hop_report(&self) -> String {
        self.attempt.borrow().2.clone()
    }

    fn response_body(&self, _most: usize) -> Vec<u8> {
        self.attempt_answer.borrow().as_bytes().to_vec()
    }
}

impl Memory {
    pub fn with_page(page: Vec<u8>) -> Self {
        Self {
            page,
            ..Self::default()
        }
    }

    pub fn pass_ms(&self, milliseconds: u64) {
        self.passed_us
            .set(self.passed_us.get() + milliseconds * 1000);
    }

    pub fn passed_ms(&self) -> u64 {
        self.passed_us.get() / 1000
    }

    fn name(&self, id: StatId) -> String {
        self.names.borrow()[id.expect("a stat") as usize].clone()
    }
}

impl SharedData for Memory {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.shared.borrow().get(name).cloned().unzip()
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        let current = self.get(name).1;
        if version.is_some() && current.is_some() && version != current {
            return Err(Conflict);
        }
        let value = (value.to_vec(), current.unwrap_or(0) + 1);
        self.shared.borrow_mut().insert(name.to_owned(), value);
        Ok(())
    }
}

impl Clocks for Memory {
    fn wall_us(&self) -> u64 {
        WALL_US + self.passed_us.get()
    }

    fn steady_us(&self) -> u64 {
        STEADY_US + self.passed_us.get()
    }
}

impl Entropy for Memory {
    fn random(&self) -> u64 {
        7
    }
}

impl Timer for Memory {
    fn tick_every(&self, _: Duration) {}
}

impl Fetch for Memory {
    fn fetch(&self, _: FetchRequest<'_>) -> Option<CallId> {
        let mut calls = self.calls.borrow_mut();
        let number = u32::try_from(calls.len()).expect("a number");
        let call = (!self.page.is_empty()).then_some(CallId(number))?;
        calls.push(call);
        Some(call)
    }
}

/// The response to a call.
#[derive(Debug)]
pub struct Page(pub Vec<u8>);

impl FetchResponse for Page {
    fn header(&self, name: &str) -> Option<String> {
        (name == ":status").then(|| "200".to_owned())
    }

    fn body_size(&self) -> usize {
        self.0.len()
    }

    fn body(&self) -> Vec<u8> {
        self.0.clone()
    }
}

impl Stats for Memory {
    fn define(&self, _: StatKind, name: &str) -> StatId {
        let mut names = self.names.borrow_mut();
        names.push(name.to_owned());
        u32::try_from(names.len() - 1).ok()
    }

    fn add(&self, id: StatId, count: u64) {
        *self.stats.borrow_mut().entry(self.name(id)).or_default() += count;
    }

    fn record(&self, id: StatId, value: u64) {
        self.stats.borrow_mut().insert(self.name(id), value);
    }
}

impl Peer for Memory {
    fn peer(&self) -> Option<Vec<u8>> {
        Some(self.peer.borrow().clone().into_bytes())
    }
}

impl Log for Memory {
    fn log(&self, level: log::Level, line: fmt::Arguments<'_>) {
        self.lines.borrow_mut().push(format!("{level}: {line}"));
    }
}
