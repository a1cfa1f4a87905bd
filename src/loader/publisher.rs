//! Publishing a compiled document to shared data, so that no request in between is decided wrongly.
//!
//! Readers see single values change, never several at once. So a record that changes says from which generation of the
//! policy on it is valid ([`StoredRecord`]), and keeps the state before too. The records are written first, then
//! the policy, then its generation. With the policy, and not before, the document takes effect, for all of its keys
//! and groups at once.
//!
//! # Two publishers
//!
//! Another VM may begin to publish at any moment, also in the middle of a publication here. The publisher that began
//! later wins, in whatever order they write:
//!
//! - Each publisher has an *epoch* of its own, greater than any before, drawn by compare-and-swap.
//! - A publisher that takes over first sets the policy to what it is, with its own epoch as the writer. A policy is only
//!   set in place of the one that its publisher has set or seen last, and no two policies are equal. So from then on
//!   the former publisher can set no policy.
//! - A record of a greater epoch is never overwritten, and one of a smaller epoch than the policy's holds no key.
//! - Generations only grow, and each policy contains its own.
//!
//! A publisher that is [`Superseded`] stops. What it has written changes nothing: its policy has not taken effect, and its
//! records hold what they held before until a policy of a greater epoch.

use hashbrown::HashMap;

use crate::config::Compiled;
use crate::config::document::Document;
use crate::config::snapshot::{self, Edition};
use crate::keys::{FeedStatus, KeyDigest, KeyRecord, Namespace, StoredRecord, Unreadable};
use crate::shared_data::SharedData;

/// A version that no value has: a value is set with it only where there is none.
const ABSENT: u32 = u32::MAX;
/// The maximum number of rounds of the compare-and-swap loop that draws a number.
const ROUNDS: u32 = 1000;

/// Publishes documents, and writes only what changed.
#[derive(Debug)]
pub(crate) struct Publisher {
    /// The epoch of the records.
    epoch: u64,
    /// The epoch of this publisher. The records have it too, unless it goes on with those of another.
    writer: u64,
    /// The policy in effect; the default where there is none.
    in_force: Edition,
    /// The version of that policy in shared data.
    version: u32,
    published: HashMap<KeyDigest, KeyRecord>,
    /// The document in force, without its keys.
    document: Document,
    /// The status that is in force for the feed's records.
    feed: Option<FeedStatus>,
}

/// The result of one publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Published {
    /// The generation now in force.
    pub generation: u64,
    /// Keys whose records were written, removals included.
    pub records: usize,
}

/// Another root publishes, or has begun to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superseded;

impl Publisher {
    /// Takes over from the former publisher with a greater epoch, so that its records hold no key unless the next
    /// document confirms them. From now on no earlier publisher can bring anything into effect.
    ///
    /// # Errors
    /// [`Superseded`] where another root publishes at this very moment.
    pub fn take_over(shared: &impl SharedData) -> Result<Self, Superseded> {
        let (bytes, version) = shared.get(snapshot::POLICY);
        let peeked = bytes.as_deref().and_then(snapshot::peek);
        let told = generation(shared).unwrap_or(0);
        let edition = peeked.as_ref().map(|policy| policy.edition);
        let in_force = Edition {
            // Of an earlier release, which tells it beside the policy only.
            generation: edition
                .map(|edition| edition.generation)
                .filter(|generation| *generation < u64::MAX)
                .unwrap_or(told)
                .max(told),
            ..edition.unwrap_or_default()
        };
        let writer = draw_epoch(in_force, shared)?;
        let (document, feed) = peeked
            .map(|policy| (policy.document, policy.feed))
            .unwrap_or_default();
        let mut publisher = Self {
            epoch: writer,
            writer,
            in_force,
            version: version.unwrap_or(ABSENT),
            published: HashMap::new(),
            document,
            feed,
        };
        // A policy that cannot be read is not set to anything else.
        if edition.is_some() {
            let policy = Edition { writer, ..in_force };
            publisher.set_policy(policy, shared)?;
        }
        Ok(publisher)
    }

    /// Goes on with the records of another publisher, which has published this very document.
    ///
    /// # Errors
    /// [`Superseded`] where another root publishes at this very moment.
    pub fn go_on(compiled: Compiled, shared: &impl SharedData) -> Result<Self, Superseded> {
        let publisher = Self::take_over(shared)?;
        Ok(Self {
            epoch: publisher.in_force.epoch,
            published: compiled.keys.into_iter().collect(),
            ..publisher
        })
    }

