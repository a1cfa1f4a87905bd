//! A gateway's reads of a feed.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The latest read of a feed by its gateway.
#[derive(Debug)]
pub struct FeedReads(Mutex<FeedRead>);

#[derive(Debug)]
struct FeedRead {
    /// The time of it; at first, the time from which it can be read.
    at: Instant,
    /// The version up to which the gateway had the feed then.
    version: Option<u64>,
}

impl Default for FeedReads {
    fn default() -> Self {
        Self(Mutex::new(FeedRead {
            at: Instant::now(),
            version: None,
        }))
    }
}

impl FeedReads {
    /// It is read now, by a gateway that has it up to this version.
    pub fn note(&self, version: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = FeedRead {
            at: Instant::now(),
            version,
        };
    }

    /// Returns the time since the latest read.
    pub fn age(&self) -> Duration {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.at.elapsed()
    }

    /// Returns the version up to which the gateway has the feed, if it follows it.
    pub fn version(&self) -> Option<u64> {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.version
    }
}
