//! The silent time of a stream, in which nothing comes of what its model makes.
//!
//! A model that reasons where nobody sees it is silent meanwhile, and the vendor charges for it. Silence begins with the
//! first event that tells anything, or one behind it that has no text, picture or sound in it, and ends with the next that has.
//! So the clock is read twice for each silence, and not at all while text flows.

use super::environment::Clock;
use crate::usage::Meter;

/// The silence of one stream.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// The start of the current silence, in microseconds of the steady clock.
    since_us: Option<u64>,
    /// The total length of the earlier silences, in microseconds.
    total_us: u64,
    /// The number of bytes of text, pictures and sound that had passed.
    passed: u64,
}

impl Silence {
    /// Bytes of the stream have passed, and `meter` has read them.
    pub(super) fn pass(&mut self, meter: &Meter, clock: &impl Clock) {
        let passed = meter.passed_bytes();
        let is_told = core::mem::replace(&mut self.passed, passed) != passed;
        match self.since_us {
            Some(since) if is_told => {
                self.total_us = self.total_us.saturating_add(elapsed(since, clock));
                self.since_us = None;
            }
            None if !is_told && meter.has_begun() => self.since_us = Some(clock.now_us()),
            _ => {}
        }
    }

    /// Returns the total length of the silences up to now, in microseconds.
    pub(super) fn total_us(&self, clock: &impl Clock) -> u64 {
        let lasting = self.since_us.map_or(0, |since| elapsed(since, clock));
        self.total_us.saturating_add(lasting)
    }
}

fn elapsed(since: u64, clock: &impl Clock) -> u64 {
    clock.now_us().saturating_sub(since)
}