    /// Publishes a document; `compiled` is its compiled form, `feed` the status of the feed that it names.
    ///
    /// # Errors
    /// [`Superseded`]: the document has not taken effect, or another has since.
    pub fn publish(
        &mut self,
        document: &Document,
        compiled: &Compiled,
        feed: Option<FeedStatus>,
        shared: &impl SharedData,
    ) -> Result<Published, Superseded> {
        let (records, removed) = self.put_records(compiled, shared)?;
        self.document = document.without_keys();
        self.put(self.status(feed), shared)?;
        for digest in &removed {
            self.put_record(digest, |_| Vec::new(), shared)?;
        }
        Ok(Published {
            generation: self.in_force.generation,
            records: records.saturating_add(removed.len()),
        })
    }

    /// Publishes a new status of the feed, and gives the generation; `None` where it is in effect already. No record is
    /// written.
    ///
    /// # Errors
    /// [`Superseded`], as [`publish`](Self::publish).
    pub fn open(
        &mut self,
        feed: FeedStatus,
        shared: &impl SharedData,
    ) -> Result<Option<u64>, Superseded> {
        let feed = self.status(Some(feed));
        if feed == self.feed {
            return Ok(None);
        }
        self.put(feed, shared)?;
        Ok(Some(self.in_force.generation))
    }

    /// Notes which document was published last, by the digest of its text.
    pub fn sign(&self, digest: &[u8; 32], shared: &impl SharedData) {
        let _ = shared.set(snapshot::DOCUMENT, &signature(digest, self.epoch), None);
    }

    /// Returns the number of keys that the document names.
    pub fn keys(&self) -> usize {
        self.published.len()
    }

    /// Whether the policy in effect is the one that this publisher has published, or found when it took over.
    pub fn is_in_force(&self, shared: &impl SharedData) -> bool {
        generation(shared).unwrap_or(0) == self.in_force.generation
    }

    fn status(&self, feed: Option<FeedStatus>) -> Option<FeedStatus> {
        let feed_only = self.published.is_empty();
        feed.map(|feed| FeedStatus { feed_only, ..feed })
    }

    /// Brings the document into effect, with this status of the feed.
    fn put(
        &mut self,
        feed: Option<FeedStatus>,
        shared: &impl SharedData,
    ) -> Result<(), Superseded> {
        self.feed = feed;
        let policy = Edition {
            epoch: self.epoch,
            generation: self.next_generation(),
            writer: self.writer,
        };
        self.set_policy(policy, shared)?;
        self.in_force = policy;
        show_generation(policy.generation, shared)
    }

    fn next_generation(&self) -> u64 {
        self.in_force.generation.saturating_add(1)
    }

    /// Sets the policy, if it is still the one that this publisher set or saw last.
    fn set_policy(&mut self, edition: Edition, shared: &impl SharedData) -> Result<(), Superseded> {
        let bytes = snapshot::encode(&self.document, edition, self.feed);
        let set = shared.set(snapshot::POLICY, &bytes, Some(self.version));
        set.map_err(|_| Superseded)?;
        // Nobody else writes these bytes, so the version beside them is theirs.
        match shared.get(snapshot::POLICY) {
            (Some(found), Some(version)) if found == bytes => {
                self.version = version;
                Ok(())
            }
            _ => Err(Superseded),
        }
    }

    /// Writes the records of the keys that are new or changed, and of those that the document no longer
    /// names. Gives how many of the former there are, and the latter.
    fn put_records(
        &mut self,
        compiled: &Compiled,
        shared: &impl SharedData,
    ) -> Result<(usize, Vec<KeyDigest>), Superseded> {
        let mut written = 0_usize;
        let mut wanted: HashMap<KeyDigest, KeyRecord> = HashMap::with_capacity(compiled.keys.len());
        for (digest, record) in &compiled.keys {
            if self.published.get(digest) != Some(record) {
                self.put_record(
                    digest,
                    |found| self.next_record(found, Some(record)),
                    shared,
                )?;
                written = written.saturating_add(1);
            }
            wanted.insert(*digest, record.clone());
        }
        let gone = |digest: &&KeyDigest| !wanted.contains_key(*digest);
        let removed: Vec<KeyDigest> = self.published.keys().filter(gone).copied().collect();
        for digest in &removed {
            self.put_record(digest, |found| self.next_record(found, None), shared)?;
        }
        self.published = wanted;
        Ok((written, removed))
    }

