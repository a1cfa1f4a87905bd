//! Publishing a compiled document to shared data, so that no request in between is judged wrongly.
//!
//! Readers see single values change, never all at once. Hence the order: first a policy that knows
//! the groups of the old and of the new document, then the key records, then the policy that knows
//! the new groups only; after each policy its generation. At every moment the group that a record
//! names is in the policy in force.

use hashbrown::HashMap;

use super::compile::Compiled;
use super::document::{Document, GroupDocument};
use super::feed::Gate;
use super::record::{KeyDigest, KeyRecord, Stamped};
use super::snapshot;
use crate::shared_data::SharedData;

/// Publishes one document after the other, and writes only what changed.
#[derive(Debug)]
pub struct Publisher {
    epoch: u64,
    /// The epoch of the policy in force: lower than `epoch` until the first publication is done.
    epoch_in_force: u64,
    generation: u64,
    published: HashMap<KeyDigest, KeyRecord>,
    /// The document in force, without its keys.
    document: Document,
    /// What is in force for the feed's records.
    feed: Option<Gate>,
}

/// What one publication did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The generation now in force.
    pub generation: u64,
    /// Key records written, removals included.
    pub records: usize,
}

impl Publisher {
    /// Takes over from whoever published before: one epoch further, which voids every record of
    /// theirs that the next document does not confirm.
    pub fn take_over(shared: &impl SharedData) -> Self {
        let generation = shared
            .get(snapshot::GENERATION)
            .0
            .and_then(|bytes| snapshot::decode_generation(&bytes))
            .unwrap_or(0);
        // The policy in force: records of its epoch and its groups are about.
        let policy = shared.get(snapshot::POLICY).0;
        let (epoch_in_force, document, feed) = policy
            .and_then(|bytes| snapshot::peek(&bytes))
            .map(|policy| (policy.epoch, policy.document, policy.feed))
            .unwrap_or_default();
        Self {
            epoch: generation.max(epoch_in_force).saturating_add(1),
            epoch_in_force,
            generation,
            published: HashMap::new(),
            document,
            feed,
        }
    }

    /// Goes on where somebody else has published this very document, in its epoch. `None` where what
    /// is in force cannot be read.
    pub fn go_on(compiled: Compiled, shared: &impl SharedData) -> Option<Self> {
        let generation = snapshot::decode_generation(&shared.get(snapshot::GENERATION).0?)?;
        let policy = snapshot::peek(&shared.get(snapshot::POLICY).0?)?;
        Some(Self {
            epoch: policy.epoch,
            epoch_in_force: policy.epoch,
            generation,
            published: compiled.keys.into_iter().collect(),
            document: policy.document,
            feed: policy.feed,
        })
    }

    /// Publishes a document; `compiled` is its compiled form, `feed` what is to be known of the feed
    /// that it names.
    pub fn publish(
        &mut self,
        document: &Document,
        compiled: &Compiled,
        feed: Option<Gate>,
        shared: &impl SharedData,
    ) -> Published {
        if let Some(both) = self.between(document) {
            // Until the records are rewritten, those of the epoch in force must count; and so must
            // what the feed in force has given, for a key may move from there to the document.
            let feed = self.feed.map(|feed| Gate {
                alone: false,
                ..feed
            });
            self.put_policy(&both, self.epoch_in_force, feed, shared);
        }
        let records = self.put_records(compiled, shared);
        self.document = document.without_keys();
        self.epoch_in_force = self.epoch;
        self.put(self.gate(feed), shared);
        Published {
            generation: self.generation,
            records,
        }
    }

    /// Publishes what is to be known of the feed from now on; `None` where that is in force already. No
    /// record is written.
    pub fn open(&mut self, feed: Gate, shared: &impl SharedData) -> Option<u64> {
        let feed = self.gate(Some(feed));
        if feed == self.feed {
            return None;
        }
        self.put(feed, shared);
        Some(self.generation)
    }

    /// How many keys the document names.
    pub fn keys(&self) -> usize {
        self.published.len()
    }

    fn gate(&self, feed: Option<Gate>) -> Option<Gate> {
        let alone = self.published.is_empty();
        feed.map(|feed| Gate { alone, ..feed })
    }

    /// Publishes the document with this for the feed.
    fn put(&mut self, feed: Option<Gate>, shared: &impl SharedData) {
        let document = core::mem::take(&mut self.document);
        self.put_policy(&document, self.epoch, feed, shared);
        self.document = document;
        self.feed = feed;
    }

    /// The policy to decide by while the records are rewritten; `None` where the one in force
    /// knows every group that a new record names, or where no policy can know both.
    fn between(&self, document: &Document) -> Option<Document> {
        let old = self.document.groups.as_deref().unwrap_or_default();
        let new = document.groups.as_deref().unwrap_or_default();
        let with = |first: &[GroupDocument], second: &[GroupDocument]| {
            let more = second
                .iter()
                .filter(|g| !first.iter().any(|f| f.id == g.id));
            let groups: Vec<GroupDocument> = first.iter().chain(more).cloned().collect();
            Document {
                groups: Some(groups),
                ..document.without_keys()
            }
        };
        let adds = new.iter().any(|g| !old.iter().any(|old| old.id == g.id));
        if old.is_empty() || !adds {
            return None;
        }
        // The groups in force decide as before. Only where a new Mixed group needs what is new in
        // its sources do the new definitions come first.
        [with(old, new), with(new, old)]
            .into_iter()
            .find(|both| super::compile::compile_policy(both).is_ok())
    }

