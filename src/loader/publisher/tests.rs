//! A reader's view of publications, at every write of them.

use std::cell::{Cell, RefCell};

use super::*;
use crate::config::compile;
use crate::config::snapshot_cache::SnapshotCache;
use crate::shared_data::Conflict;
use crate::shared_data::fake::FakeSharedData;
use serde_json::{Value, json};

fn document(keys: &[(&str, &str)], groups: &[&str]) -> Document {
    let groups: Vec<Value> = groups
        .iter()
        .map(|id| json!({"id": id, "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{"id": "m"}]}))
        .collect();
    let keys: Vec<Value> = keys
        .iter()
        .map(|(key, group)| {
            let sha256 = hex::encode(KeyDigest::of(key.as_bytes()).bytes());
            json!({"id": key, "group": group, "sha256": sha256})
        })
        .collect();
    let text = json!({"groups": groups, "keys": keys}).to_string();
    Document::parse(text.as_bytes()).unwrap()
}

/// The digest of the documents' texts, where it does not matter.
const DIGEST: [u8; 32] = [7; 32];

fn try_publish(
    publisher: &mut Publisher,
    document: &Document,
    shared: &impl SharedData,
) -> Result<Published, Superseded> {
    let compiled = compile(document).unwrap();
    publisher.publish(document, &compiled, &DIGEST, None, shared)
}

fn publish(publisher: &mut Publisher, document: &Document, shared: &FakeSharedData) -> Published {
    try_publish(publisher, document, shared).unwrap()
}

/// The policy in shared data.
fn published(shared: &FakeSharedData) -> Snapshot {
    Snapshot::read(shared.get(snapshot::POLICY).0.unwrap()).unwrap()
}

/// The group under which a reader of this shared data sees a key.
fn group_of(key: &str, shared: &FakeSharedData) -> Option<String> {
    let mut view = SnapshotCache::default();
    let in_force = view.refresh(shared)?;
    let key = in_force.keys.get(&KeyDigest::of(key.as_bytes()));
    let group = key.unwrap()?.group;
    assert!(in_force.policy.group(&group).is_some(), "one document");
    Some(group.to_string())
}

/// Keys and their groups.
type NamedKeys = &'static [(&'static str, &'static str)];

#[test]
fn what_changed_is_counted() {
    let shared = FakeSharedData::default();
    let mut publisher = Publisher::take_over(&shared).unwrap();
    // (case, the keys of the document, the number of changes, whether another publisher takes over before)
    let cases: [(&str, NamedKeys, usize, bool); 8] = [
        ("two new keys", &[("k1", "g"), ("k2", "g")], 2, false),
        ("the same again", &[("k2", "g"), ("k1", "g")], 0, false),
        ("the same, by another", &[("k1", "g"), ("k2", "g")], 0, true),
        ("one removed", &[("k1", "g")], 1, false),
        ("one moved", &[("k1", "h")], 1, false),
        ("one removed, one new, by another", &[("k3", "h")], 2, true),
        (
            "one new before the other",
            &[("k2", "g"), ("k3", "h")],
            1,
            false,
        ),
        ("all removed", &[], 2, false),
    ];
    for (case, keys, want, is_other) in cases {
        if is_other {
            publisher = Publisher::take_over(&shared).unwrap();
        }
        let document = document(keys, &["g", "h"]);
        let changes = publish(&mut publisher, &document, &shared).changes;
        assert_eq!(changes, want, "{case}");
        assert_eq!(seen(&shared), told(keys), "{case}");
        assert_eq!(publisher.keys(), keys.len(), "{case}");
    }
}

#[test]
fn a_publication_writes_the_policy_and_its_generation() {
    let shared = FakeSharedData::default();
    let mut publisher = Publisher::take_over(&shared).unwrap();
    for (case, keys) in [("three keys", &BEFORE[..]), ("other keys", &AFTER[..])] {
        shared.written.take();
        publish(&mut publisher, &document(keys, &["g", "h"]), &shared);
        let written = shared.written.take();
        assert_eq!(written, [snapshot::POLICY, snapshot::GENERATION], "{case}");
    }
}

/// Shared data, with something that happens before the write of this number, the first being 0.
struct Interrupted<'a> {
    shared: &'a FakeSharedData,
    left: Cell<Option<usize>>,
    happens: RefCell<&'a mut dyn FnMut()>,
}

impl<'a> Interrupted<'a> {
    fn before(write: usize, shared: &'a FakeSharedData, happens: &'a mut dyn FnMut()) -> Self {
        Self {
            shared,
            left: Cell::new(Some(write)),
            happens: RefCell::new(happens),
        }
    }

    /// Whether it has happened.
    fn is_over(&self) -> bool {
        self.left.get().is_none()
    }
}

impl SharedData for Interrupted<'_> {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.shared.get(name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        match self.left.get() {
            Some(0) => {
                self.left.set(None);
                (self.happens.borrow_mut())();
            }
            left => self.left.set(left.map(|left| left - 1)),
        }
        self.shared.set(name, value, version)
    }
}

