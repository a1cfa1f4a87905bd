//! The wait before Envoy is started again.

use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_millis(100);
/// The longest.
const LONGEST: Duration = Duration::from_secs(30);
/// An Envoy that ran for so long was well, so its end counts as the first one.
const WELL: Duration = Duration::from_secs(60);

/// Waits that double.
#[derive(Debug)]
pub struct BackOff(Duration);

impl BackOff {
    /// Before the first end.
    pub const fn new() -> Self {
        Self(FIRST)
    }

    /// The wait after an Envoy that ran for so long.
    pub fn after(&mut self, ran: Duration) -> Duration {
        if ran >= WELL {
            self.0 = FIRST;
        }
        let wait = self.0;
        self.0 = wait.saturating_mul(2).min(LONGEST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut back_off = BackOff::new();
        let waits: Vec<u128> = (0..12)
            .map(|_| back_off.after(Duration::ZERO).as_millis())
            .collect();
        assert_eq!(
            waits,
            [
                100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000
            ]
        );
        assert_eq!(back_off.after(WELL), FIRST, "it was well");
        assert_eq!(back_off.after(Duration::ZERO), FIRST * 2);
    }
}
