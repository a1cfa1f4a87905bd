//! Exchanges driven through their phases natively, as `filter::http` drives them in Envoy.

mod asking;
mod bodies;
mod estimates;
mod forwards;
mod ledger;
mod limits;
mod lists;
mod own_access;
mod records;
mod refusals;
mod refused_accounts;
mod regions;
mod response_ids;
mod sequence;
mod service;
mod sources;
mod vendors;
mod wire;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value, json};
use smol_str::SmolStr;

use super::*;
use crate::auth::KeyStore;
use crate::config::account::Accounts;
use crate::config::snapshot::InForce;
use crate::config::{Document, compile};
use crate::failover::{self, AccountPlace, Registry, RequestAttempts, States};
use crate::head::Head;
use crate::host::fake::FakeHost;
use crate::keys::{KeyDigest, KeyTable};
use crate::ledger::FailedAttempt;
use crate::limits::{
    AdmitError, Consumption, Estimate, Figures, Reservation, Settlement, Subject, SubjectFigures,
};
use crate::money::Amount;

/// Key records of a feed in a map, and a clock that counts how often it is asked.
#[derive(Debug, Default)]
struct FakeWorld {
    records: HashMap<KeyDigest, Vec<u8>>,
    clock_reads: Cell<u32>,
    /// The other clock: a millisecond goes by at each look.
    micros: Cell<u64>,
    /// A policy published since the request came.
    newer: Option<Rc<InForce>>,
    /// Whether the limits service can be asked.
    service: bool,
    /// Whether the ledger cannot be written, and how often that was asked.
    unwritable: bool,
    ledger_reads: Cell<u32>,
    /// The requests to several accounts.
    requests: Registry,
    /// The accounts that have answered, and so are asked directly.
    accounts: FakeAccounts,
    /// Whether the account hop is another VM's.
    foreign_hop: bool,
}

/// The known state of accounts, in shared data.
#[derive(Debug, Default)]
struct FakeAccounts(Option<FakeHost>);

impl FakeWorld {
    /// The attempts of the request that `head` makes.
    fn attempts(&self) -> Rc<RequestAttempts> {
        self.requests.find(b"req-1").expect("several accounts")
    }

    /// An attempt by way of the hop at the account with this id, which ends like this, unless it is good.
    fn try_by_hop(&self, account: &str, failed: Option<(u16, &str)>) {
        let attempts = self.attempts();
        let sources = attempts.sources().iter().enumerate();
        let places = sources.flat_map(|(source, planned)| {
            let accounts = planned.source.accounts.as_deref().expect("has accounts");
            let indices = 0..accounts.accounts.len();
            indices.map(move |account| AccountPlace { source, account })
        });
        let mut of_id = places.filter(|place| attempts.account(*place).unwrap().id == account);
        let place = of_id.next().expect("one of them");
        attempts.ask(place, true);
        if let Some((status, report)) = failed {
            attempts.record(
                place,
                FailedAttempt::answered(account.into(), status, report),
            );
        }
    }
}

impl AccountStates for FakeWorld {
    fn account_states(&self, source: &str) -> Rc<States> {
        let host = self.accounts.0.as_ref();
        host.map_or_else(Rc::default, |host| {
            self.requests.states(self.now_us(), source, host)
        })
    }

    fn note(&self, event: failover::AccountEvent, source: &str, accounts: &Accounts, index: usize) {
        if let Some(host) = &self.accounts.0 {
            self.requests.note(event, source, accounts, index, host);
        }
    }

    fn note_use(&self, source: &str, key: failover::KeyMark) {
        if let Some(host) = &self.accounts.0 {
            self.requests.note_use(source, key, host);
        }
    }

    fn moved(&self, conversation: u64) -> Option<failover::Moved> {
        failover::moved::find(conversation, self.accounts.0.as_ref()?)
    }

    fn note_move(&self, change: failover::Move, source: &str) {
        if let Some(host) = &self.accounts.0 {
            self.requests.note_move(change, source, host);
        }
    }

    fn begin_attempts(&self, id: &SmolStr, attempts: &Rc<RequestAttempts>) -> bool {
        self.requests.begin(id, attempts)
    }

