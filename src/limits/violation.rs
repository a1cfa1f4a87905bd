//! The limit that keeps a request out.

use super::period::Window;
use super::rate::Rate;
use super::subject::SubjectKind;

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// A limit by the minute.
    Rate(Rate),
    /// Concurrent requests.
    Concurrency,
    /// Money that is spent.
    Budget(Window),
    /// Money that is not spent, and that requests under way have reserved.
    Reserved(Window),
}

impl Limit {
    /// Returns the name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate(rate) => rate.name(),
            Self::Concurrency => "concurrent_requests",
            Self::Budget(Window::Day) => "budget_per_day",
            Self::Budget(Window::Month) => "budget_per_month",
            Self::Reserved(Window::Day) => "reserved_budget_per_day",
            Self::Reserved(Window::Month) => "reserved_budget_per_month",
        }
    }
}

/// A limit that does not allow a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitViolation {
    /// The kind of subject that has the limit.
    pub scope: SubjectKind,
    /// The limit that is reached.
    pub limit: Limit,
    /// The time until the request would be allowed if no other came, in microseconds.
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

    /// A spent budget is harder than any other limit: it does not come back within a short wait, even just before midnight.
    fn rank(&self) -> (bool, u64) {
        (matches!(self.limit, Limit::Budget(_)), self.wait_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_by_the_names_of_metrics() {
        let rates = Rate::ALL.map(Limit::Rate);
        let budgets = Window::ALL.map(Limit::Budget);
        let reserved = Window::ALL.map(Limit::Reserved);
        let all = rates.into_iter().chain([Limit::Concurrency]);
        let all = all.chain(budgets).chain(reserved);
        let names: Vec<&str> = all.map(Limit::name).collect();
        let want = [
            "requests",
            "input_tokens",
            "output_tokens",
            "concurrent_requests",
            "budget_per_day",
            "budget_per_month",
            "reserved_budget_per_day",
            "reserved_budget_per_month",
        ];
        assert_eq!(names, want);
        assert_eq!(Window::ALL.map(Window::name), ["day", "month"]);
        assert_eq!(
            SubjectKind::ALL.map(SubjectKind::name),
            ["key", "member", "owner", "team", "group"]
        );
    }

    #[test]
    fn the_harder_is_named_and_the_wait_is_the_longer() {
        let violation = |scope, limit, wait_us| LimitViolation {
            scope,
            limit,
            wait_us,
        };
        let (requests, day) = (Limit::Rate(Rate::Requests), Limit::Budget(Window::Day));
        let of_key = |limit, wait_us| violation(SubjectKind::Key, limit, wait_us);
        let of_group = |limit, wait_us| violation(SubjectKind::Group, limit, wait_us);
        let reserved = Limit::Reserved(Window::Day);
        let cases = [
            (
                "reserved money is waited for as a rate is",
                of_key(reserved, 5),
                of_group(requests, 9),
                of_group(requests, 9),
            ),
            (
                "a spent budget beside a reserved one",
                of_key(reserved, 5),
                of_group(day, 1),
                of_group(day, 5),
            ),
            (
                "longer",
                of_key(requests, 2),
                of_group(requests, 1),
                of_key(requests, 2),
            ),
            (
                "equal",
                of_key(requests, 1),
                of_group(requests, 1),
                of_group(requests, 1),
            ),
            (
                "a budget",
                of_key(day, 1),
                of_group(requests, 2),
                of_key(day, 2),
            ),
            (
                "two budgets",
                of_key(day, 1),
                of_group(day, 2),
                of_group(day, 2),
            ),
        ];
        for (case, one, other, want) in cases {
            assert_eq!(one.and(other), want, "{case}");
        }
    }
}
