//! `make instructions`: exchanges driven natively, for callgrind to count their instructions.
//!
//! Called with a kind of exchange and a number, it runs so many. What the process needs to start and
//! to compile the policy is the same for every number, so the difference between two numbers is
//! exchanges and nothing else.

mod kinds;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::rc::Rc;

use trilane::auth::World;
use trilane::config::record::{KeyDigest, Stamped};
use trilane::config::snapshot::InForce;
use trilane::config::{Document, compile};
use trilane::exchange::{AnswerHead, Clock, Exchange, Outcome, StreamEnd};
use trilane::head::Head;
use trilane::ledger::UsageStatus;

use kinds::{KINDS, Kind, kind};

const DOCUMENT: &[u8] = include_bytes!("../../../../envoy/gateway.json");
/// How much of a request Envoy hands over at a time.
const REQUEST_PIECE: usize = 64 * 1024;
/// How much of an answer: what one read of the upstream's connection brings.
const ANSWER_PIECE: usize = 16 * 1024;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(count)) = (arguments.next(), arguments.next()) else {
        println!("usage: instructions KIND COUNT, where KIND is one of:");
        for name in KINDS {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let (Some(kind), Ok(count)) = (kind(&name), count.parse::<u32>()) else {
        eprintln!("error: no such kind, or no number: {name}");
        return ExitCode::FAILURE;
    };
    let (in_force, world) = setting();
    for _ in 0..count {
        run(&kind, &in_force, &world);
    }
    ExitCode::SUCCESS
}

/// One exchange, as `filter::http` drives it.
fn run(kind: &Kind, in_force: &InForce, world: &Memory) {
    let mut exchange = Exchange::default();
    let head = Head::new(kind.head.clone());
    let mut outcome = exchange.on_request_head(&head, kind.body.is_empty(), Some(in_force), world);
    let mut pieces = kind.body.chunks(REQUEST_PIECE).peekable();
    while let (Outcome::Pause, Some(piece)) = (&outcome, pieces.next()) {
        outcome = exchange.on_request_body(piece, pieces.peek().is_none());
    }
    // What follows after the model is known is read as well.
    while let (Outcome::Continue(_), Some(piece)) = (&outcome, pieces.next()) {
        outcome = exchange.on_request_body(piece, pieces.peek().is_none());
    }
    match &outcome {
        Outcome::Reply(reply) => assert_eq!(Some(reply.status), kind.reply, "{}", kind.name),
        Outcome::Continue(_) => answer(&mut exchange, kind, world),
        Outcome::Pause => panic!("{}: still undecided", kind.name),
    }
    black_box(outcome);
    let record = exchange.on_done(&Whole, world).unwrap();
    // What is counted must be the whole of it.
    if kind.reply.is_none() {
        assert_eq!(record.status, UsageStatus::Complete, "{}", kind.name);
        assert!(record.charge.is_some(), "{}", kind.name);
    }
    black_box(record.to_members());
}

fn answer(exchange: &mut Exchange, kind: &Kind, world: &Memory) {
    let head = exchange.on_answer_head(&Good, false);
    assert!(matches!(head, Outcome::Continue(_)), "{}", kind.name);
    for piece in kind.answer.chunks(ANSWER_PIECE) {
        assert!(exchange.reads_answer(), "{}", kind.name);
        exchange.on_answer_body(piece, piece.len(), false, world);
    }
    exchange.on_answer_body(&[], 0, true, world);
}

/// The head of a good answer.
struct Good;

impl AnswerHead for Good {
    fn status(&self) -> u16 {
        200
    }

    fn details(&self) -> Vec<u8> {
        b"via_upstream".to_vec()
    }

    fn failed_tries(&self) -> Vec<u8> {
        Vec::new()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        (name == "x-request-id").then(|| "req_0123456789".to_owned())
    }
}

/// A stream that ended by itself, at the first account.
struct Whole;

impl StreamEnd for Whole {
    fn details(&self) -> Vec<u8> {
        b"via_upstream".to_vec()
    }

    fn account(&self) -> Option<String> {
        Some("one".to_owned())
    }

    fn tries(&self) -> u64 {
        1
    }

    fn failed_tries(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Key records in memory, and a clock that is always a millisecond later.
struct Memory {
    records: BTreeMap<String, Vec<u8>>,
    micros: Cell<u64>,
}

impl World for Memory {
    fn key_record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        self.records.get(&digest.shared_name()).cloned()
    }

    fn fed_record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        self.records.get(&digest.fed_name()).cloned()
    }

    fn now(&self) -> i64 {
        1_800_000_000
    }

    fn in_force_again(&self) -> Option<Rc<InForce>> {
        None
    }
}

impl Clock for Memory {
    fn now_us(&self) -> u64 {
        self.micros.set(self.micros.get() + 1000);
        self.micros.get()
    }
}

/// The sample document in force.
fn setting() -> (InForce, Memory) {
    let compiled = compile(&Document::parse(DOCUMENT).unwrap()).unwrap();
    let stamped = |record| Stamped { epoch: 1, record }.encode();
    let records = compiled
        .keys
        .into_iter()
        .map(|(digest, record)| (digest.shared_name(), stamped(record)))
        .collect();
    let in_force = InForce {
        epoch: 1,
        feed: None,
        policy: compiled.policy,
    };
    let micros = Cell::new(0);
    (in_force, Memory { records, micros })
}
