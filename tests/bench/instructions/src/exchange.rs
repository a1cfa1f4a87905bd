//! One exchange after another, as `filter::http` drives them, without a proxy around it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::rc::Rc;
use trilane::SmolStr;

use trilane::auth::KeyStore;
use trilane::config::account::Accounts;
use trilane::config::policy::GroupKind;
use trilane::config::snapshot::InForce;
use trilane::config::{Document, compile};
use trilane::exchange::{
    AccountStates, Clock, Exchange, LedgerState, Origin, Outcome, Quotas, ResponseHeaders,
    StreamEnd, Trace,
};
use trilane::failover::{AccountEvent, Registry, RequestAttempts, States};
use trilane::head::Head;
use trilane::host::{Clocks, StatId, StatKind, Stats};
use trilane::keys::{KeyDigest, KeyTable};
use trilane::ledger::{Record, UsageStatus};
use trilane::limits::{
    AdmitError, Consumption, Estimate, Figures, Reservation, Settlement, Subject, SubjectFigures,
};
use trilane::money::Amount;
use trilane::shared_data::{Conflict, SharedData};

use crate::kinds::ExchangeKind;

const DOCUMENT: &[u8] = include_bytes!("../../../../envoy/gateway.json");
/// The amount of a request that Envoy hands over at a time, in bytes.
const REQUEST_PIECE: usize = 64 * 1024;
/// The amount of a response that one read of the upstream's connection brings, in bytes.
pub const ANSWER_PIECE: usize = 16 * 1024;

/// The sample document in force, and all around it that an exchange asks.
#[derive(Debug)]
pub struct Setting {
    /// The policy.
    pub in_force: InForce,
    /// The clock, and what is known of accounts.
    pub world: Memory,
}

impl Setting {
    /// Compiles the sample document, as the loader would publish it.
    pub fn of_sample() -> Self {
        let document = Document::parse(DOCUMENT).expect("the sample document is one");
        let compiled = compile(&document).expect("the sample document is good");
        let world = Memory {
            micros: Cell::new(0),
            accounts: SharedValues::default(),
            requests: Registry::default(),
        };
        for group in compiled.policy.groups() {
            if let GroupKind::Source(source) = &group.kind
                && let Some(accounts) = &source.accounts
            {
                for index in 0..accounts.accounts.len() {
                    world.note(AccountEvent::Answered, &source.group, accounts, index);
                }
            }
        }
        Self {
            in_force: InForce {
                feed: None,
                keys: KeyTable::of(&compiled.keys),
                policy: compiled.policy,
            },
            world,
        }
    }
}

/// Runs one exchange and gives its record. Panics where it does not end as its kind says, for then something else
/// would be counted.
pub fn run(kind: &ExchangeKind, setting: &Setting) -> Record {
    let Setting { in_force, world } = setting;
    let mut exchange = Exchange::default();
    let head = Head::handed_over(black_box(&kind.head).clone());
    let mut outcome = exchange.on_request_head(&head, kind.body.is_empty(), Some(in_force), world);
    let mut pieces = kind.body.chunks(REQUEST_PIECE).peekable();
    while let (Outcome::Pause, Some(piece)) = (&outcome, pieces.next()) {
        outcome = exchange.on_request_body(piece, pieces.peek().is_none(), world);
    }
    // What follows after the model is known is read as well.
    while let (Outcome::Continue(_), Some(piece)) = (&outcome, pieces.next()) {
        outcome = exchange.on_request_body(piece, pieces.peek().is_none(), world);
    }
    match &outcome {
        Outcome::Reply(reply) => assert_eq!(Some(reply.status), kind.reply, "{}", kind.name),
        Outcome::Continue(_) => answer(&mut exchange, kind, world),
        Outcome::Pause => panic!("{}: still undecided", kind.name),
    }
    black_box(outcome);
    let record = exchange
        .on_done(&Whole, world)
        .expect("every exchange has a record");
    if kind.reply.is_none() {
        assert_eq!(record.status, UsageStatus::Complete, "{}", kind.name);
        assert!(record.charge.is_some(), "{}", kind.name);
    }
    record
}

