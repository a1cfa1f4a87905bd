//! Buckets: many records of the feed in one value of the shared data.
//!
//! Envoy keeps shared data in a table that doubles when it is full, and moves every entry then while no
//! worker can look anything up: with an entry a key that takes a sixth of a second at a million keys.
//! The number of buckets is fixed, so the table stays small, and so does what a key costs. And while shared data
//! can neither list nor drop its names, the names of all buckets are known, and a record can be dropped from its bucket.

use super::record::{KeyDigest, Unreadable};

/// The number of buckets: some thirty keys in each where there are a million.
pub const COUNT: u16 = 1 << 15;

/// The length of a bucket's name.
pub const NAME_LEN: usize = 17;

/// The first byte of a bucket, before its records: digest, length (16 bits, little endian), bytes of each.
const FORMAT: u8 = 1;
/// Digest and length.
const HEAD: usize = 34;

/// The bucket of a key, less than [`COUNT`].
pub fn of(digest: &KeyDigest) -> u16 {
    let [first, second, ..] = digest.bytes();
    u16::from_be_bytes([first & 0x7F, *second])
}

/// Puts the name of a bucket in place of what stands in `name`.
pub fn write_name(bucket: u16, name: &mut String) {
    use core::fmt::Write as _;

    name.clear();
    let _ = write!(name, "trilane/feed/{bucket:04x}");
}

/// A record in its bucket.
#[derive(Debug, Clone, Copy)]
pub struct RecordSlot<'a> {
    /// The records before it, and the bucket's format.
    pub before: &'a [u8],
    /// The record.
    pub record: &'a [u8],
    /// The records after it.
    pub after: &'a [u8],
}

/// Finds a key's record; an empty bucket has none.
///
/// # Errors
/// [`Unreadable`] for bytes that are no bucket of this format, as far as they are read.
pub fn find<'a>(
    bucket: &'a [u8],
    digest: &KeyDigest,
) -> Result<Option<RecordSlot<'a>>, Unreadable> {
    let mut rest = records(bucket)?;
    while !rest.is_empty() {
        let start = bucket.len().saturating_sub(rest.len());
        let (owner, record, after) = take(rest).ok_or(Unreadable)?;
        if owner == digest.bytes() {
            return Ok(Some(RecordSlot {
                before: bucket.get(..start).unwrap_or_default(),
                record,
                after,
            }));
        }
        rest = after;
    }
    Ok(None)
}

/// The records of a bucket, without its format.
fn records(bucket: &[u8]) -> Result<&[u8], Unreadable> {
    match bucket.split_first() {
        None => Ok(bucket),
        Some((&FORMAT, rest)) => Ok(rest),
        Some(_) => Err(Unreadable),
    }
}

/// The first record: its key's digest, its bytes, and what follows.
fn take(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (head, tail) = records.split_first_chunk::<HEAD>()?;
    let (owner, len) = head.split_last_chunk::<2>()?;
    let (record, after) = tail.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    Some((owner, record, after))
}

/// Writes a bucket in place of what stands in `new`: the `old` one with this record for the key's own,
/// `slot`, if it had one.
pub fn put(
    old: &[u8],
    slot: Option<RecordSlot<'_>>,
    digest: &KeyDigest,
    record: &[u8],
    new: &mut Vec<u8>,
) {
    let (before, after) = match slot {
        Some(slot) => (slot.before, slot.after),
        None if old.is_empty() => (&[FORMAT][..], &[][..]),
        None => (old, &[][..]),
    };
    new.clear();
    new.extend_from_slice(before);
    new.extend_from_slice(digest.bytes());
    // Texts of 384 bytes at most, 64 tags of 8 bytes and some numbers: less than 1100 bytes.
    let len = u16::try_from(record.len()).unwrap_or(u16::MAX);
    new.extend_from_slice(&len.to_le_bytes());
    new.extend_from_slice(record);
    new.extend_from_slice(after);
}

