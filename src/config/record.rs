//! One account key as it stands in Envoy's shared data.
//!
//! A record is found by the digest of the key, so the shared data holds no key. Records are
//! versioned because a loader and a filter of different releases may meet in one Envoy: the
//! loader is fixed until Envoy restarts, the filter can be swapped at any time.

use core::fmt;

use sha2::{Digest as _, Sha256};

use crate::limits::Limits;

/// The SHA-256 digest of an account key's bytes.
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

    /// The name of this key's record in the shared data, where the document names the key.
    pub fn shared_name(&self) -> String {
        let mut name = String::with_capacity(76);
        name.push_str("trilane/key/");
        let mut digits = [0; 64];
        if hex::encode_to_slice(self.0, &mut digits).is_ok() {
            name.push_str(core::str::from_utf8(&digits).unwrap_or_default());
        }
        name
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

/// What is known of one account key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The key's id in the document, for logs and ledgers.
    pub id: String,
    /// The id of its group.
    pub group: String,
    /// Whose it is, for ledgers; nothing is decided by it.
    pub owner: Option<String>,
    /// When it ends, seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
    /// Whether it is switched off.
    pub disabled: bool,
    /// What it may use; `None` for without limit.
    pub limits: Option<Box<Limits>>,
}

/// What is known of a key, before it is in a record of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms<'a> {
    /// The key's id, for logs and ledgers.
    pub id: &'a str,
    /// The id of its group.
    pub group: &'a str,
    /// Whose it is, for ledgers.
    pub owner: Option<&'a str>,
    /// When it ends, seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
    /// Whether it is switched off.
    pub disabled: bool,
    /// What it may use; `None` for without limit.
    pub limits: Option<&'a Limits>,
}

impl<'a> Terms<'a> {
    /// Those of a record.
    pub fn of(record: &'a KeyRecord) -> Self {
        Self {
            id: &record.id,
            group: &record.group,
            owner: record.owner.as_deref(),
            expires_at: record.expires_at,
            disabled: record.disabled,
            limits: record.limits.as_deref(),
        }
    }
}

/// A record and the epoch of the loader that wrote it.
///
/// Shared data cannot be enumerated, so a loader that starts anew cannot clear what an earlier one
/// left. It takes a higher epoch instead: a record older than the policy's epoch is void.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped {
    /// The writer's epoch.
    pub epoch: u64,
    /// The record.
    pub record: KeyRecord,
}

/// What stands in shared data for a key that the document names.
///
/// A publication changes many values, one after the other, and nobody must see some of them with a
/// policy that others do not fit. So a record that changes says from which generation on it does: who
/// has an older policy goes by what held with that. The policy alone decides when a document takes
/// effect, for all of its keys and groups in one stroke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The writer's epoch.
    pub epoch: u64,
    /// The generation of the policy from which on `now` holds; 0 where it held before as well.
    pub from: u64,
    /// What is known of the key from then on; `None` where the document no longer names it.
    pub now: Option<KeyRecord>,
    /// What was known before.
    pub before: Option<KeyRecord>,
}

/// A record that this release cannot read: written by another release, or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

const FORMAT: u8 = 1;
/// The format of a record that changes with a generation.
const FORMAT_CHANGING: u8 = 3;
const DISABLED: u8 = 1;
/// The terms end with limits. A release that knows of none cannot read such a record, in either format:
/// better than to let everything through.
const LIMITED: u8 = 4;
/// Between ids and limits the terms have an owner. A key without one has not a byte for it.
const OWNED: u8 = 8;
/// Every flag that tells what the terms of a key have.
pub(super) const TERMS: u8 = DISABLED | LIMITED | OWNED;
const NEVER: i64 = i64::MAX;

impl Stamped {
    /// The record's bytes: format, flags, epoch, then the terms.
    pub fn encode(&self) -> Vec<u8> {
        let record = &self.record;
        let mut bytes = Vec::with_capacity(
            20_usize
                .saturating_add(record.id.len())
                .saturating_add(record.group.len()),
        );
        bytes.push(FORMAT);
        bytes.push(flags(&Terms::of(record)));
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        put_terms(&Terms::of(record), &mut bytes);
        bytes
    }

    /// Reads a record; `Ok(None)` for the empty tombstone of a removed key.
    ///
    /// # Errors
    /// [`Unreadable`], which a filter must answer with 503, never with 401: the key may be good.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Unreadable> {
        if bytes.is_empty() {
            return Ok(None);
        }
        Self::decode_present(bytes).map(Some).ok_or(Unreadable)
    }

    fn decode_present(bytes: &[u8]) -> Option<Self> {
        let (&[format, flags], rest) = bytes.split_first_chunk::<2>()?;
        if format != FORMAT || flags & !TERMS != 0 {
            return None;
        }
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        Some(Self {
            epoch: u64::from_le_bytes(*epoch),
            record: take_terms(rest, flags)?,
        })
    }
}

