//! The time of a feed's latest read.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time of a feed's latest read; at first, the time from which it can be read.
#[derive(Debug)]
pub struct FeedReads(Mutex<Instant>);

impl Default for FeedReads {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl FeedReads {
    /// It is read now.
    pub fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time since the latest read.
    pub fn age(&self) -> Duration {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}
