//! The bytes of a record.
//!
//! ```text
//! of a document, in its table    flags               terms
//! of a feed                    2 flags epoch version terms       a tombstone ends with the version
//!
//! flags     1 byte       epoch, version  8 bytes each
//! terms     more flags, where the flags say so (1 byte), expiry (8 bytes), group, id (a length of 1 byte and UTF-8 each), and what the flags say: owner, team, the key that
//!           it counts as (likewise), multiplier, or the greatest one (8 bytes, ten thousandths, for the latter with the highest bit), models (their number in 1 byte, a tag of 8 bytes each), addresses (their number in
//!           1 byte, 17 bytes each), limits
//! ```
//!
//! Numbers are little endian. A record of a feed begins with its format, and that of a document stands in a policy, which has one: a
//! loader and a filter of different releases may meet in one Envoy. The loader is fixed until Envoy restarts, the filter can
//! be swapped at any time. A record of an unknown format, or with unknown flags, is [`Unreadable`].

use smol_str::SmolStr;

use super::access::KeyAccess;
use super::addresses::{AddressList, AddressRange};
use super::record::{KeyRecord, KeyTerms, StoredRecord, Unreadable};
use crate::limits::Limits;
use crate::model::{ModelSubset, ModelTag};
use crate::money::Multiplier;

/// The format of a feed's record.
const FORMAT: u8 = 2;

const DISABLED: u8 = 1;
/// A tombstone; no other flag stands beside it.
const REMOVED: u8 = 2;
/// The terms end with limits. A release that knows of none cannot read such a record: better than to let everything
/// through.
const LIMITED: u8 = 4;
/// Between ids and limits the terms have an owner. A key without one has not a byte for it.
const OWNED: u8 = 8;
/// Behind the owner the terms have a team.
const OF_TEAM: u8 = 16;
/// Behind the team the terms have a multiplier of the key's own, or the greatest that it pays. As with limits, a release that knows of
/// none must not charge by another.
const MULTIPLIED: u8 = 32;
/// The bit of a multiplier that is the greatest one.
const GREATEST: u64 = 1 << 63;
/// Behind the multiplier the terms have the models that the key may use.
const SUBSET: u8 = 64;
/// The terms begin with more flags, those of what few keys have.
const MORE: u8 = 128;
/// Every flag that tells what the terms of a key have.
const TERMS: u8 = DISABLED | LIMITED | OWNED | OF_TEAM | MULTIPLIED | SUBSET | MORE;
/// Of the further flags: behind the team the terms have the id of the key in whose counters the limits count. A release that knows of none must not
/// count them anew.
const SHARED: u8 = 1;
/// Behind the models the terms have the addresses from which the key may be used.
const PLACED: u8 = 2;
const NEVER: i64 = i64::MAX;
/// The place of the epoch in a feed's record.
const EPOCH: core::ops::Range<usize> = 2..10;

/// The start of a feed's record: what decides between it and a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The epoch of the full sync that wrote the record, or confirmed it last.
    pub epoch: u64,
    /// The feed's version of the key.
    pub version: u64,
    /// Whether this is a tombstone.
    pub removed: bool,
    /// Whether the key is disabled.
    pub disabled: bool,
}

impl Stamp {
    /// Whether the key is neither removed nor disabled. It may have expired.
    pub fn is_enabled(self) -> bool {
        !self.removed && !self.disabled
    }

    /// Reads the stamp alone; `None` for bytes that no record of a feed begins with.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        take_stamp(bytes).map(|(stamp, _, _)| stamp)
    }

    /// Writes another epoch into a record.
    pub fn confirm(epoch: u64, record: &mut [u8]) {
        if let Some(place) = record.get_mut(EPOCH) {
            place.copy_from_slice(&epoch.to_le_bytes());
        }
    }
}

/// Writes a feed's record in place of what stands in `bytes`; without terms a tombstone.
pub fn encode_fed(epoch: u64, version: u64, terms: Option<&KeyTerms<'_>>, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.push(FORMAT);
    bytes.push(terms.map_or(REMOVED, flags));
    bytes.extend_from_slice(&epoch.to_le_bytes());
    bytes.extend_from_slice(&version.to_le_bytes());
    if let Some(terms) = terms {
        put_terms(terms, bytes);
    }
}

impl StoredRecord {
    /// Reads a feed's record.
    ///
    /// # Errors
    /// [`Unreadable`], which a filter must answer with 503, never with 401: the key may be valid.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (stamp, flags, rest) = take_stamp(bytes).ok_or(Unreadable)?;
        let key = if stamp.removed {
            rest.is_empty().then_some(None)
        } else {
            take_terms(rest, flags).map(Some)
        };
        Ok(Self {
            epoch: stamp.epoch,
            version: stamp.version,
            key: key.ok_or(Unreadable)?,
        })
    }
}