    fn has_hop(&self) -> bool {
        !self.foreign_hop
    }

    fn end_attempts(&self, id: &str) {
        self.requests.end(id);
    }
}

impl Origin for FakeWorld {}

impl Trace for FakeWorld {}

impl LedgerState for FakeWorld {
    fn ledger_is_unwritable(&self) -> bool {
        self.ledger_reads.set(self.ledger_reads.get() + 1);
        self.unwritable
    }
}

/// The head of the last answer.
#[derive(Debug)]
struct Last<'a> {
    status: u16,
    details: &'a str,
}

impl ResponseHeaders for Last<'_> {
    fn status(&self) -> u16 {
        self.status
    }

    fn details(&self) -> Vec<u8> {
        self.details.as_bytes().to_vec()
    }

    fn header(&self, _: &'static str) -> Option<String> {
        None
    }

    fn withheld_headers(&self) -> Vec<String> {
        Vec::new()
    }
}

const NOW: i64 = 1_800_000_000;

impl KeyStore for FakeWorld {
    fn record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        self.records.get(digest).cloned()
    }

    fn now(&self) -> i64 {
        self.clock_reads.set(self.clock_reads.get() + 1);
        NOW
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        self.newer.clone()
    }
}

impl Clock for FakeWorld {
    fn now_us(&self) -> u64 {
        self.micros.set(self.micros.get() + 1000);
        self.micros.get()
    }

    fn wall_us(&self) -> u64 {
        u64::try_from(NOW).unwrap() * 1_000_000 + self.micros.get()
    }
}

/// An environment without limits, in which nothing is counted.
#[derive(Debug)]
struct Unlimited;

impl Clock for Unlimited {
    fn now_us(&self) -> u64 {
        0
    }

    fn wall_us(&self) -> u64 {
        0
    }
}

impl AccountStates for Unlimited {}

impl Trace for Unlimited {}

impl Quotas for Unlimited {
    fn admit(&self, subjects: &[Subject], _: Estimate) -> Result<Reservation, AdmitError> {
        panic!("counted: {subjects:?}");
    }

    fn extend(&self, reservation: &mut Reservation, _: Amount) -> Result<(), AdmitError> {
        panic!("extended: {reservation:?}");
    }

    fn settle(&self, grant: Reservation, _: Consumption) -> Settlement {
        panic!("settled: {grant:?}");
    }

    fn has_budget(&self, subjects: &[Subject]) -> bool {
        panic!("looked at: {subjects:?}");
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        panic!("looked at: {subjects:?}");
    }

    fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
        panic!("looked at: {subjects:?}");
    }

    fn figures_after(&self, reservation: &Reservation) -> Figures {
        panic!("looked at: {reservation:?}");
    }
}

impl Quotas for FakeWorld {
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Reservation, AdmitError> {
        Unlimited.admit(subjects, estimate)
    }

    fn extend(&self, reservation: &mut Reservation, charge: Amount) -> Result<(), AdmitError> {
        Unlimited.extend(reservation, charge)
    }

    fn settle(&self, grant: Reservation, used: Consumption) -> Settlement {
        Unlimited.settle(grant, used)
    }

    fn has_budget(&self, subjects: &[Subject]) -> bool {
        Unlimited.has_budget(subjects)
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        Unlimited.figures(subjects)
    }

    fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
        Unlimited.figures_of_each(subjects)
    }

    fn figures_after(&self, reservation: &Reservation) -> Figures {
        Unlimited.figures_after(reservation)
    }

    fn reach_service(&self) -> bool {
        self.service
    }
}

/// The outcome of an answer's head, and where that is held, of a body without a word.
fn after_answer(
    exchange: &mut Exchange,
    head: &impl ResponseHeaders,
    environment: &impl Forwarding,
) -> Outcome {
    let outcome = exchange.on_response_head(head, false, environment);
    if !exchange.holds_response() {
        return outcome;
    }
    assert_eq!(outcome, Outcome::Pause, "a head that is held");
    exchange.on_held_response(head, b"", environment)
}

/// An answer's head.
#[derive(Debug, Clone, Copy)]
struct FakeHead {
    status: u16,
    details: &'static str,
}

