//! Sources with several accounts, for the tests of this room.

use std::rc::Rc;

use serde_json::{Value, json};

use super::active_keys::KeyMark;
use super::request::{
    AccountPlace, AttemptPlan, Bounds, LaterTerms, PlannedSource, RequestAttempts, WholeBody,
};
use crate::config::policy::{GroupKind, Source};
use crate::config::{Document, compile};
use crate::limits::{AdmitError, Estimate, Reservation, Subject};

/// After when no further account is asked in the tests, in microseconds.
pub(super) const UNTIL_US: u64 = 6_000_000_000;

/// A source `s` with these accounts, each an object with an `id` and what else matters.
pub(super) fn source_of(accounts: &[Value], failover: Value) -> Rc<Source> {
    source_named("s", accounts, failover)
}

/// The same with another id.
pub(super) fn source_named(id: &str, accounts: &[Value], failover: Value) -> Rc<Source> {
    let accounts: Vec<Value> = accounts
        .iter()
        .map(|given| {
            let mut account = json!({"url": "https://h", "credential": "k"});
            let fields = account.as_object_mut().unwrap();
            fields.extend(given.as_object().unwrap().clone());
            account
        })
        .collect();
    let group = json!({
        "id": id, "protocol": "B", "multiplier": "1", "models": [], "accounts": accounts, "failover": failover,
    });
    let document = json!({"groups": [group], "keys": []});
    let document = Document::parse(document.to_string().as_bytes()).unwrap();
    let compiled = compile(&document).unwrap();
    let GroupKind::Source(source) = &compiled.policy.groups()[0].kind else {
        panic!("a source");
    };
    Rc::clone(source)
}

/// The same with the accounts `a0`, `a1`, … of one priority.
pub(super) fn source(accounts: usize) -> Rc<Source> {
    let accounts: Vec<Value> = (0..accounts)
        .map(|n| json!({"id": format!("a{n}")}))
        .collect();
    source_of(&accounts, json!({}))
}

/// A request to a source, of which so many accounts may be asked.
pub(super) fn request(source: &Rc<Source>, affinity: u64, attempts: usize) -> RequestAttempts {
    let source = Rc::clone(source);
    RequestAttempts::new(AttemptPlan {
        affinity,
        ..plan(&[source], attempts)
    })
}

/// A request to these sources, one after the other.
pub(super) fn request_in_sequence(sources: &[Rc<Source>], attempts: usize) -> RequestAttempts {
    RequestAttempts::new(plan(sources, attempts))
}

/// A whole body, with these terms of attempts at later sources.
pub(super) fn whole_body(later: Vec<Option<LaterTerms>>) -> WholeBody {
    WholeBody {
        later,
        ..WholeBody::default()
    }
}

/// The plan of a request to these sources, of whose accounts so many may be asked.
pub(super) fn plan(sources: &[Rc<Source>], attempts: usize) -> AttemptPlan {
    let planned = |source: &Rc<Source>| PlannedSource {
        source: Rc::clone(source),
        path: None,
    };
    AttemptPlan {
        sources: sources.iter().map(planned).collect(),
        key: KeyMark::of("k"),
        affinity: 7,
        estimate: Estimate::default(),
        limiter: None,
        model: None,
        bounds: Bounds {
            attempts,
            until_us: UNTIL_US,
        },
    }
}

/// The account with this index at the first source.
pub(super) fn at(account: usize) -> AccountPlace {
    AccountPlace { source: 0, account }
}

/// Reserves nothing: accounts have no limits.
pub(super) const NO_LIMITS: fn(&Subject, Estimate) -> Result<Reservation, AdmitError> =
    |account, _| panic!("counted: {account:?}");
