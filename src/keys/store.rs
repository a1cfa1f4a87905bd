//! Looking a key up: the document's namespace, then the feed's.

use serde::{Deserialize, Serialize};

use super::bucket;
use super::record::{KeyDigest, KeyRecord, StoredRecord, Unreadable};
use crate::shared_data::SharedData;

/// The place of a record, and its writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Namespace {
    /// The keys that the document names: a value each. They have precedence.
    Document,
    /// The keys that the feed gives: many in each value.
    Feed,
}

/// Reads the bytes of a key's record; `None` where there is none.
///
/// Of a bucket that cannot be read it gives bytes that are no record: the key may be valid.
pub fn read(namespace: Namespace, digest: &KeyDigest, shared: &impl SharedData) -> Option<Vec<u8>> {
    match namespace {
        Namespace::Document => shared.get(&digest.shared_name()).0,
        Namespace::Feed => {
            let mut name = String::with_capacity(bucket::NAME_LEN);
            bucket::write_name(bucket::of(digest), &mut name);
            let bytes = shared.get(&name).0?;
            match bucket::find(&bytes, digest) {
                Ok(slot) => slot.map(|slot| slot.record.to_vec()),
                Err(Unreadable) => Some(Vec::new()),
            }
        }
    }
}

/// The keys that the full syncs since a feed was named cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// None is complete since a feed was named: an unknown key may be valid.
    #[default]
    Nothing,
    /// One of another source is, whose keys stay valid. An unknown key may be valid.
    Former,
    /// One of this source is: an unknown key is invalid.
    Whole,
}

/// The terms by which the records of the feed count; published with the policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedStatus {
    /// Records of an older epoch hold no key.
    #[serde(rename = "floor")]
    pub watermark: u64,
    /// Whether an unknown key is invalid.
    pub coverage: Coverage,
    /// Whether the document names no keys itself, so that its namespace need not be read.
    #[serde(rename = "alone", default)]
    pub feed_only: bool,
}

/// The terms by which key records count under the policy in force.
#[derive(Debug, Clone, Copy)]
pub struct RecordScope {
    /// Records of the document of an older epoch hold no key.
    pub epoch: u64,
    /// Records of the document that change with a later generation are as before.
    pub generation: u64,
    /// The terms by which the records of the feed count; `None` where they are not read.
    pub feed: Option<FeedStatus>,
}

/// The result of looking up a key in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLookup {
    /// A record. It may be disabled or expired.
    Found {
        /// The record.
        key: KeyRecord,
        /// The writer of the record.
        namespace: Namespace,
    },
    /// A tombstone: the feed removed the key.
    Revoked,
    /// Nothing.
    Unknown,
    /// A record that this release cannot read: the key may be valid.
    Unreadable,
}

/// A key looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// The result, for readers of this scope.
    pub state: KeyLookup,
    /// Whether the document's record changes with a later generation: a reader who has it looks again.
    pub changes: bool,
}

/// Looks a key up; `records` reads the bytes of its record in a namespace.
pub fn lookup(
    digest: &KeyDigest,
    scope: &RecordScope,
    records: impl Fn(Namespace, &KeyDigest) -> Option<Vec<u8>>,
) -> Lookup {
    let read = |namespace| {
        let bytes = records(namespace, digest);
        bytes.map_or(Ok(None), |bytes| StoredRecord::decode(namespace, &bytes))
    };
    let feed_only = scope.feed.is_some_and(|feed| feed.feed_only);
    let named = if feed_only {
        Ok(None)
    } else {
        read(Namespace::Document)
    };
    let Ok(named) = named else {
        return Lookup {
            state: KeyLookup::Unreadable,
            changes: false,
        };
    };
    let changes = named
        .as_ref()
        .is_some_and(|record| record.version > scope.generation);
    let named = named.and_then(|record| record.at(scope.epoch, scope.generation));
    let state = match (named, scope.feed) {
        (Some(key), _) => KeyLookup::Found {
            key,
            namespace: Namespace::Document,
        },
        (None, None) => KeyLookup::Unknown,
        (None, Some(feed)) => match read(Namespace::Feed) {
            Err(Unreadable) => KeyLookup::Unreadable,
            Ok(record) => fed(record, feed),
        },
    };
    Lookup { state, changes }
}

/// Interprets a record of the feed.
fn fed(record: Option<StoredRecord>, feed: FeedStatus) -> KeyLookup {
    match record.filter(|record| record.epoch >= feed.watermark) {
        None => KeyLookup::Unknown,
        Some(StoredRecord { key: None, .. }) => KeyLookup::Revoked,
        Some(StoredRecord { key: Some(key), .. }) => KeyLookup::Found {
            key,
            namespace: Namespace::Feed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_changes_with_a_later_generation_only() {
        // (case, generation from which on the record holds, that of the policy, whether it changes later)
        let cases = [
            ("since ever", 0, 3, false),
            ("since long", 2, 3, false),
            ("from this one on", 3, 3, false),
            ("from the next one on", 4, 3, true),
        ];
        for (case, version, generation, want) in cases {
            let record = StoredRecord {
                epoch: 1,
                version,
                key: None,
                before: None,
            };
            let scope = RecordScope {
                epoch: 1,
                generation,
                feed: None,
            };
            let bytes = record.encode_named();
            let found = lookup(&KeyDigest::of(b"k"), &scope, |_, _| Some(bytes.clone()));
            assert_eq!(found.changes, want, "{case}");
        }
    }
}
