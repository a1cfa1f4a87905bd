//! The pace at which the pages of a feed follow one another.

/// Keeps a reading to a tenth of a processor, whatever a page takes on it.
///
/// The reader shares processors with the workers, or has only one with all of them. A page takes half a millisecond of an
/// idle processor, and longer of a busy one: so who reads makes room where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Not before this moment is the next page to be asked for, in microseconds since the Unix epoch.
    next_us: u64,
}

/// For so many times as long as a page took, no other is read. To ask for one takes Envoy as long again.
const REST: u64 = 14;
/// The longest pause, in microseconds: a page that took longer than a few milliseconds was held up by something else.
const LONGEST_US: u64 = 50_000;

impl Pace {
    /// A page was read from the one moment to the other, in microseconds since the Unix epoch.
    pub fn read(&mut self, from_us: u64, until_us: u64) {
        let rest = until_us.saturating_sub(from_us).saturating_mul(REST);
        self.next_us = until_us.saturating_add(rest.min(LONGEST_US));
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
        /// Since the epoch, when a page begins to be read.
        const FROM: u64 = 1_800_000_000_000_000;
        // How long a page takes, and how long no other is asked for then.
        let cases = [
            ("no time at all", 0, 0),
            ("half a millisecond", 500, 7_000),
            ("the longest rest", 3_572, 50_000),
            ("the machine stood still", 400_000, 50_000),
        ];
        for (case, took, rest) in cases {
            let mut pace = Pace::default();
            assert!(pace.lets(FROM), "{case}: the first");
            let until = FROM + took;
            pace.read(FROM, until);
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
        pace.read(1_000_000, 1_001_000);
        assert!(pace.lets(900_000), "before the page was read");
        pace.read(1_000_000, 800_000);
        assert!(pace.lets(800_000), "while it was read");
    }
}