    fn put_records(&mut self, compiled: &Compiled, shared: &impl SharedData) -> usize {
        let mut written = 0_usize;
        let mut wanted: HashMap<KeyDigest, KeyRecord> = HashMap::with_capacity(compiled.keys.len());
        for (digest, record) in &compiled.keys {
            if self.published.get(digest) != Some(record) {
                let stamped = Stamped {
                    epoch: self.epoch,
                    record: record.clone(),
                };
                set(shared, &digest.shared_name(), &stamped.encode());
                written = written.saturating_add(1);
            }
            wanted.insert(*digest, record.clone());
        }
        for digest in self.published.keys() {
            if !wanted.contains_key(digest) {
                set(shared, &digest.shared_name(), b"");
                written = written.saturating_add(1);
            }
        }
        self.published = wanted;
        written
    }

    fn put_policy(
        &mut self,
        document: &Document,
        epoch: u64,
        feed: Option<Gate>,
        shared: &impl SharedData,
    ) {
        self.generation = self.generation.saturating_add(1);
        let policy = snapshot::encode(document, epoch, feed);
        set(shared, snapshot::POLICY, &policy);
        set(shared, snapshot::GENERATION, &self.generation.to_le_bytes());
    }
}

/// Sets unconditionally, which has no conflict.
fn set(shared: &impl SharedData, name: &str, value: &[u8]) {
    let _ = shared.set(name, value, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::compile;
    use crate::config::view::View;
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

    fn publish(
        publisher: &mut Publisher,
        document: &Document,
        shared: &FakeSharedData,
    ) -> Published {
        let compiled = compile(document).unwrap();
        publisher.publish(document, &compiled, None, shared)
    }

    /// The group under which a reader of this shared data sees a key.
    fn group_of(key: &str, shared: &FakeSharedData) -> Option<String> {
        let mut view = View::default();
        let in_force = view.refresh(shared)?;
        let bytes = shared.get(&KeyDigest::of(key.as_bytes()).shared_name()).0?;
        let stamped = Stamped::decode(&bytes).unwrap()?;
        (stamped.epoch >= in_force.epoch).then_some(stamped.record.group)
    }

    #[test]
    fn only_what_changed_is_written() {
        let shared = FakeSharedData::default();
        let mut publisher = Publisher::take_over(&shared);
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
        let mut old = Publisher::take_over(&shared);
        publish(
            &mut old,
            &document(&[("k1", "g"), ("k2", "g")], &["g"]),
            &shared,
        );
        let mut new = Publisher::take_over(&shared);
        publish(&mut new, &document(&[("k1", "g")], &["g"]), &shared);
        assert_eq!(group_of("k1", &shared).as_deref(), Some("g"));
        assert_eq!(
            group_of("k2", &shared),
            None,
            "left behind by the old publisher"
        );
    }

    /// Replays a publication write by write: a key that is good before and after is good between.
    #[test]
    fn no_step_of_a_publication_loses_a_key() {
        struct Watching<'a> {
            inner: &'a FakeSharedData,
            steps: std::cell::RefCell<Vec<Option<bool>>>,
        }
        impl SharedData for Watching<'_> {
            fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
                self.inner.get(name)
            }
            fn set(
                &self,
                name: &str,
                value: &[u8],
                version: Option<u32>,
            ) -> Result<(), crate::shared_data::Conflict> {
                self.inner.set(name, value, version)?;
                let mut view = View::default();
                let group = group_of("k1", self.inner);
                let known = view
                    .refresh(self.inner)
                    .map(|in_force| group.is_some_and(|id| in_force.policy.group(&id).is_some()));
                self.steps.borrow_mut().push(known);
                Ok(())
            }
        }
        let before = document(&[("k1", "g"), ("k2", "g")], &["g"]);
        let after = document(&[("k1", "h"), ("k3", "h")], &["h"]);
        for (case, same_publisher) in [("the same publisher", true), ("a new publisher", false)] {
            let shared = FakeSharedData::default();
            let mut publisher = Publisher::take_over(&shared);
            publish(&mut publisher, &before, &shared);
            if !same_publisher {
                publisher = Publisher::take_over(&shared);
            }
            let watching = Watching {
                inner: &shared,
                steps: std::cell::RefCell::default(),
            };
            publisher.publish(&after, &compile(&after).unwrap(), None, &watching);
            let steps = watching.steps.borrow();
            assert!(steps.len() > 4, "{case}: {steps:?}");
            assert!(
                steps.iter().all(|known| *known == Some(true)),
                "{case}: {steps:?}"
            );
        }
    }
}
