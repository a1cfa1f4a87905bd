//! Whether a connection lives: one that asks nothing for long, or does not take its answer, is closed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a connection may be idle. The slowest loader asks every minute.
const IDLE: Duration = Duration::from_secs(90);
/// How long an answer may be on its way.
const ANSWER: Duration = Duration::from_secs(30);

/// The last sign of life of a connection.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<Mutex<Beat>>);

#[derive(Debug, Clone, Copy)]
struct Beat {
    since: Instant,
    patience: Duration,
}

/// While this is held an answer is on its way.
#[derive(Debug)]
pub struct Answering(Pulse);

impl Pulse {
    /// A connection that begins.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Beat {
            since: Instant::now(),
            patience: IDLE,
        })))
    }

    /// A request has come.
    pub fn answering(&self) -> Answering {
        self.beat(ANSWER);
        Answering(self.clone())
    }

    fn beat(&self, patience: Duration) {
        let since = Instant::now();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Beat { since, patience };
    }

    /// Whether it has been still for too long.
    pub fn is_over(&self, now: Instant) -> bool {
        let beat = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(beat.since) > beat.patience
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.beat(IDLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_how_long_it_may_be_still() {
        let second = Duration::from_secs(1);
        let over = |pulse: &Pulse, after| pulse.is_over(Instant::now() + after);
        let idle = Pulse::new();
        let answering = Pulse::new();
        let on_its_way = answering.answering();
        let answered = Pulse::new();
        drop(answered.answering());
        let cases = [
            ("idle", &idle, IDLE),
            ("an answer is on its way", &answering, ANSWER),
            ("answered", &answered, IDLE),
        ];
        for (case, pulse, patience) in cases {
            assert!(!over(pulse, patience - second), "{case}");
            assert!(over(pulse, patience + second), "{case}");
        }
        drop(on_its_way);
        assert!(!over(&answering, IDLE - second), "no more on its way");
    }
}
