//! Looking a key up: among the document's keys, then among the feed's.

use serde::{Deserialize, Serialize};

use super::bucket;
use super::record::{KeyDigest, KeyRecord, StoredRecord, Unreadable};
use super::table::KeyTable;
use crate::shared_data::SharedData;

/// Reads the bytes of a key's record of the feed; `None` where there is none.
///
/// Of a bucket that cannot be read it gives bytes that are no record: the key may be valid.
pub fn read(digest: &KeyDigest, shared: &impl SharedData) -> Option<Vec<u8>> {
    let mut name = String::with_capacity(bucket::NAME_LEN);
    bucket::write_name(bucket::of(digest), &mut name);
    let bytes = shared.get(&name).0?;
    match bucket::find(&bytes, digest) {
        Ok(slot) => slot.map(|slot| slot.record.to_vec()),
        Err(Unreadable) => Some(Vec::new()),
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
}

/// The result of looking up a key in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLookup {
    /// A record. It may be disabled or expired.
    Found(KeyRecord),
    /// A tombstone: the feed removed the key.
    Revoked,
    /// Nothing.
    Unknown,
    /// A record that this release cannot read: the key may be valid.
    Unreadable,
}

/// Looks a key up among those of the document, `named`, and then of the feed, if the document names one; `fed` reads the bytes
/// of its record there.
pub fn lookup(
    digest: &KeyDigest,
    named: &KeyTable,
    feed: Option<FeedStatus>,
    fed: impl FnOnce(&KeyDigest) -> Option<Vec<u8>>,
) -> KeyLookup {
    match (named.get(digest), feed) {
        (Err(Unreadable), _) => KeyLookup::Unreadable,
        (Ok(Some(key)), _) => KeyLookup::Found(key),
        (Ok(None), None) => KeyLookup::Unknown,
        (Ok(None), Some(feed)) => {
            fed(digest).map_or(KeyLookup::Unknown, |bytes| of_feed(&bytes, feed))
        }
    }
}

/// Interprets a record of the feed.
fn of_feed(bytes: &[u8], feed: FeedStatus) -> KeyLookup {
    match StoredRecord::decode(bytes) {
        Err(Unreadable) => KeyLookup::Unreadable,
        Ok(record) if record.epoch < feed.watermark => KeyLookup::Unknown,
        Ok(record) => record.key.map_or(KeyLookup::Revoked, KeyLookup::Found),
    }
}
