//! The poll schedule: how often a loader's root ticks, and at which ticks it polls the source of its document.
//!
//! | tick | period | what is due |
//! |---|---|---|
//! | before a first document, for a second | [`EAGER`] | a poll |
//! | while the feed has more pages | [`PAGE_PERIOD`] | a page; a poll when one is due |
//! | else | that of polls, or a part of it | a poll; lease renewals of limits, and counters to be written, between two |

use core::time::Duration;

/// The interval at which a new process polls for its first document, and for how long, in milliseconds: until it has one it rejects
/// every request, and after a hot restart it has the sockets already. The source may be a listener of its own, which
/// opens within moments.
const EAGER: Duration = Duration::from_millis(20);
const EAGER_MS: u64 = 1000;

/// The least time between two pages of a feed that has more; [`Pace`](crate::feed::Pace) may want a longer one.
const PAGE_PERIOD: Duration = Duration::from_millis(5);

/// The longest time between two ticks of a root, in milliseconds: with its ticks a worker renews the leases of concurrent
/// requests and writes its counters.
pub const LONGEST_TICK_MS: u64 = 1000;

/// The times at which a loader polls.
#[derive(Debug)]
pub(super) struct PollSchedule {
    /// The time between two polls.
    every: Duration,
    /// The time at which the next poll is due, in milliseconds of the steady clock.
    due_ms: u64,
    /// Whether the feed has more pages.
    pages: bool,
    /// Until when a first document is polled for more often, in milliseconds of the steady clock.
    eager_until_ms: Option<u64>,
    /// The period that was set last.
    period: Option<Duration>,
}

impl PollSchedule {
    /// A schedule that begins at `now_ms` of a steady clock; `eager` where a first document of the process may be missing.
    pub(super) fn new(every: Duration, eager: bool, now_ms: u64) -> Self {
        Self {
            every,
            due_ms: 0,
            pages: false,
            eager_until_ms: eager.then(|| now_ms.saturating_add(EAGER_MS)),
            period: None,
        }
    }

    /// Whether a poll is due at this tick; `seen` where there was a document before.
    pub(super) fn poll_due(&mut self, now_ms: u64, seen: bool) -> bool {
        if seen || self.eager_until_ms.is_some_and(|until| now_ms >= until) {
            self.eager_until_ms = None;
        }
        if self.is_between(now_ms) {
            return false;
        }
        self.due_ms = now_ms.saturating_add(millis(self.every));
        true
    }

    /// Whether no document was seen yet, and the process began only just now.
    pub(super) fn is_eager(&self) -> bool {
        self.eager_until_ms.is_some()
    }

    /// Whether ticks between two polls are for pages of the feed.
    pub(super) fn reads_pages(&self) -> bool {
        self.pages
    }

    /// Notes whether the feed has more pages.
    pub(super) fn set_pages(&mut self, pages: bool) {
        self.pages = pages;
    }

    /// The period to set now; `None` where it is set already. Setting the same again would restart it.
    pub(super) fn next_period(&mut self) -> Option<Duration> {
        let wanted = self.wanted();
        (self.period.replace(wanted) != Some(wanted)).then_some(wanted)
    }

    fn is_between(&self, now_ms: u64) -> bool {
        let period = self.wanted();
        // A tick may come a little early.
        let early = millis(period) / 2;
        !self.is_eager() && period < self.every && now_ms.saturating_add(early) < self.due_ms
    }

    fn wanted(&self) -> Duration {
        if self.pages {
            return PAGE_PERIOD;
        }
        if self.is_eager() {
            return EAGER.min(self.every);
        }
        let parts = self.every.as_millis().div_ceil(u128::from(LONGEST_TICK_MS));
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).max(1);
        self.every.checked_div(parts).unwrap_or(self.every)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 5_000_000;

    fn every(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Ticks for so many milliseconds as the schedule wants it, each tick `jitter` milliseconds off; gives when polls
    /// were due.
    fn polls(schedule: &mut PollSchedule, seen: bool, jitter: i64, for_ms: u64) -> Vec<u64> {
        let mut now = START;
        let mut polls = Vec::new();
        let mut late = false;
        let mut period = schedule.next_period().unwrap();
        while now < START + for_ms {
            now += millis(period);
            // Every second tick is off, in case the one before was not.
            late = !late;
            let tick = now.saturating_add_signed(if late { 0 } else { jitter });
            if schedule.poll_due(tick, seen) {
                polls.push(now - START);
            }
            period = schedule.next_period().unwrap_or(period);
        }
        polls
    }

    /// (case, period, eager, seen, the first polls)
    type Case = (&'static str, u64, bool, bool, &'static [u64]);

    #[test]
    fn polls_come_at_their_period() {
        for jitter in [-2, 0, 2] {
            let cases: &[Case] = &[
                ("plain", 500, false, true, &[500, 1000, 1500]),
                ("nothing seen", 500, false, false, &[500, 1000]),
                ("eager, nothing seen", 500, true, false, &[20, 40, 60]),
                ("eager, seen", 500, true, true, &[20, 520, 1020]),
                ("eager, short", 50, true, false, &[20, 40]),
                // There are ticks in between.
                ("long", 60_000, false, true, &[1000, 61_000, 121_000]),
                ("twice", 2000, false, true, &[1000, 3000, 5000]),
                ("thrice", 3000, false, true, &[1000, 4000, 7000]),
                ("not a whole number", 1500, false, true, &[750, 2250, 3750]),
            ];
            for (case, period, eager, seen, want) in cases {
                let mut schedule = PollSchedule::new(every(*period), *eager, START);
                let last = want.last().unwrap() + period / 2;
                let got = polls(&mut schedule, *seen, jitter, last);
                assert_eq!(got[..want.len()], **want, "{case}, {jitter}");
            }
        }
    }

    #[test]
    fn a_first_document_is_polled_for_often_only_for_a_second() {
        let mut schedule = PollSchedule::new(every(500), true, START);
        let polls = polls(&mut schedule, false, 0, 3000);
        let eager = polls.iter().filter(|at| **at <= EAGER_MS).count();
        assert_eq!(eager, 50, "{polls:?}");
        assert!(!schedule.is_eager());
        let rest: Vec<u64> = polls.into_iter().filter(|at| *at > EAGER_MS).collect();
        let gaps = rest.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.clone().all(|gap| gap == 500), "{rest:?}");
    }

    #[test]
    fn pages_come_between_polls_and_hold_none_up() {
        let mut schedule = PollSchedule::new(every(500), false, START);
        assert!(schedule.poll_due(START, true));
        assert!(!schedule.reads_pages());
        schedule.set_pages(true);
        assert!(schedule.reads_pages());
        assert_eq!(schedule.next_period(), Some(PAGE_PERIOD));
        assert_eq!(schedule.next_period(), None, "set once");
        let polls: Vec<u64> = (1..=300)
            .map(|tick| tick * 5)
            .filter(|at| schedule.poll_due(START + at, true))
            .collect();
        // A tick may come half a period early.
        assert_eq!(polls, [500, 1000, 1500]);
        assert!(!schedule.poll_due(START + 1997, true), "too early");
        assert!(schedule.poll_due(START + 1998, true), "2 ms early");
        schedule.set_pages(false);
        assert_eq!(schedule.next_period(), Some(every(500)));
    }
}