/// The stamp and the flags of a feed's record, and what follows.
fn take_stamp(bytes: &[u8]) -> Option<(Stamp, u8, &[u8])> {
    let (&[format, flags], rest) = bytes.split_first_chunk::<2>()?;
    let (epoch, rest) = rest.split_first_chunk::<8>()?;
    let (version, rest) = rest.split_first_chunk::<8>()?;
    let stamp = Stamp {
        epoch: u64::from_le_bytes(*epoch),
        version: u64::from_le_bytes(*version),
        removed: flags == REMOVED,
        disabled: flags & DISABLED != 0,
    };
    let known = stamp.removed || flags & !TERMS == 0;
    (format == FORMAT && known).then_some((stamp, flags, rest))
}

/// Writes a document's record behind what stands in `bytes`.
pub(super) fn put_key(terms: &KeyTerms<'_>, bytes: &mut Vec<u8>) {
    bytes.push(flags(terms));
    put_terms(terms, bytes);
}

/// Reads a document's record.
pub(super) fn take_key(bytes: &[u8]) -> Result<KeyRecord, Unreadable> {
    let (&flags, terms) = bytes.split_first().ok_or(Unreadable)?;
    let is_known = flags & !TERMS == 0;
    let key = is_known.then(|| take_terms(terms, flags)).flatten();
    key.ok_or(Unreadable)
}

fn flags(terms: &KeyTerms<'_>) -> u8 {
    let flag = |flag: u8, is: bool| if is { flag } else { 0 };
    flag(DISABLED, terms.disabled)
        | flag(LIMITED, terms.limits.is_some())
        | flag(OWNED, terms.owner.is_some())
        | flag(OF_TEAM, terms.team.is_some())
        | flag(MORE, further_flags(terms) != 0)
        | flag(MULTIPLIED, multiplier_bits(terms).is_some())
        | flag(SUBSET, models(terms).is_some())
}

fn further_flags(terms: &KeyTerms<'_>) -> u8 {
    let flag = |flag: u8, is: bool| if is { flag } else { 0 };
    flag(SHARED, terms.counts_as.is_some()) | flag(PLACED, addresses(terms).is_some())
}

fn multiplier_bits(terms: &KeyTerms<'_>) -> Option<u64> {
    let access = terms.access?;
    let own = access.multiplier.map(Multiplier::ten_thousandths);
    let most = || Some(access.max_multiplier?.ten_thousandths() | GREATEST);
    own.or_else(most)
}

fn models<'a>(terms: &KeyTerms<'a>) -> Option<&'a ModelSubset> {
    terms.access?.models.as_ref()
}

fn addresses<'a>(terms: &KeyTerms<'a>) -> Option<&'a AddressList> {
    terms.access?.addresses.as_ref()
}

fn put_terms(terms: &KeyTerms<'_>, bytes: &mut Vec<u8>) {
    let further = further_flags(terms);
    if further != 0 {
        bytes.push(further);
    }
    bytes.extend_from_slice(&terms.expires_at.unwrap_or(NEVER).to_le_bytes());
    let ids = [terms.group, terms.id].map(Some).into_iter();
    let optional = [terms.owner, terms.team, terms.counts_as];
    for text in ids.chain(optional).flatten() {
        // Ids are at most 64 bytes, owners 128 (names.rs); a longer one could not be read back.
        bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(text.as_bytes());
    }
    if let Some(multiplier) = multiplier_bits(terms) {
        bytes.extend_from_slice(&multiplier.to_le_bytes());
    }
    if let Some(models) = models(terms) {
        bytes.push(u8::try_from(models.tags().len()).unwrap_or(u8::MAX));
        for tag in models.tags() {
            bytes.extend_from_slice(tag.bytes());
        }
    }
    if let Some(addresses) = addresses(terms) {
        bytes.push(u8::try_from(addresses.ranges().len()).unwrap_or(u8::MAX));
        for range in addresses.ranges() {
            range.write(bytes);
        }
    }
    if let Some(limits) = terms.limits {
        limits.encode(bytes);
    }
}