const UPSTREAM: &str = "via_upstream";
const ENVOY: &str = "upstream_reset_before_response_started{connection_failure}";

impl ResponseHeaders for FakeHead {
    fn status(&self) -> u16 {
        self.status
    }

    fn details(&self) -> Vec<u8> {
        self.details.as_bytes().to_vec()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        (name == "x-request-id").then(|| "up-1".to_owned())
    }

    fn withheld_headers(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A stream that is over, with these details.
#[derive(Debug, Clone, Copy)]
struct FakeEnd<'a>(&'a str);

impl StreamEnd for FakeEnd<'_> {
    fn details(&self) -> Vec<u8> {
        self.0.as_bytes().to_vec()
    }

    fn attempts(&self) -> u64 {
        2
    }
}

/// A policy with one group of each kind; the key of group `x` is `k-x`.
fn document() -> Value {
    let b_models = json!([
        {"id": "claude-x-4-5", "upstream": "claude-x-4-5-20251101"},
        {"id": "claude-y-1", "entitled": false},
        {"id": "claude-z-2", "prices": {"input": "3", "output": "15"}},
    ]);
    let mut document = json!({
        "inspect_window": 1024,
        "max_body": 4096,
        "groups": [
            {"id": "a", "protocol": "A", "multiplier": "0.2", "cluster": "ca", "image_generation": true,
             "models": [{"id": "gpt-x"}, {"id": "gpt-r", "upstream": "gpt-r-2026-01-01"}]},
            {"id": "a-text", "protocol": "A", "multiplier": "1", "cluster": "ca", "models": [{"id": "gpt-x"}]},
            {"id": "a-passes", "protocol": "A", "multiplier": "1", "cluster": "ca", "image_generation": true,
             "passes": ["provider", "openrouter:*"], "models": [{"id": "gpt-x"}, {"id": "gpt-i", "kind": "image"}]},
            {"id": "a-usage", "protocol": "A", "multiplier": "1", "cluster": "ca", "include_usage": true,
             "models": [{"id": "gpt-x"}, {"id": "gpt-r", "upstream": "gpt-r-2026-01-01"}]},
            {"id": "b", "protocol": "B", "multiplier": "2", "cluster": "cb", "count_tokens": true, "models": b_models},
            {"id": "b-low", "protocol": "B", "multiplier": "0.3", "cluster": "cl", "models": [{"id": "claude-z-2"}]},
            {"id": "b-current", "protocol": "B", "multiplier": "2", "cluster": "cb", "clients": "current",
             "models": [{"id": "claude-z-2"}]},
            {"id": "b-accounts", "protocol": "B", "multiplier": "2", "models": [{"id": "claude-z-2", "prices": {"input": "3", "output": "15"}}],
             "failover": {"answer_seconds": 70, "stream_answer_seconds": 7, "total_seconds": 100},
             "accounts": [{"id": "one", "url": "https://h", "credential": "k1", "cost": "0.5"}, {"id": "two", "url": "https://h", "credential": "k2", "cost": "1.25"}]},
            {"id": "b-account", "protocol": "B", "multiplier": "2", "models": [{"id": "claude-z-2"}],
             "accounts": [{"id": "one", "url": "https://h", "credential": "k1"}]},
            {"id": "c", "protocol": "C", "multiplier": "0.5", "cluster": "cc",
             "models": [{"id": "gem-1"}, {"id": "gem-2", "upstream": "gem-2-001"}]},
            {"id": "c-current", "protocol": "C", "multiplier": "0.5", "cluster": "cc", "clients": "current",
             "account_resources": true, "models": [{"id": "gem-1"}]},
            {"id": "c-open", "protocol": "C", "multiplier": "0.5", "cluster": "cc", "account_resources": true,
             "models": [{"id": "gem-1"}, {"id": "gem-2", "upstream": "gem-2-001"}]},
            {"id": "mixed", "protocol": "Mixed",
             "entries": {"responses": {"source": "a"}, "vb_messages": {"source": "b"}, "vc_generate_content": {"source": "c"}},
             "models": [{"id": "claude-x-4-5", "entry": "vb_messages"}, {"id": "gpt-x", "entry": "responses"}, {"id": "gem-1", "entry": "vc_generate_content"}]},
            {"id": "mixed-no-b", "protocol": "Mixed", "entries": {"responses": {"source": "a"}}, "models": []},
        ],
    });
    let groups = document["groups"].as_array().unwrap();
    let mut keys: Vec<Value> = groups
        .iter()
        .map(|group| {
            let id = group["id"].as_str().unwrap();
            json!({"id": id, "sha256": sha256(&format!("k-{id}")), "group": id})
        })
        .collect();
    keys.push(json!({"id": "off", "sha256": sha256("k-off"), "group": "a", "disabled": true}));
    keys.push(json!({"id": "old", "sha256": sha256("k-old"), "group": "a", "expires_at": "2020-01-01T00:00:00Z"}));
    keys.push(json!({"id": "new", "sha256": sha256("k-new"), "group": "a", "expires_at": "2100-01-01T00:00:00Z"}));
    keys.push(
        json!({"id": "owned", "sha256": sha256("k-owned"), "group": "a", "owner": "Zoë, sales"}),
    );
    let own = [
        (
            "own-b",
            "b",
            json!({"models": ["claude-z-2"], "multiplier": "1.5"}),
        ),
        (
            "own-mixed",
            "mixed",
            json!({"models": ["gpt-x", "gem-1"], "multiplier": "0.15"}),
        ),
        ("own-price", "mixed", json!({"multiplier": "0"})),
    ];
    for (id, group, terms) in own {
        let mut key =
            json!({"id": id, "sha256": sha256(&format!("k-{id}")), "group": group, "team": "east"});
        key.as_object_mut()
            .unwrap()
            .extend(terms.as_object().unwrap().clone());
        keys.push(key);
    }
    document["keys"] = Value::Array(keys);
    document
}

