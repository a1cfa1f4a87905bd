//! Searches that an answer lists, each once: Google charges for unique queries.

/// The maximum number of queries that are told apart. No response has as many; more are not counted.
pub(super) const MAX_QUERIES: usize = 32;

/// A set of queries, by their hash. Most answers have none, so they take no room before the first.
#[derive(Clone, Default)]
pub(super) struct Queries(Vec<u64>);

impl Queries {
    pub(super) fn add(&mut self, query: &[u8]) {
        self.add_hash(hash(query));
    }

    /// Adds all of another set.
    pub(super) fn add_all(&mut self, others: &Self) {
        others.0.iter().for_each(|hash| self.add_hash(*hash));
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn add_hash(&mut self, hash: u64) {
        if self.0.len() < MAX_QUERIES && !self.0.contains(&hash) {
            self.0.push(hash);
        }
    }
}

/// FNV-1a, of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_counts_once_and_no_more_than_there_is_room_for() {
        let mut queries = Queries::default();
        for query in ["a", "b", "a", "ab", "b"] {
            queries.add(query.as_bytes());
        }
        assert_eq!(queries.count(), 3);
        let mut others = Queries::default();
        others.add(b"b");
        others.add(b"c");
        queries.add_all(&others);
        assert_eq!(queries.count(), 4);
        for number in 0..2 * MAX_QUERIES {
            queries.add(number.to_string().as_bytes());
        }
        assert_eq!(queries.count(), MAX_QUERIES as u64);
        queries.clear();
        assert_eq!(queries.count(), 0);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        for (text, want) in [
            ("", 0xCBF2_9CE4_8422_2325),
            ("a", 0xAF63_DC4C_8601_EC8C),
            ("foobar", 0x8594_4171_F739_67E8_u64),
        ] {
            assert_eq!(hash(text.as_bytes()), want, "{text}");
        }
    }
}