/// Writes a bucket in place of what stands in `new`: the `old` one with those of its records that are to be kept. Gives
/// the number of dropped ones.
///
/// # Errors
/// [`Unreadable`]: nothing is known of what is in it.
pub fn retain(
    old: &[u8],
    keep: impl Fn(&[u8]) -> bool,
    new: &mut Vec<u8>,
) -> Result<u64, Unreadable> {
    new.clear();
    let mut rest = records(old)?;
    new.extend_from_slice(&[FORMAT]);
    let mut dropped = 0_u64;
    while !rest.is_empty() {
        let (_, record, after) = take(rest).ok_or(Unreadable)?;
        if keep(record) {
            let len = rest.len().saturating_sub(after.len());
            new.extend_from_slice(rest.get(..len).unwrap_or_default());
        } else {
            dropped = dropped.saturating_add(1);
        }
        rest = after;
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn digest(number: u8) -> KeyDigest {
        KeyDigest::of(&[number])
    }

    #[test]
    fn names_are_few_and_spread() {
        let mut names = std::collections::HashSet::new();
        let mut name = String::new();
        for number in 0..200_000_u32 {
            write_name(of(&KeyDigest::of(&number.to_le_bytes())), &mut name);
            assert_eq!(name.len(), NAME_LEN, "{name}");
            names.insert(name.clone());
        }
        // Each of 2^15 is hit six times on average; e^-6 of them not at all.
        assert!((32_500..=32_768).contains(&names.len()), "{}", names.len());
    }

    /// The name says where a key stands: another name would lose every key that stands there.
    #[test]
    fn names_stay() {
        let mut name = String::new();
        write_name(of(&KeyDigest::of(b"abc")), &mut name);
        assert_eq!(name, "trilane/feed/3a78");
        write_name(COUNT - 1, &mut name);
        assert_eq!(name, "trilane/feed/7fff");
    }

    #[test]
    fn what_is_no_bucket_is_told() {
        let mut good = Vec::new();
        put(&[], None, &digest(1), b"record", &mut good);
        let record = |bucket: &[u8]| find(bucket, &digest(2)).map(|found| found.is_some());
        assert_eq!(record(&[]), Ok(false), "empty");
        assert_eq!(record(&good), Ok(false), "another's");
        for cut in 2..good.len() {
            assert_eq!(record(&good[..cut]), Err(Unreadable), "cut at {cut}");
            assert!(
                retain(&good[..cut], |_| true, &mut Vec::new()).is_err(),
                "cut at {cut}"
            );
        }
        good[0] = 2;
        assert_eq!(record(&good), Err(Unreadable), "another format");
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn a_bucket_holds_what_was_put_last(steps in prop::collection::vec((0u8..12, prop::collection::vec(any::<u8>(), 0..90)), 0..60)) {
            let (mut bucket, mut new) = (Vec::new(), Vec::new());
            let mut want: HashMap<u8, Vec<u8>> = HashMap::new();
            for (key, record) in steps {
                let found = find(&bucket, &digest(key)).unwrap();
                put(&bucket, found, &digest(key), &record, &mut new);
                core::mem::swap(&mut bucket, &mut new);
                want.insert(key, record);
                for key in 0..12 {
                    let found = find(&bucket, &digest(key)).unwrap().map(|found| found.record.to_vec());
                    prop_assert_eq!(found.as_ref(), want.get(&key));
                }
            }
            let size: usize = want.values().map(|record| HEAD + record.len()).sum();
            prop_assert_eq!(bucket.len(), if want.is_empty() { 0 } else { 1 + size });
            // Dropped again: those that hold an odd number of bytes.
            let dropped = retain(&bucket, |record| record.len() % 2 == 0, &mut new).unwrap();
            let before = want.len();
            want.retain(|_, record| record.len() % 2 == 0);
            prop_assert_eq!(dropped, u64::try_from(before - want.len()).unwrap());
            for key in 0..12 {
                let found = find(&new, &digest(key)).unwrap().map(|found| found.record.to_vec());
                prop_assert_eq!(found.as_ref(), want.get(&key));
            }
        }
    }
}