fn answer(exchange: &mut Exchange, kind: &ExchangeKind, world: &Memory) {
    let head = exchange.on_response_head(&Good, false, world);
    assert!(matches!(head, Outcome::Continue(_)), "{}", kind.name);
    for piece in kind.answer.chunks(ANSWER_PIECE) {
        assert!(exchange.reads_response(), "{}", kind.name);
        exchange.on_response_body(piece, piece.len(), false, world);
    }
    exchange.on_response_body(&[], 0, true, world);
}

/// The head of a good answer.
struct Good;

impl ResponseHeaders for Good {
    fn status(&self) -> u16 {
        200
    }

    fn details(&self) -> Vec<u8> {
        b"via_upstream".to_vec()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        (name == "x-request-id").then(|| "req_0123456789".to_owned())
    }

    fn withheld_headers(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A stream that ended by itself, at the first account.
struct Whole;

impl StreamEnd for Whole {
    fn details(&self) -> Vec<u8> {
        b"via_upstream".to_vec()
    }

    fn attempts(&self) -> u64 {
        1
    }
}

/// A clock that is always a millisecond later, and what is known of accounts.
#[derive(Debug)]
pub struct Memory {
    micros: Cell<u64>,
    accounts: SharedValues,
    requests: Registry,
}

/// Shared data with one reader and writer.
#[derive(Debug, Default)]
struct SharedValues(RefCell<BTreeMap<String, Vec<u8>>>);

impl SharedData for SharedValues {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        (self.0.borrow().get(name).cloned(), None)
    }

    fn set(&self, name: &str, value: &[u8], _: Option<u32>) -> Result<(), Conflict> {
        self.0.borrow_mut().insert(name.to_owned(), value.to_vec());
        Ok(())
    }
}

impl Clocks for SharedValues {
    fn wall_us(&self) -> u64 {
        0
    }

    fn steady_us(&self) -> u64 {
        0
    }
}

impl Stats for SharedValues {
    fn define(&self, _: StatKind, _: &str) -> StatId {
        None
    }

    fn add(&self, _: StatId, _: u64) {}

    fn record(&self, _: StatId, _: u64) {}
}

impl KeyStore for Memory {
    fn record(&self, _: &KeyDigest) -> Option<Vec<u8>> {
        None
    }

    fn now(&self) -> i64 {
        1_800_000_000
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        None
    }
}

/// Nothing is limited.
impl Quotas for Memory {
    fn admit(&self, _: &[Subject], _: Estimate) -> Result<Reservation, AdmitError> {
        Err(AdmitError::Conflict)
    }

    fn extend(&self, _: &mut Reservation, _: Amount) -> Result<(), AdmitError> {
        Err(AdmitError::Conflict)
    }

    fn settle(&self, _: Reservation, _: Consumption) -> Settlement {
        Settlement::default()
    }

    fn has_budget(&self, _: &[Subject]) -> bool {
        false
    }

    fn figures(&self, _: &[Subject]) -> Figures {
        Figures::default()
    }

    fn figures_of_each(&self, _: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
        Err(AdmitError::Conflict)
    }

    fn figures_after(&self, _: &Reservation) -> Figures {
        Figures::default()
    }
}

/// Nobody asks.
impl Trace for Memory {}

/// No key has a list of addresses.
impl Origin for Memory {}

/// The policies do not ask for it.
impl LedgerState for Memory {}

/// Every account has answered before.
impl AccountStates for Memory {
    fn account_states(&self, source: &str) -> Rc<States> {
        self.requests
            .states(self.micros.get(), source, &self.accounts)
    }

    fn note(&self, event: AccountEvent, source: &str, accounts: &Accounts, index: usize) {
        self.requests
            .note(event, source, accounts, index, &self.accounts);
    }

    fn begin_attempts(&self, id: &SmolStr, attempts: &Rc<RequestAttempts>) -> bool {
        self.requests.begin(id, attempts)
    }

    fn end_attempts(&self, id: &str) {
        self.requests.end(id);
    }
}

impl Clock for Memory {
    fn now_us(&self) -> u64 {
        self.micros.set(self.micros.get() + 1000);
        self.micros.get()
    }

    fn wall_us(&self) -> u64 {
        self.micros.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{KINDS, kind};

    #[test]
    fn every_kind_ends_as_it_says() {
        let setting = Setting::of_sample();
        for name in KINDS {
            let kind = kind(name).expect(name);
            let record = run(&kind, &setting);
            assert_eq!(record.usage().is_some(), kind.reply.is_none(), "{name}");
        }
    }
}
