//! A host in memory: processes with shared data and clocks, and VMs in them with calls, stats and a log of their own.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::*;
use crate::shared_data::fake::FakeSharedData;
use crate::shared_data::{Conflict, SharedData};

/// The state that all VMs of one Envoy share.
#[derive(Debug, Default)]
pub(crate) struct FakeProcess {
    pub(crate) shared: FakeSharedData,
    pub(crate) wall_us: Cell<u64>,
    pub(crate) steady_us: Cell<u64>,
    entropy: Cell<u64>,
}

impl FakeProcess {
    /// Creates a process that was started just now.
    pub(crate) fn start() -> Rc<Self> {
        let process = Self::default();
        process.wall_us.set(1_800_000_000_000_000);
        process.steady_us.set(5_000_000_000);
        Rc::new(process)
    }

    /// Lets time pass.
    pub(crate) fn pass_ms(&self, milliseconds: u64) {
        self.wall_us.set(self.wall_us.get() + milliseconds * 1000);
        self.steady_us
            .set(self.steady_us.get() + milliseconds * 1000);
    }

    /// Sets the wall clock forward or back.
    pub(crate) fn step_ms(&self, milliseconds: i64) {
        let wall_us = self.wall_us.get();
        self.wall_us
            .set(wall_us.saturating_add_signed(milliseconds * 1000));
    }
}

/// A call that a VM has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FakeCall {
    pub(crate) id: CallId,
    pub(crate) cluster: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl FakeCall {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// One VM's host.
#[derive(Debug)]
pub(crate) struct FakeHost {
    pub(crate) process: Rc<FakeProcess>,
    /// The calls sent since they were taken last.
    pub(crate) calls: RefCell<Vec<FakeCall>>,
    /// Whether clusters are known.
    pub(crate) cluster_known: Cell<bool>,
    pub(crate) period: Cell<Option<Duration>>,
    /// The number of times that the period was set.
    pub(crate) periods_set: Cell<u32>,
    pub(crate) stats: RefCell<HashMap<String, u64>>,
    names: RefCell<Vec<String>>,
    pub(crate) lines: RefCell<Vec<(log::Level, String)>>,
    last_call: Cell<u32>,
}

impl FakeHost {
    /// A VM of this process.
    pub(crate) fn of(process: &Rc<FakeProcess>) -> Self {
        Self {
            process: Rc::clone(process),
            calls: RefCell::default(),
            cluster_known: Cell::new(true),
            period: Cell::default(),
            periods_set: Cell::default(),
            stats: RefCell::default(),
            names: RefCell::default(),
            lines: RefCell::default(),
            last_call: Cell::default(),
        }
    }

    /// The calls sent since they were taken last.
    pub(crate) fn take_calls(&self) -> Vec<FakeCall> {
        self.calls.take()
    }

    /// The lines logged since they were taken last.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        self.lines
            .take()
            .into_iter()
            .map(|(_, line)| line)
            .collect()
    }

    /// A stat's value; `None` where it is not defined.
    pub(crate) fn stat(&self, name: &str) -> Option<u64> {
        self.stats.borrow().get(name).copied()
    }

    fn stat_mut(&self, id: StatId, change: impl FnOnce(&mut u64)) {
        let names = self.names.borrow();
        let name = &names[usize::try_from(id.unwrap()).unwrap()];
        change(self.stats.borrow_mut().get_mut(name).unwrap());
    }
}

impl SharedData for FakeHost {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.process.shared.get(name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        self.process.shared.set(name, value, version)
    }
}

impl Clocks for FakeHost {
    fn wall_us(&self) -> u64 {
        self.process.wall_us.get()
    }

    fn steady_us(&self) -> u64 {
        self.process.steady_us.get()
    }
}

impl Entropy for FakeHost {
    fn random(&self) -> u64 {
        let next = self.process.entropy.get() + 1;
        self.process.entropy.set(next);
        next
    }
}

impl Timer for FakeHost {
    fn tick_every(&self, period: Duration) {
        self.period.set(Some(period));
        self.periods_set.set(self.periods_set.get() + 1);
    }
}

impl Fetch for FakeHost {
    fn fetch(&self, request: FetchRequest<'_>) -> Option<CallId> {
        if !self.cluster_known.get() {
            return None;
        }
        self.last_call.set(self.last_call.get() + 1);
        let id = CallId(self.last_call.get());
        let headers = request.headers.iter();
        self.calls.borrow_mut().push(FakeCall {
            id,
            cluster: request.cluster.to_owned(),
            path: request.path.to_owned(),
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        });
        Some(id)
    }
}

impl Stats for FakeHost {
    fn define(&self, _: StatKind, name: &str) -> StatId {
        self.stats.borrow_mut().entry(name.to_owned()).or_default();
        let mut names = self.names.borrow_mut();
        let place = names.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        Some(u32::try_from(place).unwrap())
    }

    fn add(&self, id: StatId, count: u64) {
        self.stat_mut(id, |value| *value += count);
    }

    fn record(&self, id: StatId, value: u64) {
        self.stat_mut(id, |stat| *stat = value);
    }
}

/// None is at the other end.
impl Peer for FakeHost {
    fn peer(&self) -> Option<Vec<u8>> {
        None
    }
}

impl Log for FakeHost {
    fn log(&self, level: log::Level, line: fmt::Arguments<'_>) {
        self.lines.borrow_mut().push((level, line.to_string()));
    }
}

/// A response to a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FakeResponse {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl FakeResponse {
    pub(crate) fn status(status: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            headers: vec![(":status", status.to_owned())],
            body: body.into(),
        }
    }

    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status("200", body)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

impl FetchResponse for FakeResponse {
    fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    }

    fn body_size(&self) -> usize {
        self.body.len()
    }

    fn body(&self) -> Vec<u8> {
        self.body.clone()
    }
}
