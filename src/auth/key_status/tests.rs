use super::*;
use crate::auth::CredentialForm;
use crate::auth::PresentedCredential;
use crate::config::Document;
use crate::config::compile::compile_policy;
use crate::head::Head;
use crate::keys::codec::encode_fed;
use crate::keys::{Coverage, FeedStatus, KeyTerms, StoredRecord};
use crate::limits::budget::Budget;
use crate::limits::{Limits, Rate};
use crate::money::Amount;
use crate::protocol::query::RequestTarget;

const NOW: i64 = 1_800_000_000;

/// The stored records of one key: that of the document, and that of the feed.
#[derive(Debug, Default)]
struct Records {
    named: Option<Vec<u8>>,
    fed: Option<Vec<u8>>,
    /// The policy that was published since.
    newer: Option<Policy>,
    /// The number of reads of the document's record.
    looks: std::cell::Cell<u32>,
}

impl KeyStore for Records {
    fn record(&self, namespace: Namespace, _: &KeyDigest) -> Option<Vec<u8>> {
        match namespace {
            Namespace::Document => {
                self.looks.set(self.looks.get() + 1);
                self.named.clone()
            }
            Namespace::Feed => self.fed.clone(),
        }
    }

    fn now(&self) -> i64 {
        NOW
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        let policy = self.newer.clone()?;
        Some(Rc::new(InForce {
            epoch: 5,
            generation: 8,
            feed: None,
            policy,
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

fn in_force(feed: Option<FeedStatus>) -> InForce {
    InForce {
        epoch: 5,
        generation: 7,
        feed,
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

fn named(epoch: u64, disabled: bool) -> Vec<u8> {
    named_with(epoch, disabled, None)
}

fn named_with(epoch: u64, disabled: bool, limits: Option<Box<Limits>>) -> Vec<u8> {
    let key = KeyRecord {
        id: "n".into(),
        group: "named".into(),
        disabled,
        limits,
        ..KeyRecord::default()
    };
    StoredRecord::plain(epoch, key).encode_named()
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
fn verdict(feed: Option<FeedStatus>, store: &Records) -> String {
    match authenticate(&key(), &in_force(feed), store) {
        KeyStatus::Valid { group, .. } => group.id.to_string(),
        KeyStatus::Invalid | KeyStatus::Ended(_) => "401".to_owned(),
        KeyStatus::Undecided => "503".to_owned(),
    }
}

#[test]
fn the_document_goes_before_the_feed() {
    let removed = {
        let mut bytes = Vec::new();
        encode_fed(7, 9, None, &mut bytes);
        bytes
    };
    let good = || Some(fed(7, "fed", None, false));
    // (case, the document's record, the feed's, the verdict when all is read, and before that)
    let cases = [
        ("known to neither", None, None, "401", "503"),
        ("named", Some(named(5, false)), None, "named", "named"),
        (
            "named by both",
            Some(named(5, false)),
            good(),
            "named",
            "named",
        ),
        ("named, off", Some(named(5, true)), good(), "401", "401"),
        ("named, unreadable", Some(vec![9]), good(), "503", "503"),
        ("no longer named", Some(vec![]), good(), "fed", "fed"),
        (
            "named long ago",
            Some(named(4, false)),
            good(),
            "fed",
            "fed",
        ),
        (
            "named long ago, only",
            Some(named(4, false)),
            None,
            "401",
            "503",
        ),
        ("fed", None, good(), "fed", "fed"),
        (
            "fed, off",
            None,
            Some(fed(7, "fed", None, true)),
            "401",
            "401",
        ),
        (
            "fed, over",
            None,
            Some(fed(7, "fed", Some(NOW), false)),
            "401",
            "401",
        ),
        (
            "fed, to end",
            None,
            Some(fed(8, "fed", Some(NOW + 1), false)),
            "fed",
            "fed",
        ),
        (
            "fed long ago",
            None,
            Some(fed(6, "fed", None, false)),
            "401",
            "503",
        ),
        ("removed", None, Some(removed), "401", "401"),
        ("fed, unreadable", None, Some(vec![2, 0]), "503", "503"),
        ("fed, empty", None, Some(vec![]), "503", "503"),
        (
            "its group comes later",
            None,
            Some(fed(7, "later", None, false)),
            "503",
            "503",
        ),
    ];
    for (case, named, fed, read, before) in cases {
        let store = Records {
            named,
            fed,
            ..Records::default()
        };
        for (coverage, want) in [
            (Coverage::Whole, read),
            (Coverage::Former, before),
            (Coverage::Nothing, before),
        ] {
            let gate = FeedStatus {
                watermark: 7,
                coverage,
                feed_only: false,
            };
            assert_eq!(verdict(Some(gate), &store), want, "{case}, {coverage:?}");
        }
    }
}

#[test]
fn where_no_feed_is_named_its_records_are_not_looked_at() {
    let store = Records {
        fed: Some(fed(7, "fed", None, false)),
        ..Records::default()
    };
    assert_eq!(verdict(None, &store), "401");
}

#[test]
fn where_the_document_names_no_keys_one_look_is_enough() {
    for (alone, looks) in [(false, 1), (true, 0)] {
        let store = Records {
            fed: Some(fed(7, "fed", None, false)),
            ..Records::default()
        };
        let gate = FeedStatus {
            watermark: 7,
            coverage: Coverage::Whole,
            feed_only: alone,
        };
        assert_eq!(verdict(Some(gate), &store), "fed");
        assert_eq!(store.looks.get(), looks, "alone: {alone}");
    }
}

#[test]
fn a_budget_from_a_feed_needs_no_prices() {
    let gate = Some(FeedStatus {
        watermark: 7,
        coverage: Coverage::Whole,
        feed_only: false,
    });
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
        assert_eq!(verdict(gate, &store), group, "{group}, {day}, {month}");
    }
}

/// Between a policy and a record that were published apart, and a look at a newer policy.
#[test]
fn a_key_is_judged_by_one_document() {
    struct Changing {
        record: Vec<u8>,
        newer: Option<Rc<InForce>>,
    }
    impl KeyStore for Changing {
        fn record(&self, namespace: Namespace, _: &KeyDigest) -> Option<Vec<u8>> {
            (namespace == Namespace::Document).then(|| self.record.clone())
        }
        fn now(&self) -> i64 {
            NOW
        }
        fn latest_policy(&self) -> Option<Rc<InForce>> {
            self.newer.clone()
        }
    }
    let record = |group: &str| {
        (!group.is_empty()).then(|| KeyRecord {
            id: "k".into(),
            group: group.into(),
            ..KeyRecord::default()
        })
    };
    // The policy at hand is of generation 7. (case, from, now, before, the policy in force, the verdict)
    let cases = [
        ("in force", 7, "named", "fed", 7, "named"),
        ("not yet", 8, "named", "fed", 7, "fed"),
        ("by now", 8, "named", "fed", 8, "named"),
        ("long since", 8, "named", "fed", 9, "named"),
        ("the one between only", 9, "named", "fed", 8, "fed"),
        ("not yet added", 8, "named", "", 7, "401"),
        ("added by now", 8, "named", "", 8, "named"),
        ("not yet removed", 8, "", "fed", 7, "fed"),
        ("removed by now", 8, "", "fed", 8, "401"),
    ];
    for (case, from, now, before, newest, want) in cases {
        let named = StoredRecord {
            epoch: 5,
            version: from,
            key: record(now),
            before: record(before),
        };
        let store = Changing {
            record: named.encode_named(),
            newer: Some(Rc::new(InForce {
                generation: newest,
                ..in_force(None)
            })),
        };
        let verdict = match authenticate(&key(), &in_force(None), &store) {
            KeyStatus::Valid { group, .. } => group.id.clone(),
            KeyStatus::Invalid | KeyStatus::Ended(_) => "401".into(),
            KeyStatus::Undecided => "503".into(),
        };
        assert_eq!(verdict, want, "{case}");
    }
}