/// Reads terms; `None` where there is anything else, or anything behind them.
fn take_terms(bytes: &[u8], flags: u8) -> Option<KeyRecord> {
    let (further, bytes) = take_further(bytes, flags)?;
    let (expires_at, rest) = bytes.split_first_chunk::<8>()?;
    let expires_at = i64::from_le_bytes(*expires_at);
    let (group, rest) = take_text(rest)?;
    let (id, rest) = take_text(rest)?;
    let (owner, rest) = take_text_if(flags & OWNED != 0, rest)?;
    let (team, rest) = take_text_if(flags & OF_TEAM != 0, rest)?;
    let (counts_as, rest) = take_text_if(further & SHARED != 0, rest)?;
    let (access, rest) = take_access(flags, further, rest)?;
    Some(KeyRecord {
        id,
        group,
        owner,
        team,
        counts_as,
        expires_at: (expires_at != NEVER).then_some(expires_at),
        disabled: flags & DISABLED != 0,
        limits: take_limits(rest, flags & LIMITED != 0)?,
        access,
    })
}

/// Reads the further flags, and gives what follows.
fn take_further(bytes: &[u8], flags: u8) -> Option<(u8, &[u8])> {
    if flags & MORE == 0 {
        return Some((0, bytes));
    }
    let (&further, rest) = bytes.split_first()?;
    (further != 0 && further & !(SHARED | PLACED) == 0).then_some((further, rest))
}

/// Reads what a key has of its own, and gives what follows.
fn take_access(flags: u8, further: u8, bytes: &[u8]) -> Option<(Option<Box<KeyAccess>>, &[u8])> {
    let mut access = KeyAccess::default();
    let mut rest = bytes;
    if flags & MULTIPLIED != 0 {
        let (units, behind) = rest.split_first_chunk::<8>()?;
        let units = u64::from_le_bytes(*units);
        let multiplier = Multiplier::from_ten_thousandths(units & !GREATEST)?;
        if units & GREATEST == 0 {
            access.multiplier = Some(multiplier);
        } else {
            access.max_multiplier = Some(multiplier);
        }
        rest = behind;
    }
    if flags & SUBSET != 0 {
        let (&number, behind) = rest.split_first()?;
        let (tags, behind) = behind.split_at_checked(ModelTag::LEN.checked_mul(number.into())?)?;
        let (tags, _) = tags.as_chunks::<{ ModelTag::LEN }>();
        access.models = Some(ModelSubset::new(
            tags.iter().copied().map(ModelTag::from_bytes),
        )?);
        rest = behind;
    }
    if further & PLACED != 0 {
        let (&number, behind) = rest.split_first()?;
        let size = AddressRange::LEN.checked_mul(number.into())?;
        let (ranges, behind) = behind.split_at_checked(size)?;
        let (ranges, _) = ranges.as_chunks::<{ AddressRange::LEN }>();
        let ranges: Option<Vec<_>> = ranges.iter().map(AddressRange::read).collect();
        access.addresses = Some(AddressList::new(ranges?));
        rest = behind;
    }
    Some(((!access.is_none()).then(|| Box::new(access)), rest))
}

/// Reads the limits that a record ends with.
fn take_limits(bytes: &[u8], limited: bool) -> Option<Option<Box<Limits>>> {
    if !limited {
        return bytes.is_empty().then_some(None);
    }
    let (limits, rest) = Limits::decode(bytes)?;
    rest.is_empty().then(|| Some(Box::new(limits)))
}

fn take_text_if(is_there: bool, bytes: &[u8]) -> Option<(Option<SmolStr>, &[u8])> {
    if is_there {
        take_text(bytes).map(|(text, rest)| (Some(text), rest))
    } else {
        Some((None, bytes))
    }
}

