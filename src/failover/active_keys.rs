//! The keys that use a source: as much as it takes to know, for a key that fails, whether another one is in use.
//!
//! Two uses are kept, of two keys, and each is written anew once a minute at most. That is enough: while both are younger than
//! a minute, there is another for every key. The hash of a key's id is no secret, and the id neither: the ledger has it.

use std::hash::{DefaultHasher, Hasher};

/// The time that a key stays active after a request, in microseconds; up to [`STEP_US`] less.
const ACTIVE_US: u64 = 600 * 1_000_000;
/// The age up to which a use is not written anew, in microseconds.
const STEP_US: u64 = 60 * 1_000_000;
/// Bytes of [`ActiveKeys`] in shared data.
pub(super) const ACTIVE_KEYS: usize = 32;

/// A key, by a hash of its id. A value of a rotation is the same key as the value before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyMark(u64);

impl KeyMark {
    /// Of the key with this id. All workers agree.
    pub fn of(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(id.as_bytes());
        // Zero stands for no key.
        Self(hasher.finish().max(1))
    }

    /// The number by which it is written; never zero.
    pub(super) fn number(self) -> u64 {
        self.0
    }
}

/// The two keys that were last seen to use a source, and when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ActiveKeys([KeyUse; 2]);

/// A use of a source: by which key, zero for none, and when, in microseconds of the steady clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct KeyUse {
    key: u64,
    at_us: u64,
}

impl KeyUse {
    /// Whether it was less than `span_us` ago. Another worker may have read its clock a little later.
    fn is_within(self, span_us: u64, now_us: u64) -> bool {
        self.key != 0 && self.at_us.abs_diff(now_us) < span_us
    }
}

impl ActiveKeys {
    /// Whether a use by this key need not be written down.
    pub fn know(self, key: KeyMark, now_us: u64) -> bool {
        let [first, second] = self.0;
        let is_young = |it: KeyUse| it.is_within(STEP_US, now_us);
        match (is_young(first), is_young(second)) {
            (true, true) => true,
            (true, false) => first.key == key.0,
            (false, true) => second.key == key.0,
            (false, false) => false,
        }
    }

    /// The same after a use.
    pub fn after(self, key: KeyMark, now_us: u64) -> Self {
        let used = KeyUse {
            key: key.0,
            at_us: now_us,
        };
        let [first, second] = self.0;
        let is_first = first.key == key.0 || (second.key != key.0 && first.at_us <= second.at_us);
        Self(if is_first {
            [used, second]
        } else {
            [first, used]
        })
    }

    /// Whether a key is the only one in use.
    pub fn is_only(self, key: KeyMark, now_us: u64) -> bool {
        let mut uses = self.0.into_iter();
        !uses.any(|it| it.key != key.0 && it.is_within(ACTIVE_US, now_us))
    }

    pub fn read(bytes: &[u8; ACTIVE_KEYS]) -> Self {
        let mut uses = [KeyUse::default(); 2];
        let (places, _) = bytes.as_chunks();
        for (it, place) in uses.iter_mut().zip(places) {
            let (key, at_us) = halves(place);
            *it = KeyUse { key, at_us };
        }
        Self(uses)
    }

    pub fn write(self, bytes: &mut Vec<u8>) {
        for KeyUse { key, at_us } in self.0 {
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(&at_us.to_le_bytes());
        }
    }
}

/// The two numbers of a use.
fn halves(place: &[u8; ACTIVE_KEYS / 2]) -> (u64, u64) {
    let (numbers, _) = place.as_chunks();
    let number = |at| numbers.get(at).map_or(0, |it| u64::from_le_bytes(*it));
    (number(0), number(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    #[test]
    fn who_is_the_only_one() {
        // (case, uses: when in seconds and by which key, whose failure, when, whether it is the only key in use)
        type Case<'a> = (&'a str, &'a [(u64, &'a str)], &'a str, u64, bool);
        let cases: &[Case<'_>] = &[
            ("nobody", &[], "a", 1000, true),
            ("itself", &[(1000, "a")], "a", 1000, true),
            (
                "itself, often",
                &[(1000, "a"), (1100, "a"), (1200, "a")],
                "a",
                1201,
                true,
            ),
            ("another", &[(1000, "b")], "a", 1000, false),
            (
                "another and itself",
                &[(1000, "b"), (1001, "a")],
                "a",
                1002,
                false,
            ),
            (
                "another, long ago",
                &[(1000, "b"), (1500, "a")],
                "a",
                1600,
                true,
            ),
            (
                "another, not so long ago",
                &[(1000, "b"), (1500, "a")],
                "a",
                1599,
                false,
            ),
            (
                "itself often, another once",
                &[(1000, "b"), (1100, "a"), (1200, "a"), (1300, "a")],
                "a",
                1400,
                false,
            ),
            (
                "a third, of many",
                &[(1000, "b"), (1001, "c"), (1002, "d")],
                "a",
                1003,
                false,
            ),
            (
                "one of many",
                &[
                    (1000, "a"),
                    (1001, "b"),
                    (1002, "c"),
                    (1003, "a"),
                    (1004, "a"),
                ],
                "a",
                1005,
                false,
            ),
            (
                "one of many, alone by now",
                &[(1000, "b"), (1001, "c"), (1500, "a"), (1640, "a")],
                "a",
                1700,
                true,
            ),
            (
                "a clock that is a little behind",
                &[(1000, "b")],
                "a",
                999,
                false,
            ),
        ];
        for (case, uses, key, at, want) in cases {
            let mut keys = ActiveKeys::default();
            for (at, key) in *uses {
                let mark = KeyMark::of(key);
                if !keys.know(mark, at * S) {
                    keys = keys.after(mark, at * S);
                }
                assert!(keys.know(mark, at * S), "{case}: {at}");
            }
            assert_eq!(keys.is_only(KeyMark::of(key), at * S), *want, "{case}");
            let mut bytes = Vec::new();
            keys.write(&mut bytes);
            assert_eq!(bytes.len(), ACTIVE_KEYS);
            assert_eq!(
                ActiveKeys::read(bytes.first_chunk().unwrap()),
                keys,
                "{case}"
            );
        }
    }

    /// Any number of keys, all busy: whoever uses the source, there is another for everybody else, and nearly nothing is written.
    #[test]
    fn few_uses_are_written() {
        let mut keys = ActiveKeys::default();
        let mut written = 0;
        for at in 0..3600 {
            let (key, now_us) = (KeyMark::of(&format!("k{}", at % 7)), (1000 + at) * S);
            if !keys.know(key, now_us) {
                keys = keys.after(key, now_us);
                written += 1;
            }
            if at > 0 {
                for any in 0..8 {
                    assert!(
                        !keys.is_only(KeyMark::of(&format!("k{any}")), now_us),
                        "{at}: k{any}"
                    );
                }
            }
        }
        assert!((110..=130).contains(&written), "{written} in an hour");
    }

    #[test]
    fn keys_are_told_apart() {
        assert_ne!(KeyMark::of("a"), KeyMark::of("b"));
        assert_ne!(KeyMark::of("").number(), 0);
    }
}
