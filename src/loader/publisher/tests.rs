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
            let digest = KeyDigest::of(key.as_bytes()).shared_name();
            json!({"id": key, "group": group, "sha256": digest.trim_start_matches("trilane/key/")})
        })
        .collect();
    let text = json!({"groups": groups, "keys": keys}).to_string();
    Document::parse(text.as_bytes()).unwrap()
}

fn publish(publisher: &mut Publisher, document: &Document, shared: &FakeSharedData) -> Published {
    let compiled = compile(document).unwrap();
    publisher
        .publish(document, &compiled, None, shared)
        .unwrap()
}

/// The group under which a reader of this shared data sees a key.
fn group_of(key: &str, shared: &FakeSharedData) -> Option<String> {
    let mut view = SnapshotCache::default();
    let in_force = view.refresh(shared)?;
    let bytes = shared.get(&KeyDigest::of(key.as_bytes()).shared_name()).0?;
    let record = StoredRecord::decode(Namespace::Document, &bytes).unwrap()?;
    let key = record.at(in_force.epoch, in_force.generation)?;
    Some(key.group.to_string())
}

#[test]
fn only_what_changed_is_written() {
    let shared = FakeSharedData::default();
    let mut publisher = Publisher::take_over(&shared).unwrap();
    let steps: [(&str, Document, usize); 4] = [
        (
            "two new keys",
            document(&[("k1", "g"), ("k2", "g")], &["g"]),
            2,
        ),
        (
            "the same again",
            document(&[("k1", "g"), ("k2", "g")], &["g"]),
            0,
        ),
        ("one removed", document(&[("k1", "g")], &["g"]), 1),
        ("one moved", document(&[("k1", "h")], &["g", "h"]), 1),
    ];
    for (case, document, want) in steps {
        assert_eq!(
            publish(&mut publisher, &document, &shared).records,
            want,
            "{case}"
        );
    }
    assert_eq!(group_of("k1", &shared).as_deref(), Some("h"));
    assert_eq!(group_of("k2", &shared), None, "removed");
}

#[test]
fn a_new_publisher_voids_what_it_does_not_confirm() {
    let shared = FakeSharedData::default();
    let mut old = Publisher::take_over(&shared).unwrap();
    publish(
        &mut old,
        &document(&[("k1", "g"), ("k2", "g")], &["g"]),
        &shared,
    );
    let mut new = Publisher::take_over(&shared).unwrap();
    publish(&mut new, &document(&[("k1", "g")], &["g"]), &shared);
    assert_eq!(group_of("k1", &shared).as_deref(), Some("g"));
    assert_eq!(
        group_of("k2", &shared),
        None,
        "left behind by the old publisher"
    );
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
            publisher
                .publish(&after, &compile(&after).unwrap(), None, &watched)
                .unwrap();
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
        assert!(write > 4, "{case}: {write} writes");
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
            let compiled = compile(earlier).unwrap();
            let done = first.publish(earlier, &compiled, None, &watched);
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
            let again = first.publish(before, &compile(before).unwrap(), None, &shared);
            assert_eq!(again, Err(Superseded), "{case}");
            assert_eq!(seen(&shared), told(&AFTER), "{case}, again");
            write += 1;
        }
        assert!(write > 5, "{case}: {write} writes");
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
            let compiled = compile(earlier).unwrap();
            let done = first.publish(earlier, &compiled, None, &shared);
            assert_eq!(done, Err(Superseded), "before write {write}");
            assert!(seen(&shared) != told(&EARLIER), "before write {write}");
        };
        let watched = Interrupted::before(write, &shared, &mut comes);
        let compiled = compile(later).unwrap();
        let done = second.publish(later, &compiled, None, &watched);
        if !watched.is_over() {
            break;
        }
        if done.is_err() {
            // It was kept from a record, and does it all once more.
            second = Publisher::take_over(&shared).unwrap();
            publish(&mut second, later, &shared);
        }
        assert_eq!(seen(&shared), told(&AFTER), "before write {write}");
        write += 1;
    }
    assert!(write > 4, "{write} writes");
}

#[test]
fn a_document_is_signed_with_its_publisher() {
    let shared = FakeSharedData::default();
    let (digest, other) = ([7; 32], [8; 32]);
    assert!(!is_published(&digest, &shared), "nothing is");
    let mut first = Publisher::take_over(&shared).unwrap();
    publish(&mut first, &document(&BEFORE, &["g"]), &shared);
    first.sign(&digest, &shared);
    assert!(is_published(&digest, &shared));
    assert!(!is_published(&other, &shared));
    let mut second = Publisher::take_over(&shared).unwrap();
    assert!(is_published(&digest, &shared), "it is still in force");
    publish(&mut second, &document(&AFTER, &["g", "h"]), &shared);
    assert!(!is_published(&digest, &shared), "another is");
}

