//! The keys of a document, as bytes that are searched and never parsed as a whole.
//!
//! ```text
//! count    4 bytes
//! index    36 bytes for each key, sorted: its digest, and the end of its record among the records (4 bytes)
//! records  flags and terms of each key, in the order of the index
//! ```
//!
//! Numbers are little endian. A key costs its index and its record, some 100 bytes; it is parsed when it is looked up.

use core::fmt;
use std::collections::BTreeMap;

use super::codec;
use super::record::{KeyDigest, KeyRecord, KeyTerms, Unreadable};

/// The length of a key in the index.
const ENTRY: usize = 36;

/// The keys of a document.
#[derive(Clone)]
pub struct KeyTable {
    /// The value that the table stands in, as it was read: it ends with the table.
    bytes: Vec<u8>,
    /// The place where the table begins.
    start: usize,
}

/// Index and records.
type Parts<'a> = (&'a [[u8; ENTRY]], &'a [u8]);

impl KeyTable {
    /// A table of these keys. Of several with one digest the first counts.
    pub fn of(keys: &[(KeyDigest, KeyRecord)]) -> Self {
        // A map in place of a sort: that would be the longest code of the filter.
        let mut sorted = BTreeMap::new();
        for (digest, record) in keys {
            sorted.entry(digest).or_insert(record);
        }
        let mut bytes = number(sorted.len()).to_vec();
        let mut records = Vec::new();
        for (digest, record) in sorted {
            codec::put_key(&KeyTerms::of(record), &mut records);
            bytes.extend_from_slice(digest.bytes());
            bytes.extend(number(records.len()));
        }
        bytes.append(&mut records);
        bytes.shrink_to_fit();
        Self { bytes, start: 0 }
    }

    /// The table that begins at `start` and ends with `bytes`; `None` where they are none, or not all of one.
    pub fn read(bytes: Vec<u8>, start: usize) -> Option<Self> {
        let table = Self { bytes, start };
        let (index, records) = table.parts()?;
        let end = index.last().map_or(Some(0), end);
        (end == Some(records.len())).then_some(table)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.parts().map_or(0, |(index, _)| index.len())
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks a key up.
    ///
    /// # Errors
    /// [`Unreadable`]: another release wrote the record, or it is damaged.
    pub fn get(&self, digest: &KeyDigest) -> Result<Option<KeyRecord>, Unreadable> {
        let (index, records) = self.parts().ok_or(Unreadable)?;
        let place = index.binary_search_by(|entry| entry.first_chunk().cmp(&Some(digest.bytes())));
        let Ok(place) = place else {
            return Ok(None);
        };
        let before = place.checked_sub(1).and_then(|before| index.get(before));
        let start = before.map_or(Some(0), end).ok_or(Unreadable)?;
        let end = index.get(place).and_then(end).ok_or(Unreadable)?;
        let record = records.get(start..end).ok_or(Unreadable)?;
        codec::take_key(record).map(Some)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let (count, rest) = self.bytes().split_first_chunk::<4>()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        let (index, records) = rest.split_at_checked(count.checked_mul(ENTRY)?)?;
        let (index, _) = index.as_chunks::<ENTRY>();
        Some((index, records))
    }
}

impl Default for KeyTable {
    fn default() -> Self {
        Self::of(&[])
    }
}

/// Prints no digest.
impl fmt::Debug for KeyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyTable({} keys)", self.len())
    }
}

/// The end of a record, as the index has it.
fn end(entry: &[u8; ENTRY]) -> Option<usize> {
    let end = entry.last_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*end)).ok()
}

