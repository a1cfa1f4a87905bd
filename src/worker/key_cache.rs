//! The key records that a VM has read lately: a client with a hundred requests in ten milliseconds needs one reading.

use hashbrown::HashMap;

use crate::keys::{KeyDigest, Namespace};

/// The maximum number of records that are kept: more than a worker has requests in ten milliseconds.
const MOST: usize = 512;

/// The records read since the policy's generation was read last, which is ten milliseconds ago at the most.
///
/// With the next reading all are forgotten. So a record is never older than the policy that it is looked up for: a document
/// that changes a key and its group at once changes neither without the other here.
#[derive(Debug, Default)]
pub(super) struct KeyCache {
    /// The reading of the generation beside which they were read.
    reading: u64,
    records: HashMap<(Namespace, KeyDigest), Option<Vec<u8>>>,
}

impl KeyCache {
    /// The bytes of a key's record, got by `read` unless they were since the generation was read (`reading`).
    pub(super) fn record(
        &mut self,
        reading: u64,
        namespace: Namespace,
        digest: &KeyDigest,
        read: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        if self.reading != reading {
            self.reading = reading;
            self.records.clear();
        }
        if let Some(record) = self.records.get(&(namespace, *digest)) {
            return record.clone();
        }
        let record = read();
        // A feed adds keys without a new generation. One that is new is to be valid at once.
        if record.is_some() || namespace == Namespace::Document {
            if self.records.len() >= MOST {
                self.records.clear();
            }
            self.records.insert((namespace, *digest), record.clone());
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const FEED: Namespace = Namespace::Feed;
    const DOCUMENT: Namespace = Namespace::Document;

    fn digest(number: usize) -> KeyDigest {
        KeyDigest::of(&number.to_le_bytes())
    }

    #[test]
    fn a_record_is_read_once_beside_each_reading_of_the_generation() {
        let one = Some(vec![1]);
        // (case, reading, namespace, key, what is read, whether it is read at all, what it gives)
        let cases = [
            ("first", 1, DOCUMENT, 1, one.clone(), true, one.clone()),
            ("again", 1, DOCUMENT, 1, None, false, one.clone()),
            ("another key", 1, DOCUMENT, 2, None, true, None),
            ("none is one", 1, DOCUMENT, 2, one.clone(), false, None),
            ("the feed's", 1, FEED, 1, None, true, None),
            (
                "new in the feed",
                1,
                FEED,
                1,
                one.clone(),
                true,
                one.clone(),
            ),
            ("known in the feed", 1, FEED, 1, None, false, one.clone()),
            ("the next reading", 2, DOCUMENT, 1, None, true, None),
            ("the feed's, too", 2, FEED, 1, None, true, None),
        ];
        let mut cache = KeyCache::default();
        for (case, reading, namespace, key, now, wanted, want) in cases {
            let is_read = Cell::new(false);
            let got = cache.record(reading, namespace, &digest(key), || {
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
            let _ = cache.record(1, DOCUMENT, &digest(key), || None);
            assert!(cache.records.len() <= MOST);
        }
    }
}
