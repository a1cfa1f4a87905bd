use super::*;
use crate::auth::CredentialForm;
use crate::auth::PresentedCredential;
use crate::config::Document;
use crate::config::compile::compile_policy;
use crate::head::Head;
use crate::keys::codec::encode_fed;
use crate::keys::{Coverage, FeedStatus, KeyTable, KeyTerms};
use crate::limits::budget::Budget;
use crate::limits::{Limits, Rate};
use crate::money::Amount;
use crate::protocol::query::RequestTarget;

const NOW: i64 = 1_800_000_000;

/// The feed's record of one key, and what else is outside.
#[derive(Debug, Default)]
struct Records {
    fed: Option<Vec<u8>>,
    /// The policy that was published since.
    newer: Option<Policy>,
    /// The number of reads of the record.
    reads: std::cell::Cell<u32>,
}

impl KeyStore for Records {
    fn record(&self, _: &KeyDigest) -> Option<Vec<u8>> {
        self.reads.set(self.reads.get() + 1);
        self.fed.clone()
    }

    fn now(&self) -> i64 {
        NOW
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        let policy = self.newer.clone()?;
        Some(Rc::new(InForce {
            policy,
            ..in_force(KeyTable::default(), None)
        }))
    }
}

fn key() -> ApiKey {
    let head = Head::new(vec![("x-api-key".to_owned(), b"k".to_vec())]);
    match CredentialForm::XApiKey.read(&head, &RequestTarget::parse(b"/")) {
        PresentedCredential::Key(key) => key,
        other => panic!("{other:?}"),
    }
}

