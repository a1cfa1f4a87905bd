//! The limit that keeps a request out.

use super::budget::Window;
use super::rate::Rate;
use super::subject::Scope;

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// What is counted by the minute.
    Rate(Rate),
    /// Concurrent requests.
    Concurrency,
    /// Money.
    Budget(Window),
}

impl Limit {
    /// Its name, as metrics have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate(rate) => rate.name(),
            Self::Concurrency => "concurrent_requests",
            Self::Budget(Window::Day) => "budget_per_day",
            Self::Budget(Window::Month) => "budget_per_month",
        }
    }
}

/// A limit that does not allow a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitViolation {
    /// Whose limit it is.
    pub scope: Scope,
    /// Which limit.
    pub limit: Limit,
    /// How long until the request would be allowed if no other came, in microseconds.
    pub wait_us: u64,
}

impl LimitViolation {
    /// Both violations in one: the harder is named, and the wait lasts until neither is left. Of two that are equally
    /// hard the other is named.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        let harder = if other.rank() >= self.rank() {
            other
        } else {
            self
        };
        Self {
            wait_us: self.wait_us.max(other.wait_us),
            ..harder
        }
    }

    /// A budget is harder than any other limit: it does not come back within a short wait, even just before midnight.
    fn rank(&self) -> (bool, u64) {
        (matches!(self.limit, Limit::Budget(_)), self.wait_us)
    }
}