const KEYS: [&str; 5] = ["k1", "k2", "k3", "k4", "k5"];

/// The groups of all keys, as a reader sees them.
fn seen(shared: &FakeSharedData) -> [Option<String>; KEYS.len()] {
    KEYS.map(|key| group_of(key, shared))
}

/// Returns the groups that a reader must see of a document.
fn told(keys: &[(&str, &str)]) -> [Option<String>; KEYS.len()] {
    KEYS.map(|key| {
        let named = keys.iter().find(|(known, _)| *known == key);
        named.map(|(_, group)| (*group).to_owned())
    })
}

const BEFORE: [(&str, &str); 3] = [("k1", "g"), ("k2", "g"), ("k3", "g")];
const AFTER: [(&str, &str); 3] = [("k1", "h"), ("k3", "g"), ("k4", "h")];

/// A document takes effect in one stroke: a reader sees the whole of the former, or the whole of the new.
#[test]
fn at_every_write_one_document_is_in_force() {
    let (before, after) = (
        document(&BEFORE, &["g", "h"]),
        document(&AFTER, &["g", "h"]),
    );
    for (case, same_publisher) in [("the same publisher", true), ("a new publisher", false)] {
        let mut write = 0;
        loop {
            let shared = FakeSharedData::default();
            let mut publisher = Publisher::take_over(&shared).unwrap();
            publish(&mut publisher, &before, &shared);
            if !same_publisher {
                publisher = Publisher::take_over(&shared).unwrap();
            }
            let mut between = None;
            let mut look = || between = Some(seen(&shared));
            let watched = Interrupted::before(write, &shared, &mut look);
            try_publish(&mut publisher, &after, &watched).unwrap();
            if !watched.is_over() {
                break;
            }
            let between = between.unwrap();
            assert!(
                between == told(&BEFORE) || between == told(&AFTER),
                "{case}, before write {write}: {between:?}"
            );
            assert_eq!(seen(&shared), told(&AFTER), "{case}, at the end");
            write += 1;
        }
        assert!(write > 1, "{case}: {write} writes");
    }
}

/// The document of one that began earlier, and is still at it.
const EARLIER: [(&str, &str); 4] = [("k1", "h"), ("k2", "h"), ("k4", "g"), ("k5", "h")];

/// The publisher that began later wins, wherever the other one is at that moment.
#[test]
fn a_publisher_that_was_overtaken_changes_nothing() {
    let documents = [&BEFORE[..], &EARLIER[..], &AFTER[..]].map(|keys| document(keys, &["g", "h"]));
    let [before, earlier, later] = &documents;
    for (case, knows_before) in [("goes on", true), ("has taken over", false)] {
        let mut write = 0;
        loop {
            let shared = FakeSharedData::default();
            let mut first = Publisher::take_over(&shared).unwrap();
            publish(&mut first, before, &shared);
            if !knows_before {
                first = Publisher::take_over(&shared).unwrap();
            }
            let mut overtakes = || {
                let mut second = Publisher::take_over(&shared).unwrap();
                publish(&mut second, later, &shared);
            };
            let watched = Interrupted::before(write, &shared, &mut overtakes);
            let done = try_publish(&mut first, earlier, &watched);
            if !watched.is_over() {
                break;
            }
            let case = format!("{case}, overtaken before write {write}");
            assert_eq!(seen(&shared), told(&AFTER), "{case}");
            // It may have been told that its own came into force, which was so.
            assert!(
                done == Err(Superseded) || !first.is_in_force(&shared),
                "{case}"
            );
            // It is of no use any more.
            let again = try_publish(&mut first, before, &shared);
            assert_eq!(again, Err(Superseded), "{case}");
            assert_eq!(seen(&shared), told(&AFTER), "{case}, again");
            write += 1;
        }
        assert!(write > 1, "{case}: {write} writes");
    }
}

