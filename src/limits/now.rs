//! The time at which something is counted, by two clocks.

/// A moment.
///
/// The wall clock may be set forward or back at any time, so no duration is measured by it. It decides in which day and
/// month money is spent, and it is the time that clients are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// By the wall clock: microseconds since the Unix epoch.
    pub wall_us: u64,
    /// By a monotonic clock that all VMs of a process share, in microseconds. Counters live as long as the process.
    pub steady_us: u64,
}

impl Now {
    /// Seconds since the Unix epoch.
    pub fn seconds(self) -> i64 {
        i64::try_from(self.wall_us / 1_000_000).unwrap_or(i64::MAX)
    }

    /// Milliseconds of the steady clock.
    pub fn steady_ms(self) -> u64 {
        self.steady_us / 1000
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use core::ops::{Add, AddAssign, Sub};

    use super::*;

    impl Now {
        /// A moment at which both clocks agree.
        pub(crate) const fn both(us: u64) -> Self {
            Self {
                wall_us: us,
                steady_us: us,
            }
        }

        /// The same moment with the wall clock set forward or back by so many seconds.
        pub(crate) fn stepped(self, seconds: i64) -> Self {
            let wall_us = self.wall_us.saturating_add_signed(seconds * 1_000_000);
            Self { wall_us, ..self }
        }
    }

    impl Add<u64> for Now {
        type Output = Self;

        fn add(self, us: u64) -> Self {
            Self {
                wall_us: self.wall_us + us,
                steady_us: self.steady_us + us,
            }
        }
    }

    impl AddAssign<u64> for Now {
        fn add_assign(&mut self, us: u64) {
            *self = *self + us;
        }
    }

    impl Sub<u64> for Now {
        type Output = Self;

        fn sub(self, us: u64) -> Self {
            Self {
                wall_us: self.wall_us - us,
                steady_us: self.steady_us - us,
            }
        }
    }
}