#[test]
fn who_takes_over_becomes_the_writer_and_changes_nothing_else() {
    let shared = FakeSharedData::default();
    let mut first = Publisher::take_over(&shared).unwrap();
    publish(&mut first, &document(&BEFORE, &["g"]), &shared);
    let edition = || {
        let bytes = shared.get(snapshot::POLICY).0.unwrap();
        snapshot::peek(&bytes).unwrap().edition
    };
    let before = edition();
    Publisher::take_over(&shared).unwrap();
    let writer = last_epoch(&shared);
    assert!(writer > before.writer, "an epoch of its own");
    assert_eq!(edition(), Edition { writer, ..before });
}

/// A peer that goes on with the records of another: they stay, and it knows what it need not write.
#[test]
fn who_goes_on_keeps_the_records() {
    let shared = FakeSharedData::default();
    let (before, after) = (
        document(&BEFORE, &["g", "h"]),
        document(&AFTER, &["g", "h"]),
    );
    let mut first = Publisher::take_over(&shared).unwrap();
    publish(&mut first, &before, &shared);
    let mut peer = Publisher::go_on(compile(&before).unwrap(), &shared).unwrap();
    assert_eq!(seen(&shared), told(&BEFORE));
    assert_eq!(peer.keys(), BEFORE.len());
    let published = publish(&mut peer, &after, &shared);
    assert_eq!(published.records, 3, "one moved, one removed, one added");
    assert_eq!(seen(&shared), told(&AFTER));
    assert_eq!(peer.keys(), AFTER.len());
}

#[test]
fn the_status_of_the_feed_is_published_when_it_changes() {
    let status = |watermark| FeedStatus {
        watermark,
        ..FeedStatus::default()
    };
    for (case, keys) in [("with keys", &BEFORE[..]), ("without keys", &[])] {
        let shared = FakeSharedData::default();
        let feed = || {
            let bytes = shared.get(snapshot::POLICY).0.unwrap();
            snapshot::peek(&bytes).unwrap().feed
        };
        let want = |watermark| {
            Some(FeedStatus {
                feed_only: keys.is_empty(),
                ..status(watermark)
            })
        };
        let document = document(keys, &["g"]);
        let compiled = compile(&document).unwrap();
        let mut publisher = Publisher::take_over(&shared).unwrap();
        let published = publisher.publish(&document, &compiled, Some(status(5)), &shared);
        assert_eq!(published.unwrap().generation, 1, "{case}");
        assert_eq!(feed(), want(5), "{case}");
        // (the watermark, the generation with which it is published)
        for (watermark, generation) in [(5, None), (6, Some(2)), (6, None), (7, Some(3))] {
            let opened = publisher.open(status(watermark), &shared);
            assert_eq!(opened, Ok(generation), "{case}, {watermark}");
            assert_eq!(feed(), want(watermark), "{case}, {watermark}");
        }
        assert_eq!(generation(&shared), Some(3), "{case}");
    }
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
    let compiled = compile(&document).unwrap();
    let mut first = Publisher::take_over(&shared).unwrap();
    let followed = Followed(&shared, RefCell::default());
    let published = first.publish(&document, &compiled, None, &followed);
    assert_eq!(published, Err(Superseded));
    assert!(followed.1.into_inner().is_some());
}

/// Of what no publisher can have written nothing is to be kept, and nobody is to wait for it.
#[test]
fn records_that_nobody_can_have_written_are_replaced() {
    let record = |epoch| {
        let key = compile(&document(&[("k1", "h")], &["h"])).unwrap().keys;
        let key = key.into_iter().next().unwrap().1;
        StoredRecord::plain(epoch, key).encode_named()
    };
    let cases = [
        ("of another release", vec![9; 20]),
        ("of an epoch that nobody had", record(u64::MAX)),
    ];
    let name = KeyDigest::of(b"k1").shared_name();
    for (case, found) in cases {
        let document = document(&BEFORE, &["g"]);
        let compiled = compile(&document).unwrap();
        let mut write = 0;
        loop {
            let shared = FakeSharedData::default();
            let mut publisher = Publisher::take_over(&shared).unwrap();
            publish(&mut publisher, &document, &shared);
            shared.set(&name, &found, None).unwrap();
            let mut publisher = Publisher::take_over(&shared).unwrap();
            // It has the group of the document as soon as it is written.
            let mut between = None;
            let mut look = || {
                let replaced = shared.get(&name).0.as_ref() != Some(&found);
                between = Some(!replaced || group_of("k1", &shared).as_deref() == Some("g"));
            };
            let watched = Interrupted::before(write, &shared, &mut look);
            let published = publisher.publish(&document, &compiled, None, &watched);
            assert!(published.is_ok(), "{case}");
            if !watched.is_over() {
                break;
            }
            assert_eq!(between, Some(true), "{case}, before write {write}");
            assert_eq!(seen(&shared), told(&BEFORE), "{case}");
            write += 1;
        }
        assert!(write > 1, "{case}: {write} writes");
    }
}