/// A policy with a group whose models have prices or cost nothing, and one that `more` is in.
fn policy(more: &str) -> Policy {
    let group = |id: &str, models: &str| {
        format!(
            r#"{{"id": "{id}", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{models}]}}"#
        )
    };
    let priced =
        r#"{"id": "p", "prices": {"input": "1", "output": "1"}}, {"id": "f", "free": true}"#;
    let text = format!(
        r#"{{"groups": [{}, {}]}}"#,
        group("named", &format!(r#"{priced}, {{"id": "m"{more}}}"#)),
        group("fed", priced),
    );
    let document = Document::parse(text.as_bytes()).unwrap();
    compile_policy(&document).unwrap().0
}

fn in_force(keys: KeyTable, feed: Option<FeedStatus>) -> InForce {
    InForce {
        feed,
        keys,
        policy: policy(""),
    }
}

fn limits(per_day: bool, per_month: bool) -> Option<Box<Limits>> {
    let amount = Amount::parse("1").unwrap();
    let mut limits = Limits::default();
    limits.set_per_minute(Rate::Requests, Some(1));
    limits.budget = Budget {
        per_day: per_day.then_some(amount),
        per_month: per_month.then_some(amount),
        spent: None,
    };
    Some(Box::new(limits))
}

/// The keys of a document that names the key.
fn named(disabled: bool) -> KeyTable {
    let record = KeyRecord {
        id: "n".into(),
        group: "named".into(),
        disabled,
        ..KeyRecord::default()
    };
    KeyTable::of(&[(key().digest(), record)])
}

/// The keys of a document that names another key only.
fn of_another() -> KeyTable {
    KeyTable::of(&[(KeyDigest::of(b"another"), KeyRecord::default())])
}

/// A document that names the key, with a record that this release cannot read.
fn of_another_release() -> KeyTable {
    let mut bytes = named(false).bytes().to_vec();
    // Count and index stand before the flags.
    bytes[4 + 36] = 2;
    KeyTable::read(bytes, 0).unwrap()
}

fn fed(epoch: u64, group: &str, expires_at: Option<i64>, disabled: bool) -> Vec<u8> {
    fed_terms(
        epoch,
        KeyTerms {
            id: "f",
            group,
            expires_at,
            disabled,
            ..KeyTerms::default()
        },
    )
}

fn fed_terms(epoch: u64, terms: KeyTerms<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_fed(epoch, 1, Some(&terms), &mut bytes);
    bytes
}

/// The group, `401` or `503`.
fn verdict(keys: KeyTable, feed: Option<FeedStatus>, store: &Records) -> String {
    match authenticate(&key(), &in_force(keys, feed), store) {
        KeyStatus::Valid { group, .. } => group.id.to_string(),
        KeyStatus::Invalid | KeyStatus::Ended(_) => "401".to_owned(),
        KeyStatus::Undecided => "503".to_owned(),
    }
}

fn status_of(coverage: Coverage) -> Option<FeedStatus> {
    Some(FeedStatus {
        watermark: 7,
        coverage,
    })
}

#[test]
fn the_document_goes_before_the_feed() {
    let removed = {
        let mut bytes = Vec::new();
        encode_fed(7, 9, None, &mut bytes);
        bytes
    };
    let good = || Some(fed(7, "fed", None, false));
    let none = KeyTable::default;
    // (case, the document's keys, the feed's record, the verdict when all is read, and before that)
    let cases = [
        ("known to neither", none(), None, "401", "503"),
        ("named", named(false), None, "named", "named"),
        ("named by both", named(false), good(), "named", "named"),
        ("named, off", named(true), good(), "401", "401"),
        (
            "named, unreadable",
            of_another_release(),
            good(),
            "503",
            "503",
        ),
        ("another is named", of_another(), good(), "fed", "fed"),
        ("another is named, only", of_another(), None, "401", "503"),
        ("fed", none(), good(), "fed", "fed"),
        (
            "fed, off",
            none(),
            Some(fed(7, "fed", None, true)),
            "401",
            "401",
        ),
        (
            "fed, over",
            none(),
            Some(fed(7, "fed", Some(NOW), false)),
            "401",
            "401",
        ),
        (
            "fed, to end",
            none(),
            Some(fed(8, "fed", Some(NOW + 1), false)),
            "fed",
            "fed",
        ),
        (
            "fed long ago",
            none(),
            Some(fed(6, "fed", None, false)),
            "401",
            "503",
        ),
        ("removed", none(), Some(removed), "401", "401"),
        ("fed, unreadable", none(), Some(vec![2, 0]), "503", "503"),
        ("fed, empty", none(), Some(vec![]), "503", "503"),
        (
            "its group comes later",
            none(),
            Some(fed(7, "later", None, false)),
            "503",
            "503",
        ),
    ];
    for (case, keys, fed, read, before) in cases {
        let store = Records {
            fed,
            ..Records::default()
        };
        for (coverage, want) in [
            (Coverage::Whole, read),
            (Coverage::Former, before),
            (Coverage::Nothing, before),
        ] {
            let verdict = verdict(keys.clone(), status_of(coverage), &store);
            assert_eq!(verdict, want, "{case}, {coverage:?}");
        }
    }
}

#[test]
fn the_feed_is_read_where_it_is_named_and_the_document_has_no_answer() {
    let whole = status_of(Coverage::Whole);
    // (case, the document's keys, the feed's status, the verdict, the reads)
    let cases = [
        ("no feed", KeyTable::default(), None, "401", 0),
        ("no feed, named", named(false), None, "named", 0),
        ("no feed, unreadable", of_another_release(), None, "503", 0),
        ("a feed", KeyTable::default(), whole, "fed", 1),
        ("a feed, another is named", of_another(), whole, "fed", 1),
        ("a feed, named", named(false), whole, "named", 0),
        ("a feed, unreadable", of_another_release(), whole, "503", 0),
    ];
    for (case, keys, feed, want, reads) in cases {
        let store = Records {
            fed: Some(fed(7, "fed", None, false)),
            ..Records::default()
        };
        assert_eq!(verdict(keys, feed, &store), want, "{case}");
        assert_eq!(store.reads.get(), reads, "{case}");
    }
}

#[test]
fn a_budget_from_a_feed_needs_no_prices() {
    let gate = status_of(Coverage::Whole);
    // (the group, whose models have no price or a price, whether there is a budget for a day, and for a month)
    for (group, day, month) in [
        ("named", true, false),
        ("named", false, true),
        ("fed", true, true),
    ] {
        let limits = limits(day, month);
        let terms = KeyTerms {
            id: "f",
            group,
            limits: limits.as_deref(),
            ..KeyTerms::default()
        };
        let store = Records {
            fed: Some(fed_terms(7, terms)),
            ..Records::default()
        };
        let verdict = verdict(KeyTable::default(), gate, &store);
        assert_eq!(verdict, group, "{group}, {day}, {month}");
    }
}

/// A feed may name a group of the next document before that is in force here.
#[test]
fn a_group_of_a_newer_policy_is_found() {
    // (case, the group of the feed's record, the groups of the newer policy, the verdict)
    let cases = [
        ("none is newer", "later", None, "503"),
        ("the newer one has it", "later", Some("later"), "later"),
        ("nor has the newer one", "later", Some("latest"), "503"),
        ("the one at hand has it", "fed", Some("later"), "fed"),
    ];
    for (case, group, newer, want) in cases {
        let newer = newer.map(|id| {
            let text = format!(
                r#"{{"groups": [{{"id": "{id}", "protocol": "A", "multiplier": "1", "cluster": "c"}}]}}"#
            );
            let document = Document::parse(text.as_bytes()).unwrap();
            compile_policy(&document).unwrap().0
        });
        let store = Records {
            fed: Some(fed(7, group, None, false)),
            newer,
            ..Records::default()
        };
        let verdict = verdict(KeyTable::default(), status_of(Coverage::Whole), &store);
        assert_eq!(verdict, want, "{case}");
    }
}