/// The digest of a key as a document names it.
fn sha256(key: &str) -> String {
    hex::encode(KeyDigest::of(key.as_bytes()).bytes())
}

/// The policy above in force, and the world that belongs to it.
fn setting() -> (InForce, FakeWorld) {
    setting_of(&document())
}

/// A policy in force, and the world that belongs to it.
fn setting_of(document: &Value) -> (InForce, FakeWorld) {
    let document = Document::parse(document.to_string().as_bytes()).unwrap();
    let compiled = compile(&document).unwrap();
    let in_force = InForce {
        feed: None,
        keys: KeyTable::of(&compiled.keys),
        policy: compiled.policy,
    };
    (in_force, FakeWorld::default())
}

/// A head from `"GET /path"` and `"name: value"` lines.
fn head(request: &str, headers: &[&str]) -> Head {
    let (method, path) = request.split_once(' ').unwrap();
    let mut pairs = vec![
        (":method".to_owned(), method.as_bytes().to_vec()),
        (":path".to_owned(), path.as_bytes().to_vec()),
        ("x-request-id".to_owned(), b"req-1".to_vec()),
    ];
    for line in headers {
        let (name, value) = line.split_once(": ").unwrap();
        pairs.push((name.to_owned(), value.as_bytes().to_vec()));
    }
    Head::new(pairs)
}

fn is_get(request: &str) -> bool {
    !request.starts_with("POST")
}

/// The status and code of a reply; its body for a good one.
fn reply_of(outcome: &Outcome) -> Option<(u16, Option<&str>, Value)> {
    let Outcome::Reply(reply) = outcome else {
        return None;
    };
    let code = reply.headers.iter().find(|(n, _)| *n == "x-trilane-error");
    let body = serde_json::from_slice(&reply.body).unwrap();
    Some((reply.status, code.map(|(_, v)| v.as_str()), body))
}

/// The value that edits set a header to.
fn set<'a>(edits: &'a Edits, name: &str) -> Option<&'a str> {
    edits.headers.iter().find_map(|edit| match edit {
        HeaderEdit::Set(n, value) if *n == name => core::str::from_utf8(value).ok(),
        _ => None,
    })
}

fn removed(edits: &Edits) -> Vec<&str> {
    let names = edits.headers.iter().filter_map(|edit| match edit {
        HeaderEdit::Remove(name) => Some(name.as_ref()),
        HeaderEdit::Set(..) => None,
    });
    names.collect()
}