fn take_text(bytes: &[u8]) -> Option<(SmolStr, &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(len))?;
    Some((core::str::from_utf8(text).ok()?.into(), rest))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::limits::terms::tests::limits;
    use proptest::prelude::*;

    prop_compose! {
        fn addresses()(first in proptest::collection::vec(any::<[u8; 4]>(), 0..4), last in any::<[u16; 8]>()) -> AddressList {
            let v4 = first.iter().map(|octets| core::net::Ipv4Addr::from_octets(*octets).to_string());
            let all = v4.chain([core::net::Ipv6Addr::from_segments(last).to_string()]);
            AddressList::new(all.map(|text| text.parse().unwrap()))
        }
    }

    prop_compose! {
        pub(in crate::keys) fn key()(
            id in "[a-z0-9_]{1,64}",
            group in "[a-z0-9-]{1,64}",
            owner in proptest::option::of("[^\\p{Cc}]{1,32}"),
            team in proptest::option::of("[a-z0-9-]{1,64}"),
            counts_as in proptest::option::of("[a-z0-9_]{1,64}"),
            multiplier in proptest::option::of(0u64..=10_000_000_000),
            is_most in any::<bool>(),
            models in proptest::collection::vec("[a-z0-9.-]{1,40}", 0..=ModelSubset::MAX),
            addresses in proptest::option::of(addresses()),
            expires_at in proptest::option::of(0i64..4_000_000_000),
            disabled in any::<bool>(),
            limits in proptest::option::of(limits()),
        ) -> KeyRecord {
            let access = KeyAccess {
                models: ModelSubset::new(models.iter().map(|id| ModelTag::of(id))),
                multiplier: multiplier.filter(|_| !is_most).and_then(Multiplier::from_ten_thousandths),
                max_multiplier: multiplier.filter(|_| is_most).and_then(Multiplier::from_ten_thousandths),
                addresses,
            };
            let access = (!access.is_none()).then(|| Box::new(access));
            KeyRecord { id: id.into(), group: group.into(), owner: owner.map(Into::into), team: team.map(Into::into), counts_as: counts_as.map(Into::into), expires_at, disabled, limits: limits.map(Box::new), access }
        }
    }

    prop_compose! {
        fn fed()(
            epoch in any::<u64>(),
            version in any::<u64>(),
            key in proptest::option::of(key()),
        ) -> StoredRecord {
            StoredRecord { epoch, version, key }
        }
    }

    fn bytes_of(record: &StoredRecord) -> Vec<u8> {
        let terms = record.key.as_ref().map(KeyTerms::of);
        // What stood in the buffer before must not matter.
        let mut bytes = vec![7; 30];
        encode_fed(record.epoch, record.version, terms.as_ref(), &mut bytes);
        bytes
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn records_of_the_document_survive_the_round_trip(key in key(), before in any::<Vec<u8>>()) {
            let mut bytes = before.clone();
            put_key(&KeyTerms::of(&key), &mut bytes);
            let (kept, record) = bytes.split_at(before.len());
            prop_assert_eq!(kept, before);
            prop_assert_eq!(take_key(record), Ok(key));
        }

        #[test]
        fn records_of_the_feed_survive_the_round_trip(record in fed(), later in any::<u64>()) {
            let mut bytes = bytes_of(&record);
            let stamp = Stamp {
                epoch: record.epoch,
                version: record.version,
                removed: record.key.is_none(),
                disabled: record.key.as_ref().is_some_and(|key| key.disabled),
            };
            prop_assert_eq!(Stamp::peek(&bytes), Some(stamp));
            prop_assert_eq!(StoredRecord::decode(&bytes), Ok(record.clone()));
            Stamp::confirm(later, &mut bytes);
            let confirmed = StoredRecord { epoch: later, ..record };
            prop_assert_eq!(StoredRecord::decode(&bytes), Ok(confirmed));
        }

        #[test]
        fn a_damaged_record_of_the_document_is_unreadable(key in key(), cut in 0usize..300) {
            let mut bytes = Vec::new();
            put_key(&KeyTerms::of(&key), &mut bytes);
            if cut < bytes.len() {
                prop_assert_eq!(take_key(&bytes[..cut]), Err(Unreadable));
            }
            bytes.push(0);
            prop_assert_eq!(take_key(&bytes), Err(Unreadable), "longer");
            bytes.pop();
            bytes[0] |= REMOVED;
            prop_assert_eq!(take_key(&bytes), Err(Unreadable), "a tombstone");
        }

        #[test]
        fn a_damaged_record_is_never_taken_for_another(record in fed(), cut in 0usize..200, format in 3u8.., flags in prop_oneof![Just(3u8), 6u8..8, Just(10u8), 18u8..20, 34u8..36, 66u8..68, 130u8..132]) {
            let bytes = bytes_of(&record);
            if cut < bytes.len() {
                prop_assert_eq!(StoredRecord::decode(&bytes[..cut]), Err(Unreadable));
            }
            for (at, value) in [(0, format), (0, 1), (1, flags)] {
                let mut other = bytes.clone();
                other[at] = value;
                prop_assert_eq!(StoredRecord::decode(&other), Err(Unreadable));
                prop_assert_eq!(Stamp::peek(&other), None);
            }
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert_eq!(StoredRecord::decode(&longer), Err(Unreadable));
        }

        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = StoredRecord::decode(&bytes);
            let _ = StoredRecord::decode(&[&[FORMAT], &bytes[..]].concat());
            let _ = take_key(&bytes);
            Stamp::confirm(1, &mut bytes);
        }
    }
}
