//! When a feed was read last.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When a feed was read last; at first, since when it can be.
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

    /// How long ago that was.
    pub fn age(&self) -> Duration {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}
