//! The pace at which the pages of a feed follow one another.

/// The reading that a page is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The first one. The gateway is not ready before it is complete, so it shall be short.
    First,
    /// Any other. Requests are served meanwhile, and shall not feel it.
    Later,
}

impl Reading {
    /// The maximum number of changes in a page. A page holds up the requests of an Envoy with one core, or of the worker
    /// that loads.
    pub fn page(self) -> u32 {
        match self {
            Self::First => 500,
            Self::Later => 100,
        }
    }

    /// For so many times as long as a page took no other is read, and for so many microseconds at most: a page that takes
    /// longer than a few milliseconds was held up by something else. To ask for one takes Envoy as long again.
    fn rest(self) -> (u64, u64) {
        match self {
            Self::First => (2, 5_000),
            Self::Later => (14, LONGEST_US),
        }
    }
}

/// Keeps a reading to a part of a processor, whatever a page takes on it: the first one to a third, any other to a tenth.
///
/// The reader shares processors with the workers, or has only one with all of them. A page takes half a millisecond of an
/// idle processor, and longer of a busy one: so who reads makes room where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Not before this moment is the next page to be asked for, in microseconds since the Unix epoch.
    next_us: u64,
}

/// The longest rest in any reading, in microseconds.
const LONGEST_US: u64 = 50_000;

impl Pace {
    /// A page was read from the one moment to the other, in microseconds since the Unix epoch.
    pub fn read(&mut self, reading: Reading, from_us: u64, until_us: u64) {
        let (times, longest_us) = reading.rest();
        let rest = until_us.saturating_sub(from_us).saturating_mul(times);
        self.next_us = until_us.saturating_add(rest.min(longest_us));
    }

    /// Whether the next one may be asked for.
    pub fn lets(&self, now_us: u64) -> bool {
        let left = self.next_us.saturating_sub(now_us);
        // If there were more, the clock was set back.
        left == 0 || left > LONGEST_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests() {
        use Reading::{First, Later};
        /// Since the epoch, when a page begins to be read.
        const FROM: u64 = 1_800_000_000_000_000;
        // Of which reading it is, how long it takes, and how long no other is asked for then.
        let cases = [
            ("no time at all", Later, 0, 0),
            ("half a millisecond", Later, 500, 7_000),
            ("the longest rest", Later, 3_572, 50_000),
            ("the machine stood still", Later, 400_000, 50_000),
            ("no time at all, of the first", First, 0, 0),
            ("two milliseconds, of the first", First, 2_000, 4_000),
            ("the longest rest of the first", First, 2_500, 5_000),
            ("it stood still in the first", First, 400_000, 5_000),
        ];
        for (case, reading, took, rest) in cases {
            let mut pace = Pace::default();
            assert!(pace.lets(FROM), "{case}: the first");
            let until = FROM + took;
            pace.read(reading, FROM, until);
            assert!(pace.lets(until + rest), "{case}: after it");
            if rest > 0 {
                assert!(!pace.lets(until), "{case}: at once");
                assert!(!pace.lets(until + rest - 1), "{case}: before");
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nobody_up() {
        let mut pace = Pace::default();
        pace.read(Reading::Later, 1_000_000, 1_001_000);
        assert!(pace.lets(900_000), "before the page was read");
        pace.read(Reading::Later, 1_000_000, 800_000);
        assert!(pace.lets(800_000), "while it was read");
    }
}