/// A publisher that was overtaken may not know it yet, and publish in the middle of the other's publication.
#[test]
fn an_overtaken_publisher_does_not_come_in_between() {
    let documents = [&BEFORE[..], &EARLIER[..], &AFTER[..]].map(|keys| document(keys, &["g", "h"]));
    let [before, earlier, later] = &documents;
    let mut write = 0;
    loop {
        let shared = FakeSharedData::default();
        let mut first = Publisher::take_over(&shared).unwrap();
        publish(&mut first, before, &shared);
        let mut second = Publisher::take_over(&shared).unwrap();
        let mut comes = || {
            let done = try_publish(&mut first, earlier, &shared);
            assert_eq!(done, Err(Superseded), "before write {write}");
            assert!(seen(&shared) != told(&EARLIER), "before write {write}");
        };
        let watched = Interrupted::before(write, &shared, &mut comes);
        let done = try_publish(&mut second, later, &watched);
        assert!(done.is_ok(), "before write {write}");
        if !watched.is_over() {
            break;
        }
        assert_eq!(seen(&shared), told(&AFTER), "before write {write}");
        write += 1;
    }
    assert!(write > 1, "{write} writes");
}

#[test]
fn a_document_is_told_by_its_digest() {
    let shared = FakeSharedData::default();
    let other = [8; 32];
    assert!(!is_published(&DIGEST, &shared), "nothing is");
    let mut first = Publisher::take_over(&shared).unwrap();
    assert!(!is_published(&[0; 32], &shared), "nothing is yet");
    publish(&mut first, &document(&BEFORE, &["g"]), &shared);
    assert!(is_published(&DIGEST, &shared));
    assert!(!is_published(&other, &shared));
    first.open(FeedStatus::default(), &shared).unwrap();
    assert!(is_published(&DIGEST, &shared), "another status of the feed");
    let mut second = Publisher::take_over(&shared).unwrap();
    assert!(is_published(&DIGEST, &shared), "it is still in force");
    let after = document(&AFTER, &["g", "h"]);
    let compiled = compile(&after).unwrap();
    let published = second.publish(&after, &compiled, &other, None, &shared);
    assert!(published.is_ok());
    assert!(!is_published(&DIGEST, &shared), "another is");
    assert!(is_published(&other, &shared), "another is");
    shared.set(snapshot::POLICY, b"{}", None).unwrap();
    assert!(!is_published(&other, &shared), "of another release");
}

#[test]
fn who_takes_over_becomes_the_writer_and_changes_nothing_else() {
    let shared = FakeSharedData::default();
    let mut first = Publisher::take_over(&shared).unwrap();
    publish(&mut first, &document(&BEFORE, &["g"]), &shared);
    let before = published(&shared);
    Publisher::take_over(&shared).unwrap();
    let after = published(&shared);
    assert!(after.writer > before.writer, "an epoch of its own");
    let writer = after.writer;
    assert_eq!(after.encode(), Snapshot { writer, ..before }.encode());
}

/// A former policy may have had any epoch, and what tells the last one may be lost.
#[test]
fn an_epoch_is_above_all_before() {
    let number = |number: u64| number.to_le_bytes().to_vec();
    // (case, the epoch of the policy, what tells the last one, the epoch that is drawn)
    let cases = [
        ("the first", None, None, 1),
        ("after one without a policy", None, Some(number(4)), 5),
        ("after a policy", Some(4), Some(number(4)), 5),
        (
            "after one that published nothing",
            Some(4),
            Some(number(6)),
            7,
        ),
        ("nothing tells the last one", Some(4), None, 5),
        ("what tells it cannot be read", Some(4), Some(vec![9]), 5),
    ];
    for (case, writer, told, want) in cases {
        let shared = FakeSharedData::default();
        if let Some(writer) = writer {
            let policy = Snapshot {
                writer,
                ..Snapshot::default()
            };
            let set = shared.set(snapshot::POLICY, &policy.encode(), None);
            set.unwrap();
        }
        if let Some(told) = told {
            shared.set(snapshot::EPOCH, &told, None).unwrap();
        }
        let publisher = Publisher::take_over(&shared).unwrap();
        assert_eq!(publisher.in_force.writer, want, "{case}");
    }
}

