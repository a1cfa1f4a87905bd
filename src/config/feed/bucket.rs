//! Where the records of a feed stand: many keys share a value of the shared data, their *bucket*.
//!
//! Envoy keeps shared data in a table that doubles when it is full, and moves every entry then while no
//! worker can look anything up: with an entry a key that takes a sixth of a second at a million keys.
//! The number of buckets is fixed, so the table stays small, and so does what a key costs.

use crate::config::record::{KeyDigest, Unreadable};
use crate::shared_data::SharedData;

/// The first byte of a bucket, before its records: digest, length (16 bits, little endian), bytes of each.
const FORMAT: u8 = 1;
/// Digest and length.
const HEAD: usize = 34;

/// Puts the name of the bucket of a key in place of what stands in `name`. There are 2^15: some thirty keys
/// in each where there are a million.
pub(super) fn write_name(digest: &KeyDigest, name: &mut String) {
    use core::fmt::Write as _;

    let [first, second, ..] = digest.bytes();
    name.clear();
    let _ = write!(name, "trilane/feed/{:02x}{second:02x}", first & 0x7F);
}

/// The record of a key, or `None` where the feed never gave it. Of a bucket that cannot be read, bytes that
/// are no record: the key may be good.
pub fn record(digest: &KeyDigest, shared: &impl SharedData) -> Option<Vec<u8>> {
    let mut name = String::with_capacity(17);
    write_name(digest, &mut name);
    let bucket = shared.get(&name).0?;
    match find(&bucket, digest) {
        Ok(found) => found.map(|found| found.record.to_vec()),
        Err(Unreadable) => Some(Vec::new()),
    }
}

/// A record in its bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// The records before it, and the bucket's format.
    pub before: &'a [u8],
    pub record: &'a [u8],
    /// The records after it.
    pub after: &'a [u8],
}

/// Finds a key's record; an empty bucket has none.
pub(super) fn find<'a>(
    bucket: &'a [u8],
    digest: &KeyDigest,
) -> Result<Option<Found<'a>>, Unreadable> {
    let mut rest = match bucket.split_first() {
        None => return Ok(None),
        Some((&FORMAT, rest)) => rest,
        Some(_) => return Err(Unreadable),
    };
    while !rest.is_empty() {
        let start = bucket.len().saturating_sub(rest.len());
        let (head, tail) = rest.split_first_chunk::<HEAD>().ok_or(Unreadable)?;
        let (owner, len) = head.split_last_chunk::<2>().ok_or(Unreadable)?;
        let len = usize::from(u16::from_le_bytes(*len));
        let (record, after) = tail.split_at_checked(len).ok_or(Unreadable)?;
        if owner == digest.bytes() {
            return Ok(Some(Found {
                before: bucket.get(..start).unwrap_or_default(),
                record,
                after,
            }));
        }
        rest = after;
    }
    Ok(None)
}

/// Writes a bucket in place of what stands in `new`: the `old` one with this record for the key's own,
/// `found`, if it had one.
pub(super) fn put(
    old: &[u8],
    found: Option<Found<'_>>,
    digest: &KeyDigest,
    record: &[u8],
    new: &mut Vec<u8>,
) {
    let (before, after) = match found {
        Some(found) => (found.before, found.after),
        None if old.is_empty() => (&[FORMAT][..], &[][..]),
        None => (old, &[][..]),
    };
    new.clear();
    new.extend_from_slice(before);
    new.extend_from_slice(digest.bytes());
    // Two ids of at most 64 bytes and some numbers: with all limits there are 245 bytes.
    let len = u16::try_from(record.len()).unwrap_or(u16::MAX);
    new.extend_from_slice(&len.to_le_bytes());
    new.extend_from_slice(record);
    new.extend_from_slice(after);
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
            write_name(&KeyDigest::of(&number.to_le_bytes()), &mut name);
            assert_eq!(name.len(), 17, "{name}");
            names.insert(name.clone());
        }
        // Each of 2^15 is hit six times on average; e^-6 of them not at all.
        assert!((32_500..=32_768).contains(&names.len()), "{}", names.len());
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
        }
    }
}
