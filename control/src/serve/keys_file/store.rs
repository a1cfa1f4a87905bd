//! The keys with their versions, in memory.

use core::ops::Bound::{Excluded, Unbounded};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trilane_console::feed::{FeedKey, FeedVersions, Gone, PageRange, PageRequest, PageWriter};

use super::key::{Digest, FileKey};
use super::reading::ReadKeys;

/// Keys, and removals of keys. Each has a version of its own.
#[derive(Debug)]
pub struct KeysFileStore {
    standing: FeedVersions,
    entries: BTreeMap<Digest, StoredEntry>,
    order: BTreeMap<u64, Digest>,
    keys: usize,
}

#[derive(Debug)]
struct StoredEntry {
    version: u64,
    /// The key, or when it was removed (a tombstone).
    state: Result<FileKey, Instant>,
}

/// The changes by a new state of the file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct StoreChanges {
    /// New keys.
    pub added: usize,
    /// Changed keys.
    pub changed: usize,
    /// Removed keys.
    pub removed: usize,
}

impl KeysFileStore {
    /// An empty store: the sequence `feed`, whose first version has no keys.
    pub fn new(feed: String) -> Self {
        Self {
            standing: FeedVersions {
                feed,
                head: 1,
                compacted: 0,
            },
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            keys: 0,
        }
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Its versions.
    pub fn standing(&self) -> &FeedVersions {
        &self.standing
    }

    /// Whether the file lacks keys of the store.
    pub fn would_lose(&self, reading: &ReadKeys) -> bool {
        self.lost(reading).next().is_some()
    }

    fn lost(&self, reading: &ReadKeys) -> impl Iterator<Item = Digest> {
        let keys = self.entries.iter().filter(|(_, entry)| entry.state.is_ok());
        keys.map(|(digest, _)| *digest)
            .filter(|digest| !reading.lines.contains_key(digest))
    }

    /// Takes over the keys of the file. Unchanged keys keep their version.
    pub fn take_up(&mut self, reading: ReadKeys, now: Instant) -> StoreChanges {
        let lost: Vec<Digest> = self.lost(&reading).collect();
        let mut changes = StoreChanges {
            removed: lost.len(),
            ..StoreChanges::default()
        };
        self.keys = reading.keys.len();
        for digest in lost {
            self.put(digest, Err(now));
        }
        for (digest, key) in reading.keys {
            match self.entries.get(&digest).map(|entry| entry.state.as_ref()) {
                Some(Ok(old)) if *old == key => continue,
                Some(Ok(_)) => changes.changed = changes.changed.saturating_add(1),
                Some(Err(_)) | None => changes.added = changes.added.saturating_add(1),
            }
            self.put(digest, Ok(key));
        }
        changes
    }

    fn put(&mut self, digest: Digest, state: Result<FileKey, Instant>) {
        let version = self.standing.head.saturating_add(1);
        self.standing.head = version;
        self.order.insert(version, digest);
        if let Some(old) = self.entries.insert(digest, StoredEntry { version, state }) {
            self.order.remove(&old.version);
        }
    }

    /// Compacts removals that are older than `age`.
    pub fn compact(&mut self, age: Duration, now: Instant) {
        let Self {
            standing,
            entries,
            order,
            ..
        } = self;
        entries.retain(|_, entry| {
            let keep =
                !matches!(entry.state, Err(then) if now.saturating_duration_since(then) > age);
            if !keep {
                order.remove(&entry.version);
                standing.compacted = standing.compacted.max(entry.version);
            }
            keep
        });
    }

    /// A page.
    ///
    /// # Errors
    /// The cursor is invalid.
    pub fn page(&self, asked: &PageRequest) -> Result<Vec<u8>, Gone> {
        let range = self.standing.range(asked.cursor.as_ref())?;
        let mut page = PageWriter::new(asked);
        if let PageRange::Listing { after, .. } = &range {
            let mut first = Digest::default();
            let start = match hex::decode_to_slice(after, &mut first) {
                Ok(()) => Excluded(first),
                Err(_) => Unbounded,
            };
            let listed = self.entries.range((start, Unbounded));
            fill(&mut page, listed.filter(|(_, entry)| entry.state.is_ok()));
        }
        let range = page.after_listing(range);
        if let PageRange::Changes {
            after,
            removals_after,
        } = &range
        {
            let changes = self.order.range((Excluded(*after), Unbounded));
            let entries = changes.filter_map(|(_, digest)| self.entries.get_key_value(digest));
            let told = |(_, entry): &(&Digest, &StoredEntry)| {
                entry.state.is_ok() || entry.version > *removals_after
            };
            fill(&mut page, entries.filter(told));
        }
        Ok(page.finish(&self.standing, range))
    }
}

/// Puts these into the page, as many as there is room for.
fn fill<'a>(page: &mut PageWriter, entries: impl Iterator<Item = (&'a Digest, &'a StoredEntry)>) {
    for (digest, StoredEntry { version, state }) in entries {
        if !page.has_room() {
            return;
        }
        let sha256 = hex::encode(digest);
        match state {
            Err(_) => page.removed(*version, &sha256),
            Ok(key) => {
                let expires_at = key.expiry();
                let key = FeedKey {
                    sha256: &sha256,
                    id: &key.id,
                    group: &key.group,
                    owner: key.owner.as_deref(),
                    team: key.team.as_deref(),
                    models: key.models.as_deref(),
                    multiplier: key.multiplier.as_deref(),
                    expires_at: expires_at.as_deref(),
                    disabled: key.disabled,
                    limits: key.limits.as_deref(),
                };
                page.key(*version, key);
            }
        }
    }
}