/// A value of another release is replaced by the next document, and not before; generations grow beyond those beside it.
#[test]
fn what_another_release_wrote_stays_until_a_document_is_published() {
    let good = {
        let shared = FakeSharedData::default();
        let mut publisher = Publisher::take_over(&shared).unwrap();
        publish(&mut publisher, &document(&BEFORE, &["g"]), &shared);
        shared.get(snapshot::POLICY).0.unwrap()
    };
    let cases = [
        (
            "JSON, as before",
            br#"{"format":1,"generation":5}"#.to_vec(),
        ),
        ("of a format to come", [&[3], &good[1..]].concat()),
        ("cut", good[..good.len() - 1].to_vec()),
        ("empty", Vec::new()),
    ];
    for (case, value) in cases {
        let shared = FakeSharedData::default();
        shared.set(snapshot::POLICY, &value, None).unwrap();
        let generation = 5_u64.to_le_bytes();
        shared.set(snapshot::GENERATION, &generation, None).unwrap();
        let mut publisher = Publisher::take_over(&shared).unwrap();
        let found = shared.get(snapshot::POLICY).0;
        assert_eq!(found.as_ref(), Some(&value), "{case}");
        let after = publish(&mut publisher, &document(&AFTER, &["g", "h"]), &shared);
        assert_eq!(after.generation, 6, "{case}");
        assert_eq!(seen(&shared), told(&AFTER), "{case}");
    }
}

#[test]
fn who_goes_on_keeps_the_document() {
    let shared = FakeSharedData::default();
    let mut first = Publisher::take_over(&shared).unwrap();
    publish(&mut first, &document(&BEFORE, &["g"]), &shared);
    let before = published(&shared);
    let other = Publisher::go_on(&[8; 32], &shared);
    assert_eq!(other.err(), Some(Superseded), "another document");
    let mut peer = Publisher::go_on(&DIGEST, &shared).unwrap();
    assert_eq!(published(&shared).generation, before.generation);
    assert_eq!(seen(&shared), told(&BEFORE));
    assert_eq!(peer.keys(), BEFORE.len());
    let after = publish(&mut peer, &document(&AFTER, &["g", "h"]), &shared);
    assert_eq!(after.changes, 3, "one moved, one removed, one added");
    assert_eq!(seen(&shared), told(&AFTER));
}

#[test]
fn the_status_of_the_feed_is_published_when_it_changes() {
    let status = |watermark| FeedStatus {
        watermark,
        ..FeedStatus::default()
    };
    let shared = FakeSharedData::default();
    let document = document(&BEFORE, &["g"]);
    let compiled = compile(&document).unwrap();
    let mut publisher = Publisher::take_over(&shared).unwrap();
    let done = publisher.publish(&document, &compiled, &DIGEST, Some(status(5)), &shared);
    assert_eq!(done.unwrap().generation, 1);
    assert_eq!(published(&shared).feed, Some(status(5)));
    // (the watermark, the generation with which it is published)
    for (watermark, want) in [(5, None), (6, Some(2)), (6, None), (7, Some(3))] {
        let opened = publisher.open(status(watermark), &shared);
        assert_eq!(opened, Ok(want), "{watermark}");
        let found = published(&shared).feed;
        assert_eq!(found, Some(status(watermark)), "{watermark}");
        assert_eq!(seen(&shared), told(&BEFORE), "{watermark}");
    }
    assert_eq!(generation(&shared), Some(3));
}

/// Another one takes over after this one has set its policy, and before it has read the version of it.
#[test]
fn a_publisher_takes_no_other_policy_for_its_own() {
    /// Shared data, with something that happens after the policy was set.
    struct Followed<'a>(&'a FakeSharedData, RefCell<Option<Publisher>>);
    impl SharedData for Followed<'_> {
        fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
            self.0.get(name)
        }
        fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
            self.0.set(name, value, version)?;
            if name == snapshot::POLICY {
                self.1.replace(Publisher::take_over(self.0).ok());
            }
            Ok(())
        }
    }
    let shared = FakeSharedData::default();
    let document = document(&BEFORE, &["g"]);
    let mut first = Publisher::take_over(&shared).unwrap();
    let followed = Followed(&shared, RefCell::default());
    let done = try_publish(&mut first, &document, &followed);
    assert_eq!(done, Err(Superseded));
    assert!(followed.1.into_inner().is_some());
}
