//! A timeline of exchanges: those that ended and failed, and the longest, step by step.

use std::time::Duration;

use serde::Serialize;

use crate::clock;

/// The steps since counting began.
#[derive(Debug)]
pub struct Timeline {
    from: u64,
    width: u64,
    steps: Vec<TimelineStep>,
}

/// One step of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TimelineStep {
    /// The start of the step, in milliseconds since counting began.
    pub at_ms: u64,
    /// Exchanges that ended in it, as they should or not.
    pub ended: u64,
    /// Those that failed.
    pub failed: u64,
    /// The longest, in microseconds.
    pub max_us: f64,
}

impl Timeline {
    /// Creates a timeline that begins at `from`, by the clock.
    pub fn new(from: u64, width: Duration) -> Self {
        Self {
            from,
            width: clock::nanos(width).max(1),
            steps: Vec::new(),
        }
    }

    /// An exchange ended at `now` and took so many nanoseconds. Of the warm-up nothing is kept.
    pub fn add(&mut self, now: u64, took: u64, failed: bool) {
        let Some(since) = now.checked_sub(self.from) else {
            return;
        };
        let at = usize::try_from(since / self.width).unwrap_or(usize::MAX);
        while self.steps.len() <= at {
            self.steps.push(TimelineStep {
                at_ms: self.steps.len() as u64 * self.width / 1_000_000,
                ..TimelineStep::default()
            });
        }
        let step = &mut self.steps[at];
        step.ended += 1;
        step.failed += u64::from(failed);
        step.max_us = step.max_us.max(took as f64 / 1000.0);
    }

    /// All of them, those without anything included.
    pub fn steps(self) -> Vec<TimelineStep> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_in_the_step_in_which_they_ended() {
        let mut line = Timeline::new(1_000_000_000, Duration::from_millis(100));
        let ms = |ms: u64| 1_000_000_000 + ms * 1_000_000;
        line.add(999_999_999, 1, true);
        line.add(ms(0), 5_000, false);
        line.add(ms(99), 7_000, true);
        line.add(ms(250), 1_000, false);
        let told: Vec<_> = line
            .steps()
            .iter()
            .map(|s| (s.at_ms, s.ended, s.failed, s.max_us))
            .collect();
        assert_eq!(told, [(0, 2, 1, 7.0), (100, 0, 0, 0.0), (200, 1, 0, 1.0)]);
    }
}
