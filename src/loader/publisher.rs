//! Publishing a compiled document to shared data.
//!
//! All of it stands in one value, the policy, so one compare-and-swap brings it into effect. Then the generation
//! is raised, at which readers look.
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
//! - Generations only grow, and each policy contains its own.
//!
//! A publisher that is [`Superseded`] stops. Its document has not taken effect, or another one's has since.

use crate::config::Compiled;
use crate::config::document::Document;
use crate::config::snapshot::{self, Snapshot};
use crate::keys::{FeedStatus, KeyDigest, KeyRecord, KeyTable};
use crate::shared_data::SharedData;

/// A version that no value has: a value is set with it only where there is none.
const ABSENT: u32 = u32::MAX;
/// The maximum number of rounds of the compare-and-swap loop that draws a number.
const ROUNDS: u32 = 1000;

/// Publishes documents.
#[derive(Debug)]
pub(crate) struct Publisher {
    /// The policy in effect, with the epoch of this publisher. After a failure it is of no use.
    in_force: Snapshot,
    /// The version of the policy in shared data.
    version: u32,
}

/// The result of one publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Published {
    /// The generation now in force.
    pub generation: u64,
    /// The number of keys that are new, changed or removed.
    pub changes: usize,
}

/// Another root publishes, or has begun to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superseded;

impl Publisher {
    /// Takes over from the former publisher with a greater epoch. From now on no earlier publisher can bring anything into
    /// effect.
    ///
    /// # Errors
    /// [`Superseded`] where another root publishes at this very moment.
    pub fn take_over(shared: &impl SharedData) -> Result<Self, Superseded> {
        let (bytes, version) = shared.get(snapshot::POLICY);
        let found = bytes.and_then(|bytes| Snapshot::read(bytes).ok());
        let is_readable = found.is_some();
        let found = found.unwrap_or_default();
        // Of a policy of another release only the generation beside it is known.
        let told = generation(shared).unwrap_or(0);
        let own = Some(found.generation).filter(|generation| *generation < u64::MAX);
        let policy = Snapshot {
            generation: own.unwrap_or(told).max(told),
            writer: draw_epoch(found.writer, shared)?,
            ..found
        };
        let mut publisher = Self {
            in_force: Snapshot::default(),
            version: version.unwrap_or(ABSENT),
        };
        if is_readable {
            publisher.set_policy(policy, shared)?;
        } else {
            // A policy that cannot be read is not set to anything else.
            publisher.in_force = policy;
        }
        Ok(publisher)
    }

    /// Takes over where another publisher has published the document with this digest.
    ///
    /// # Errors
    /// [`Superseded`] where another root publishes at this very moment.
    pub fn go_on(digest: &[u8; 32], shared: &impl SharedData) -> Result<Self, Superseded> {
        let publisher = Self::take_over(shared)?;
        if publisher.in_force.digest == *digest {
            Ok(publisher)
        } else {
            Err(Superseded)
        }
    }

    /// Publishes a document; `compiled` is its compiled form, `digest` that of its text, `feed` the status of the feed that it
    /// names.
    ///
    /// # Errors
    /// [`Superseded`]: the document has not taken effect, or another has since.
    pub fn publish(
        &mut self,
        document: &Document,
        compiled: &Compiled,
        digest: &[u8; 32],
        feed: Option<FeedStatus>,
        shared: &impl SharedData,
    ) -> Result<Published, Superseded> {
        let changes = changes(&self.in_force.keys, &compiled.keys);
        let policy = Snapshot {
            generation: self.next_generation(),
            writer: self.in_force.writer,
            feed,
            digest: *digest,
            document: document.without_keys(),
            keys: KeyTable::of(&compiled.keys),
        };
        let generation = self.put(policy, shared)?;
        Ok(Published {
            generation,
            changes,
        })
    }

    /// Publishes a new status of the feed, and gives the generation; `None` where it is in effect already.
    ///
    /// # Errors
    /// [`Superseded`], as [`publish`](Self::publish).
    pub fn open(
        &mut self,
        feed: FeedStatus,
        shared: &impl SharedData,
    ) -> Result<Option<u64>, Superseded> {
        if self.in_force.feed == Some(feed) {
            return Ok(None);
        }
        let policy = Snapshot {
            generation: self.next_generation(),
            feed: Some(feed),
            ..core::mem::take(&mut self.in_force)
        };
        self.put(policy, shared).map(Some)
    }

    /// Returns the number of keys that the document names.
    pub fn keys(&self) -> usize {
        self.in_force.keys.len()
    }

    /// Whether the policy in effect is the one that this publisher has published, or found when it took over.
    pub fn is_in_force(&self, shared: &impl SharedData) -> bool {
        generation(shared).unwrap_or(0) == self.in_force.generation
    }

    fn next_generation(&self) -> u64 {
        self.in_force.generation.saturating_add(1)
    }

    /// Brings a policy into effect, and gives its generation.
    fn put(&mut self, policy: Snapshot, shared: &impl SharedData) -> Result<u64, Superseded> {
        let generation = policy.generation;
        self.set_policy(policy, shared)?;
        show_generation(generation, shared)?;
        Ok(generation)
    }

    /// Sets the policy, if it is still the one that this publisher set or saw last.
    fn set_policy(&mut self, policy: Snapshot, shared: &impl SharedData) -> Result<(), Superseded> {
        let bytes = policy.encode();
        let set = shared.set(snapshot::POLICY, &bytes, Some(self.version));
        set.map_err(|_| Superseded)?;
        // Nobody else writes these bytes, so the version beside them is theirs.
        match shared.get(snapshot::POLICY) {
            (Some(found), Some(version)) if found == bytes => {
                self.version = version;
                self.in_force = policy;
                Ok(())
            }
            _ => Err(Superseded),
        }
    }
}

/// The number of keys that are new in a document, changed, or removed since the one before.
fn changes(before: &KeyTable, keys: &[(KeyDigest, KeyRecord)]) -> usize {
    let (mut known, mut same) = (0_usize, 0_usize);
    for (digest, record) in keys {
        let found = before.get(digest);
        known = known.saturating_add(usize::from(found != Ok(None)));
        let is_same = found.is_ok_and(|found| found.as_ref() == Some(record));
        same = same.saturating_add(usize::from(is_same));
    }
    let removed = before.len().saturating_sub(known);
    keys.len().saturating_sub(same).saturating_add(removed)
}

/// Whether the document with this digest is the one that was published last.
pub(super) fn is_published(digest: &[u8; 32], shared: &impl SharedData) -> bool {
    let policy = shared.get(snapshot::POLICY).0.map(Snapshot::read);
    policy.is_some_and(|policy| policy.is_ok_and(|policy| policy.digest == *digest))
}

/// The generation that readers look at.
fn generation(shared: &impl SharedData) -> Option<u64> {
    snapshot::decode_generation(&shared.get(snapshot::GENERATION).0?)
}

/// Shows readers a generation, unless they see a later one.
fn show_generation(generation: u64, shared: &impl SharedData) -> Result<(), Superseded> {
    raise(snapshot::GENERATION, |shown| shown.max(generation), shared).map(|_| ())
}

/// An epoch that no publisher had before; the last one known is that of the policy in effect.
fn draw_epoch(known: u64, shared: &impl SharedData) -> Result<u64, Superseded> {
    let next = |last: u64| last.max(known).saturating_add(1);
    raise(snapshot::EPOCH, next, shared)
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