fn number(number: usize) -> [u8; 4] {
    // A value of 4 GiB does not come this far: documents have a greatest length.
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::codec::tests::key;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn record(id: &str) -> KeyRecord {
        KeyRecord {
            id: id.into(),
            group: "g".into(),
            ..KeyRecord::default()
        }
    }

    fn keys(ids: &[&str]) -> Vec<(KeyDigest, KeyRecord)> {
        ids.iter()
            .map(|id| (KeyDigest::of(id.as_bytes()), record(id)))
            .collect()
    }

    #[test]
    fn a_key_is_found() {
        // (case, the keys, who is looked up, the id that is found)
        let cases: [(&str, &[&str], &str, Option<&str>); 6] = [
            ("none", &[], "k1", None),
            ("the only one", &["k1"], "k1", Some("k1")),
            ("another", &["k1"], "k2", None),
            ("one of three", &["k1", "k2", "k3"], "k2", Some("k2")),
            ("the last written", &["k1", "k2", "k3"], "k3", Some("k3")),
            ("none of three", &["k1", "k2", "k3"], "k4", None),
        ];
        for (case, ids, asked, want) in cases {
            let table = KeyTable::of(&keys(ids));
            let found = table.get(&KeyDigest::of(asked.as_bytes())).unwrap();
            assert_eq!(found.as_ref().map(|key| &*key.id), want, "{case}");
            assert_eq!(table.len(), ids.len(), "{case}");
            assert_eq!(table.is_empty(), ids.is_empty(), "{case}");
        }
    }

    #[test]
    fn of_two_records_of_one_key_the_first_counts() {
        let digest = KeyDigest::of(b"k");
        let table = KeyTable::of(&[(digest, record("one")), (digest, record("two"))]);
        assert_eq!(table.get(&digest), Ok(Some(record("one"))));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_table_stands_behind_something_else() {
        let table = KeyTable::of(&keys(&["k1", "k2"]));
        let value = [b"before", table.bytes()].concat();
        let read = KeyTable::read(value.clone(), 6).unwrap();
        assert_eq!(read.bytes(), table.bytes());
        assert_eq!(
            read.get(&KeyDigest::of(b"k2")),
            Ok(Some(record("k2"))),
            "at its place"
        );
        for (case, start) in [("before it", 0), ("in it", 7), ("behind it", 1000)] {
            assert!(KeyTable::read(value.clone(), start).is_none(), "{case}");
        }
    }

    #[test]
    fn a_table_that_was_cut_is_none() {
        for ids in [&[][..], &["k1"], &["k1", "k2", "k3"]] {
            let whole = KeyTable::of(&keys(ids)).bytes;
            assert!(KeyTable::read(whole.clone(), 0).is_some(), "{ids:?}");
            for cut in 0..whole.len() {
                let table = KeyTable::read(whole[..cut].to_vec(), 0);
                assert!(table.is_none(), "{ids:?}, cut at {cut}");
            }
            let longer = [&whole[..], &[0]].concat();
            assert!(KeyTable::read(longer, 0).is_none(), "{ids:?}, longer");
        }
    }

    #[test]
    fn a_damaged_record_is_not_taken_for_absent() {
        let digest = KeyDigest::of(b"k1");
        let good = KeyTable::of(&keys(&["k1"]));
        let records = 4 + ENTRY;
        // (case, the place of the damage, the byte there)
        for (case, at, byte) in [
            ("a flag that nobody knows", records, 2),
            ("its group is longer than the rest", records + 9, 200),
            ("its end is not there", records - 1, 1),
            ("it ends too early", records - 4, 3),
        ] {
            let mut table = good.clone();
            assert_ne!(table.bytes[at], byte, "{case}");
            table.bytes[at] = byte;
            assert_eq!(table.get(&digest), Err(Unreadable), "{case}");
        }
    }

    #[test]
    fn a_key_costs_about_a_hundred_bytes() {
        let keys: Vec<_> = (0..1000_u32)
            .map(|number| {
                let key = KeyRecord {
                    id: format!("key_{number:012}").into(),
                    group: "a-official".into(),
                    owner: Some("someone@example.com".into()),
                    ..KeyRecord::default()
                };
                (KeyDigest::of(&number.to_le_bytes()), key)
            })
            .collect();
        let table = KeyTable::of(&keys);
        assert!(table.bytes.capacity() < 100_000, "{}", table.bytes.len());
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn each_key_has_its_own_record(records in prop::collection::vec(key(), 0..40), stranger in any::<[u8; 4]>()) {
            let numbered = (0_u32..).zip(records);
            let keys: Vec<_> = numbered.map(|(number, record)| (KeyDigest::of(&number.to_le_bytes()), record)).collect();
            let table = KeyTable::read(KeyTable::of(&keys).bytes, 0).unwrap();
            let known: HashMap<_, _> = keys.iter().cloned().collect();
            for (digest, record) in keys {
                prop_assert_eq!(table.get(&digest), Ok(Some(record)));
            }
            let stranger = KeyDigest::of(&stranger);
            prop_assert_eq!(table.get(&stranger), Ok(known.get(&stranger).cloned()));
        }

        #[test]
        fn any_bytes_are_read_without_panic(count in 0u8..6, bytes in prop::collection::vec(any::<u8>(), 0..300), asked in any::<[u8; 32]>(), start in 0usize..400) {
            // With a count that fits, as no other bytes are looked into.
            let bytes = [&[count, 0, 0, 0], &bytes[..]].concat();
            let firsts = bytes[4..].chunks(ENTRY).filter_map(|entry| entry.first_chunk::<32>());
            let digests: Vec<_> = firsts.chain([&asked]).map(|digest| KeyDigest::from_hex(&hex::encode(digest)).unwrap()).collect();
            for start in [0, start] {
                let table = KeyTable { bytes: bytes.clone(), start };
                for digest in &digests {
                    let _ = table.get(digest);
                }
                let _ = (table.len(), KeyTable::read(bytes.clone(), start));
            }
        }

        #[test]
        fn a_flipped_bit_is_read_without_panic(records in prop::collection::vec(key(), 1..6), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let numbered = (0_u32..).zip(records);
            let keys: Vec<_> = numbered.map(|(number, record)| (KeyDigest::of(&number.to_le_bytes()), record)).collect();
            let mut table = KeyTable::of(&keys);
            let at = at.index(table.bytes.len());
            table.bytes[at] ^= 1 << bit;
            for (digest, _) in &keys {
                let _ = table.get(digest);
            }
        }
    }
}
