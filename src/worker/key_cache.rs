//! The key records of the feed that a VM has read lately: a client with a hundred requests in ten milliseconds needs one reading.

use hashbrown::HashMap;

use crate::keys::KeyDigest;

/// The maximum number of records that are kept: more than a worker has requests in ten milliseconds.
const MOST: usize = 512;

/// The records read since the policy's generation was read last, which is ten milliseconds ago at the most. With the next
/// reading all are forgotten.
#[derive(Debug, Default)]
pub(super) struct KeyCache {
    /// The reading of the generation beside which they were read.
    reading: u64,
    records: HashMap<KeyDigest, Vec<u8>>,
}

impl KeyCache {
    /// The bytes of a key's record, got by `read` unless they were since the generation was read (`reading`).
    pub(super) fn record(
        &mut self,
        reading: u64,
        digest: &KeyDigest,
        read: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        if self.reading != reading {
            self.reading = reading;
            self.records.clear();
        }
        if let Some(record) = self.records.get(digest) {
            return Some(record.clone());
        }
        // A feed adds keys without a new generation, and a new one is to be valid at once: that there is none is not kept.
        let record = read()?;
        if self.records.len() >= MOST {
            self.records.clear();
        }
        self.records.insert(*digest, record.clone());
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn digest(number: usize) -> KeyDigest {
        KeyDigest::of(&number.to_le_bytes())
    }

    #[test]
    fn a_record_is_read_once_beside_each_reading_of_the_generation() {
        let (one, two) = (Some(vec![1]), Some(vec![2]));
        // (case, reading, key, what is read, whether it is read at all, what it gives)
        let cases = [
            ("first", 1, 1, one.clone(), true, one.clone()),
            ("again", 1, 1, two.clone(), false, one.clone()),
            ("another key", 1, 2, None, true, None),
            ("new", 1, 2, two.clone(), true, two.clone()),
            ("known", 1, 2, one, false, two.clone()),
            ("the next reading", 2, 1, two.clone(), true, two),
            ("all are forgotten", 2, 2, None, true, None),
        ];
        let mut cache = KeyCache::default();
        for (case, reading, key, now, wanted, want) in cases {
            let is_read = Cell::new(false);
            let got = cache.record(reading, &digest(key), || {
                is_read.set(true);
                now
            });
            assert_eq!((got, is_read.get()), (want, wanted), "{case}");
        }
    }

    #[test]
    fn it_stays_small() {
        let mut cache = KeyCache::default();
        for key in 0..3 * MOST {
            let _ = cache.record(1, &digest(key), || Some(Vec::new()));
            assert!(cache.records.len() <= MOST);
        }
    }
}
