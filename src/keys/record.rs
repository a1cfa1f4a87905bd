//! Record of one API key in the key store.
//!
//! A record is found by the digest of the key, so no store holds a key.

use core::fmt;

use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use super::access::KeyAccess;
use crate::limits::Limits;

/// The SHA-256 digest of an API key's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of a key as a client sends it.
    pub fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Reads the 64 hexadecimal digits a document writes.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        (text.len() == 64).then_some(Self(bytes))
    }

    /// The digest itself.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Prints the first 8 digits: enough to tell keys apart in a log.
impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.0.first_chunk::<4>().map(hex::encode);
        write!(f, "KeyDigest({}…)", start.unwrap_or_default())
    }
}

/// An API key as document and feed describe it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRecord {
    /// The key's id, for logs and ledgers.
    pub id: SmolStr,
    /// The id of its group.
    pub group: SmolStr,
    /// The owner of the key, for ledgers.
    pub owner: Option<SmolStr>,
    /// The team that it belongs to, for ledgers.
    pub team: Option<SmolStr>,
    /// The id of the key in whose counters its limits count; `None` for its own.
    pub counts_as: Option<SmolStr>,
    /// The time at which the key expires, in seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// The limits of the key; `None` for none.
    pub limits: Option<Box<Limits>>,
    /// The key's own terms, in place of its group's; `None` for none.
    pub access: Option<Box<KeyAccess>>,
}

/// A [`KeyRecord`], borrowed: nothing is copied between a page of a feed and the shared data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyTerms<'a> {
    /// The key's id, for logs and ledgers.
    pub id: &'a str,
    /// The id of its group.
    pub group: &'a str,
    /// The owner of the key, for ledgers.
    pub owner: Option<&'a str>,
    /// The team that it belongs to, for ledgers.
    pub team: Option<&'a str>,
    /// The id of the key in whose counters its limits count; `None` for its own.
    pub counts_as: Option<&'a str>,
    /// The time at which the key expires, in seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// The limits of the key; `None` for none.
    pub limits: Option<&'a Limits>,
    /// The key's own terms, in place of its group's; `None` for none.
    pub access: Option<&'a KeyAccess>,
}

impl<'a> KeyTerms<'a> {
    /// Borrows a record.
    pub fn of(record: &'a KeyRecord) -> Self {
        Self {
            id: &record.id,
            group: &record.group,
            owner: record.owner.as_deref(),
            team: record.team.as_deref(),
            counts_as: record.counts_as.as_deref(),
            expires_at: record.expires_at,
            disabled: record.disabled,
            limits: record.limits.as_deref(),
            access: record.access.as_deref(),
        }
    }
}

/// A record of the feed, as it stands in its bucket.
///
/// Its *epoch* is that of its writer: shared data cannot be enumerated, so a writer that starts anew cannot
/// clear what an earlier one left. It takes a higher epoch instead, and records of a lower one hold no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The epoch of the writer.
    pub epoch: u64,
    /// The feed's version: it counts its changes, and the greatest version of a key wins.
    pub version: u64,
    /// The key; `None` in a tombstone.
    pub key: Option<KeyRecord>,
}

/// A record that this release cannot read: written by another release, or damaged.
///
/// A filter answers 503, never 401: the key may be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests() {
        let digest = KeyDigest::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(KeyDigest::from_hex(hex), Some(digest));
        assert_eq!(KeyDigest::from_hex(&hex.to_uppercase()), Some(digest));
        assert_eq!(format!("{digest:?}"), "KeyDigest(ba7816bf…)");
        for (case, text) in [
            ("short", &hex[2..]),
            ("empty", ""),
            (
                "prefixed",
                "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                "no digit",
                "xa7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ] {
            assert_eq!(KeyDigest::from_hex(text), None, "{case}");
        }
    }
}
