//! The size and the age of the part of the ledger that the console has not acknowledged.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The most marks: ten minutes of them. What is written later counts as old as the last one.
const MARKS: usize = 600;
/// The time between two marks.
const APART: Duration = Duration::from_secs(1);

/// The part of the ledger that the console has not acknowledged.
///
/// Bytes are numbered from when this agent began. A mark says up to which number they were there at some moment; it goes when
/// the console has them. So the age is that of the oldest byte, to a second, whatever comes meanwhile.
#[derive(Debug, Default)]
pub struct LedgerBacklog {
    acknowledged: u64,
    waiting: u64,
    marks: VecDeque<(u64, Instant)>,
}

impl LedgerBacklog {
    /// The console has so many bytes more.
    pub fn acknowledge(&mut self, bytes: u64) {
        self.acknowledged = self.acknowledged.saturating_add(bytes);
        self.forget();
    }

    /// Records the number of bytes that are waiting now.
    pub fn wait(&mut self, bytes: u64, now: Instant) {
        self.waiting = bytes;
        if bytes == 0 {
            self.marks.clear();
            return;
        }
        let written = self.acknowledged.saturating_add(bytes);
        let full = self.marks.len() >= MARKS;
        match self.marks.back_mut() {
            Some((last, _)) if *last >= written => {}
            Some((last, since)) if full || now.saturating_duration_since(*since) < APART => {
                *last = written;
            }
            _ => self.marks.push_back((written, now)),
        }
        self.forget();
    }

    /// The bytes that are waiting.
    pub const fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Returns the age of the oldest byte that is waiting.
    pub fn age(&self, now: Instant) -> Duration {
        self.marks.front().map_or(Duration::ZERO, |(_, since)| {
            now.saturating_duration_since(*since)
        })
    }

    fn forget(&mut self) {
        while self
            .marks
            .front()
            .is_some_and(|(written, _)| *written <= self.acknowledged)
        {
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_is_that_of_the_oldest_byte() {
        let begun = Instant::now();
        let mut backlog = LedgerBacklog::default();
        // Second, bytes acknowledged since, bytes waiting after that, the age then.
        for (second, acknowledged, waiting, age) in [
            (0, 0, 0, 0),
            (1, 0, 100, 0),
            (3, 0, 150, 2),
            (4, 60, 90, 3), // of the first hundred forty are left
            (5, 40, 50, 2), // those of second 3 are the oldest
            (6, 50, 20, 0), // all of before is there, some are new
            (8, 20, 0, 0),  // nothing waits
            (9, 0, 10, 0),
            (20, 10, 500, 0), // under load there is always something, and nothing is old
            (21, 500, 500, 0),
        ] {
            let now = begun + Duration::from_secs(second);
            backlog.acknowledge(acknowledged);
            backlog.wait(waiting, now);
            let got = (backlog.waiting(), backlog.age(now).as_secs());
            assert_eq!(got, (waiting, age), "second {second}");
        }
    }

    #[test]
    fn it_stays_small() {
        let begun = Instant::now();
        let mut backlog = LedgerBacklog::default();
        for second in 0..10_000 {
            backlog.wait(second + 1, begun + Duration::from_secs(second));
        }
        assert_eq!(backlog.marks.len(), MARKS);
        let now = begun + Duration::from_secs(10_000);
        assert_eq!(backlog.age(now).as_secs(), 10_000);
        backlog.acknowledge(10_000);
        assert_eq!(backlog.age(now).as_secs(), 0);
    }
}