    /// The next record of a key: its state under the policy in effect, and under the next one.
    fn next_record(&self, found: FoundRecord, now: Option<&KeyRecord>) -> Vec<u8> {
        let (epoch, generation) = (self.in_force.epoch, self.in_force.generation);
        // Without a policy no reader needs the state before, and an unreadable record does not tell it.
        let unknown = generation == 0 || matches!(found, FoundRecord::Unreadable);
        let before = match found {
            FoundRecord::Readable(record) => record.at(epoch, generation),
            FoundRecord::Nothing | FoundRecord::Unreadable => None,
        };
        let holds_before = unknown || before.as_ref() == now;
        let record = if holds_before && now.is_some() {
            StoredRecord {
                epoch: self.epoch,
                version: 0,
                key: now.cloned(),
                before: None,
            }
        } else {
            StoredRecord {
                epoch: self.epoch,
                version: self.next_generation(),
                key: now.cloned(),
                before,
            }
        };
        record.encode_named()
    }

    /// Replaces the record of a key, unless it is a later publisher's.
    fn put_record(
        &self,
        digest: &KeyDigest,
        make: impl FnOnce(FoundRecord) -> Vec<u8>,
        shared: &impl SharedData,
    ) -> Result<(), Superseded> {
        let name = digest.shared_name();
        let (bytes, version) = shared.get(&name);
        let found = match StoredRecord::decode(Namespace::Document, &bytes.unwrap_or_default()) {
            Ok(Some(record)) if record.epoch <= self.epoch => {
                FoundRecord::Readable(Box::new(record))
            }
            Ok(Some(record)) if record.epoch <= last_epoch(shared) => return Err(Superseded),
            // No publisher has ever had such an epoch.
            Ok(Some(_)) => FoundRecord::Unreadable,
            Ok(None) => FoundRecord::Nothing,
            Err(Unreadable) => FoundRecord::Unreadable,
        };
        let version = version.unwrap_or(ABSENT);
        let set = shared.set(&name, &make(found), Some(version));
        set.map_err(|_| Superseded)
    }
}

/// Whether the document with this digest is the one that was published last, and whole.
pub(super) fn is_published(digest: &[u8; 32], shared: &impl SharedData) -> bool {
    let policy = shared.get(snapshot::POLICY).0;
    let epoch = policy.and_then(|bytes| Some(snapshot::peek(&bytes)?.edition.epoch));
    let signed = shared.get(snapshot::DOCUMENT).0;
    epoch.is_some_and(|epoch| signed == Some(signature(digest, epoch)))
}

fn signature(digest: &[u8; 32], epoch: u64) -> Vec<u8> {
    [&digest[..], &epoch.to_le_bytes()].concat()
}

/// The record of a key as it was found.
#[derive(Debug)]
enum FoundRecord {
    Readable(Box<StoredRecord>),
    Nothing,
    /// Something of another release, or damaged.
    Unreadable,
}

/// The generation that readers look at.
fn generation(shared: &impl SharedData) -> Option<u64> {
    snapshot::decode_generation(&shared.get(snapshot::GENERATION).0?)
}

/// Shows readers a generation, unless they see a later one.
fn show_generation(generation: u64, shared: &impl SharedData) -> Result<(), Superseded> {
    raise(snapshot::GENERATION, |shown| shown.max(generation), shared).map(|_| ())
}

/// An epoch that no publisher had before.
fn draw_epoch(in_force: Edition, shared: &impl SharedData) -> Result<u64, Superseded> {
    let least = in_force.epoch.max(in_force.writer).max(in_force.generation);
    let next = |last: u64| last.max(least).saturating_add(1);
    raise(snapshot::EPOCH, next, shared)
}

/// The greatest epoch of any publisher.
fn last_epoch(shared: &impl SharedData) -> u64 {
    let last = shared.get(snapshot::EPOCH).0;
    last.and_then(|bytes| snapshot::decode_generation(&bytes))
        .unwrap_or(0)
}

/// Changes a number by compare-and-swap.
fn raise(
    name: &str,
    change: impl Fn(u64) -> u64,
    shared: &impl SharedData,
) -> Result<u64, Superseded> {
    for _ in 0..ROUNDS {
        let (bytes, version) = shared.get(name);
        let last = bytes.and_then(|bytes| snapshot::decode_generation(&bytes));
        let next = change(last.unwrap_or(0));
        let version = Some(version.unwrap_or(ABSENT));
        if shared.set(name, &next.to_le_bytes(), version).is_ok() {
            return Ok(next);
        }
    }
    Err(Superseded)
}

#[cfg(test)]
mod tests;