impl Named {
    /// The record's bytes. One that does not change has the form of [`Stamped`]; one that does: format,
    /// epoch, generation, the length of what is known from then on, that, and what was known before,
    /// each as flags and terms, or nothing.
    pub fn encode(&self) -> Vec<u8> {
        if let (0, Some(record)) = (self.from, &self.now) {
            let record = record.clone();
            let epoch = self.epoch;
            return Stamped { epoch, record }.encode();
        }
        let now = encode_part(self.now.as_ref());
        let mut bytes = vec![FORMAT_CHANGING];
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.from.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(now.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(now);
        bytes.extend(encode_part(self.before.as_ref()));
        bytes
    }

    /// Reads a record of either form; `Ok(None)` for the empty tombstone of a removed key.
    ///
    /// # Errors
    /// [`Unreadable`], as [`Stamped::decode`].
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Unreadable> {
        if bytes.first() != Some(&FORMAT_CHANGING) {
            let stamped = Stamped::decode(bytes)?;
            return Ok(stamped.map(|stamped| Self {
                epoch: stamped.epoch,
                from: 0,
                now: Some(stamped.record),
                before: None,
            }));
        }
        Self::decode_changing(bytes).map(Some).ok_or(Unreadable)
    }

    fn decode_changing(bytes: &[u8]) -> Option<Self> {
        let (_, rest) = bytes.split_first()?;
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let (from, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (now, before) = rest.split_at_checked(length)?;
        Some(Self {
            epoch: u64::from_le_bytes(*epoch),
            from: u64::from_le_bytes(*from),
            now: decode_part(now)?,
            before: decode_part(before)?,
        })
    }

    /// What is known of the key with a policy of this epoch and generation.
    pub fn with(self, epoch: u64, generation: u64) -> Option<KeyRecord> {
        if generation < self.from {
            self.before
        } else if self.epoch >= epoch {
            self.now
        } else {
            None
        }
    }
}

fn encode_part(record: Option<&KeyRecord>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(record) = record {
        let terms = Terms::of(record);
        bytes.push(flags(&terms));
        put_terms(&terms, &mut bytes);
    }
    bytes
}

fn decode_part(bytes: &[u8]) -> Option<Option<KeyRecord>> {
    let Some((&flags, terms)) = bytes.split_first() else {
        return Some(None);
    };
    if flags & !TERMS != 0 {
        return None;
    }
    take_terms(terms, flags).map(Some)
}

/// The flags of terms.
pub(super) fn flags(terms: &Terms<'_>) -> u8 {
    let flag = |flag: u8, is: bool| if is { flag } else { 0 };
    flag(DISABLED, terms.disabled)
        | flag(LIMITED, terms.limits.is_some())
        | flag(OWNED, terms.owner.is_some())
}

/// Writes what the records of all formats end with: expiry, both ids with their lengths, and an owner and limits
/// where there are some.
pub(super) fn put_terms(terms: &Terms<'_>, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&terms.expires_at.unwrap_or(NEVER).to_le_bytes());
    for text in [Some(terms.group), Some(terms.id), terms.owner]
        .into_iter()
        .flatten()
    {
        // Ids are at most 64 bytes, owners 128 (names.rs); a longer one could not be read back.
        bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(text.as_bytes());
    }
    if let Some(limits) = terms.limits {
        limits.encode(bytes);
    }
}

/// Reads it; `None` where it is anything else.
pub(super) fn take_terms(bytes: &[u8], flags: u8) -> Option<KeyRecord> {
    let (expires_at, rest) = bytes.split_first_chunk::<8>()?;
    let expires_at = i64::from_le_bytes(*expires_at);
    let (group, rest) = take_text(rest)?;
    let (id, rest) = take_text(rest)?;
    let (owner, rest) = if flags & OWNED == 0 {
        (None, rest)
    } else {
        take_text(rest).map(|(owner, rest)| (Some(owner), rest))?
    };
    Some(KeyRecord {
        id,
        group,
        owner,
        expires_at: (expires_at != NEVER).then_some(expires_at),
        disabled: flags & DISABLED != 0,
        limits: take_limits(rest, flags & LIMITED != 0)?,
    })
}

/// The limits that a record ends with; `None` where something else is there.
fn take_limits(bytes: &[u8], limited: bool) -> Option<Option<Box<Limits>>> {
    if !limited {
        return bytes.is_empty().then_some(None);
    }
    let (limits, rest) = Limits::decode(bytes)?;
    rest.is_empty().then(|| Some(Box::new(limits)))
}

fn take_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(len))?;
    Some((core::str::from_utf8(text).ok()?.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::terms::tests::limits;
    use proptest::prelude::*;

    #[test]
    fn digests() {
        let digest = KeyDigest::of(b"abc");
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(KeyDigest::from_hex(hex), Some(digest));
        assert_eq!(KeyDigest::from_hex(&hex.to_uppercase()), Some(digest));
        assert_eq!(digest.shared_name(), format!("trilane/key/{hex}"));
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

    #[test]
    fn an_empty_value_is_a_tombstone() {
        assert_eq!(Stamped::decode(b""), Ok(None));
        assert_eq!(Named::decode(b""), Ok(None));
    }

    #[test]
    fn a_record_holds_with_its_policy() {
        let record = |group: &str| KeyRecord {
            id: "k".to_owned(),
            group: group.to_owned(),
            owner: None,
            expires_at: None,
            disabled: false,
            limits: None,
        };
        let named = |from, now: &str, before: &str| Named {
            epoch: 5,
            from,
            now: (!now.is_empty()).then(|| record(now)),
            before: (!before.is_empty()).then(|| record(before)),
        };
        // (case, the record, epoch and generation of the policy, the group)
        let cases = [
            ("it held before as well", named(0, "g", ""), (5, 3), "g"),
            ("of an older epoch", named(0, "g", ""), (6, 3), ""),
            ("not yet", named(8, "h", "g"), (5, 7), "g"),
            (
                "not yet, by a new publisher",
                named(8, "h", "g"),
                (4, 7),
                "g",
            ),
            ("now", named(8, "h", "g"), (5, 8), "h"),
            ("since long", named(8, "h", "g"), (5, 9), "h"),
            ("void since", named(8, "h", "g"), (6, 9), ""),
            ("not yet removed", named(8, "", "g"), (5, 7), "g"),
            ("removed", named(8, "", "g"), (5, 8), ""),
            ("not yet added", named(8, "g", ""), (5, 7), ""),
        ];
        for (case, named, (epoch, generation), want) in cases {
            let group = named.with(epoch, generation).map(|record| record.group);
            assert_eq!(group.unwrap_or_default(), want, "{case}");
        }
    }

    prop_compose! {
        fn named()(
            from in any::<u64>(),
            now in proptest::option::of(stamped()),
            before in proptest::option::of(stamped()),
            epoch in any::<u64>(),
        ) -> Named {
            // One that does not change is known now, and needs nothing that was before.
            let from = if now.is_some() { from } else { from.max(1) };
            let record = |stamped: Option<Stamped>| stamped.map(|stamped| stamped.record);
            let before = record(before).filter(|_| from > 0);
            Named { epoch, from, now: record(now), before }
        }
    }

    prop_compose! {
        fn stamped()(
            epoch in any::<u64>(),
            id in "[a-z0-9_]{1,64}",
            group in "[a-z0-9-]{1,64}",
            owner in proptest::option::of("[^\\p{Cc}]{1,32}"),
            expires_at in proptest::option::of(0i64..4_000_000_000),
            disabled in any::<bool>(),
            limits in proptest::option::of(limits()),
        ) -> Stamped {
            let limits = limits.map(Box::new);
            Stamped { epoch, record: KeyRecord { id, group, owner, expires_at, disabled, limits } }
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn records_survive_the_round_trip(stamped in stamped()) {
            prop_assert_eq!(Stamped::decode(&stamped.encode()), Ok(Some(stamped)));
        }

        #[test]
        fn records_that_change_survive_it_too(named in named()) {
            prop_assert_eq!(Named::decode(&named.encode()), Ok(Some(named)));
        }

        #[test]
        fn a_record_that_changes_is_never_taken_for_absent(named in named(), cut in 1usize..300) {
            let bytes = named.encode();
            if cut < bytes.len() {
                let cut = Named::decode(&bytes[..cut]);
                // What was before stands at the end: cut off whole, it is as if there had been nothing.
                let whole = Named { before: None, ..named };
                prop_assert!(cut == Err(Unreadable) || cut == Ok(Some(whole)), "{:?}", cut);
            }
        }

        #[test]
        fn a_damaged_record_is_never_taken_for_absent(stamped in stamped(), cut in 1usize..300, format in 2u8..) {
            let bytes = stamped.encode();
            if cut < bytes.len() {
                prop_assert_eq!(Stamped::decode(&bytes[..cut]), Err(Unreadable));
            }
            let mut other = bytes;
            other[0] = format;
            prop_assert_eq!(Stamped::decode(&other), Err(Unreadable));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Stamped::decode(&bytes);
            let _ = Named::decode(&bytes);
            let _ = Named::decode(&[&[FORMAT_CHANGING], &bytes[..]].concat());
        }
    }
}
