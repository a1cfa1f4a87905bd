//! The remaining amounts of the limits, for the response headers.

use super::period::Window;
use super::subject::SubjectKind;
use super::terms::Limits;
use crate::money::Amount;

/// The remainder of the limits of a key and its group, the tighter of both for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Of requests a minute.
    pub requests: Option<Gauge>,
    /// Of input tokens a minute.
    pub input_tokens: Option<Gauge>,
    /// Of output tokens a minute.
    pub output_tokens: Option<Gauge>,
    /// Of the budgets, by [`Window`].
    pub budgets: [Option<BudgetBalance>; Window::ALL.len()],
    /// The time of these figures, in microseconds since the Unix epoch.
    pub at_us: u64,
}

/// The remainder of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauge {
    /// Units a minute.
    pub limit: u32,
    /// Units that may be used now.
    pub remaining: u64,
    /// The time until all of them may be used, in microseconds.
    pub reset_us: u64,
}

impl Gauge {
    /// The one that leaves less, where there are both.
    pub fn tighter(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) if (b.remaining, b.limit) < (a.remaining, a.limit) => Some(b),
            (a, b) => a.or(b),
        }
    }
}

/// The remainder of one budget.
///
/// Ordered by what is left, then by the whole: the least is the tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BudgetBalance {
    /// The amount that may still be spent in the current day or month.
    pub remaining: Amount,
    /// The amount that may be spent in all of it.
    pub budget: Amount,
    /// The amount spent of it, here and elsewhere; the last requests may have spent more than there was.
    pub spent: Amount,
}

/// The remainder of the limits of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectFigures {
    /// The kind of subject that has the limits.
    pub scope: SubjectKind,
    /// The limits.
    pub limits: Limits,
    /// The remainder of the limits.
    pub figures: Figures,
    /// The amount that requests under way have reserved of its budget, which is in no figure.
    pub reserved: Amount,
}

impl BudgetBalance {
    /// The one that leaves less, where there are both.
    pub fn tighter(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        a.into_iter().chain(b).min()
    }
}

impl Figures {
    /// Keeps the figures that the holder of a key may see, of those of `scope`. What is spent of a team's or a group's budget is what
    /// others spend.
    #[must_use]
    pub fn for_holder(self, scope: SubjectKind) -> Self {
        if scope.is_of_holder() {
            return self;
        }
        Self {
            budgets: Default::default(),
            ..self
        }
    }

    /// With the figures of another subject: of each limit the one that leaves less.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        let budgets = self.budgets.into_iter().zip(other.budgets);
        let mut tighter = budgets.map(|(a, b)| BudgetBalance::tighter(a, b));
        Self {
            requests: Gauge::tighter(self.requests, other.requests),
            input_tokens: Gauge::tighter(self.input_tokens, other.input_tokens),
            output_tokens: Gauge::tighter(self.output_tokens, other.output_tokens),
            budgets: core::array::from_fn(|_| tighter.next().flatten()),
            at_us: self.at_us,
        }
    }

    /// Returns the remainder of the budget of a window.
    pub fn budget(&self, window: Window) -> Option<BudgetBalance> {
        self.budgets.get(window as usize).copied().flatten()
    }

    /// Returns the remainder of the tokens, where one figure must do for both kinds.
    pub fn tokens(&self) -> Option<Gauge> {
        Gauge::tighter(self.input_tokens, self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_budget_is_told() {
        let balance = |remaining, budget| {
            let [remaining, budget] = [remaining, budget].map(|text| Amount::parse(text).unwrap());
            Some(BudgetBalance {
                remaining,
                budget,
                spent: Amount::ZERO,
            })
        };
        let cases = [
            (None, None, None),
            (balance("1", "9"), None, balance("1", "9")),
            (None, balance("1", "9"), balance("1", "9")),
            (balance("1", "9"), balance("2", "5"), balance("1", "9")),
            (balance("2", "9"), balance("2", "5"), balance("2", "5")),
        ];
        for (a, b, want) in cases {
            assert_eq!(BudgetBalance::tighter(a, b), want, "{a:?}, {b:?}");
            assert_eq!(BudgetBalance::tighter(b, a), want, "{b:?}, {a:?}");
        }
    }

    #[test]
    fn figures_of_windows_and_of_all_tokens() {
        let amount = |text| Amount::parse(text).unwrap();
        let left = |text| BudgetBalance {
            remaining: amount(text),
            budget: amount("9"),
            spent: Amount::ZERO,
        };
        let gauge = |remaining| Gauge {
            limit: 9,
            remaining,
            reset_us: 0,
        };
        let figures = Figures {
            input_tokens: Some(gauge(2)),
            output_tokens: Some(gauge(1)),
            budgets: [Some(left("1")), Some(left("2"))],
            ..Figures::default()
        };
        assert_eq!(figures.budget(Window::Day), Some(left("1")));
        assert_eq!(figures.budget(Window::Month), Some(left("2")));
        assert_eq!(figures.tokens(), Some(gauge(1)));
        assert_eq!(Figures::default().budget(Window::Day), None);
    }

    #[test]
    fn the_tighter_limit_is_told() {
        let gauge = |limit, remaining| {
            Some(Gauge {
                limit,
                remaining,
                reset_us: 0,
            })
        };
        let cases = [
            (None, None, None),
            (gauge(9, 1), None, gauge(9, 1)),
            (None, gauge(9, 1), gauge(9, 1)),
            (gauge(9, 1), gauge(5, 2), gauge(9, 1)),
            (gauge(9, 3), gauge(5, 2), gauge(5, 2)),
            (gauge(9, 2), gauge(5, 2), gauge(5, 2)),
        ];
        for (a, b, want) in cases {
            assert_eq!(Gauge::tighter(a, b), want, "{a:?}, {b:?}");
        }
        let [first, second] = [1, 2].map(|reset_us| Gauge {
            limit: 9,
            remaining: 1,
            reset_us,
        });
        let got = Gauge::tighter(Some(first), Some(second));
        assert_eq!(got, Some(first), "of two that leave as much the first");
    }
}
