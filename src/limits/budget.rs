//! Budgets: how much money a calendar day and a calendar month (UTC) may cost.

use super::bytes::RecordReader;
use super::period::{self, Period, Window};
use crate::money::Amount;

/// The budget that a document gives. `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// For each day.
    pub per_day: Option<Amount>,
    /// For each month.
    pub per_month: Option<Amount>,
    /// The amounts spent until some moment, as the document's author knows them. So counts survive a restart of Envoy, and
    /// several Envoys can count together.
    pub spent: Option<SpentBy>,
}

/// The amounts spent in the day and month of a moment, until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentBy {
    /// The moment, in seconds since the Unix epoch.
    pub at: i64,
    /// In its day.
    pub in_day: Amount,
    /// In its month.
    pub in_month: Amount,
}

impl SpentBy {
    /// Returns the amount spent in the `window` of the moment.
    fn of(self, window: Window) -> Amount {
        match window {
            Window::Day => self.in_day,
            Window::Month => self.in_month,
        }
    }
}

/// The amounts spent of a budget elsewhere, by period. A period that is not named has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpentElsewhere(pub Vec<(Period, Amount)>);

impl SpentElsewhere {
    /// In this period.
    pub fn of(&self, period: Period) -> Amount {
        let found = self.0.iter().find(|(other, _)| *other == period);
        found.map_or(Amount::ZERO, |(_, amount)| *amount)
    }
}

impl Budget {
    /// Whether there is one.
    pub fn is_set(&self) -> bool {
        self.per_day.is_some() || self.per_month.is_some()
    }

    /// The reservation of a request that is expected to cost `charge`: at most half of what each window may cost, so that a
    /// request with a huge cap leaves something for others. Nothing without a budget.
    pub(super) fn reservation(&self, charge: Amount) -> Amount {
        let most = self.per_day.into_iter().chain(self.per_month).min();
        most.map_or(Amount::ZERO, |most| charge.min(most.half()))
    }

    /// Returns the amount that `window` may cost.
    pub fn of(&self, window: Window) -> Option<Amount> {
        match window {
            Window::Day => self.per_day,
            Window::Month => self.per_month,
        }
    }
}

/// The amounts spent in the current day and month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarSpending {
    day: (Period, Amount),
    month: (Period, Amount),
}

/// Nothing, long ago.
impl Default for CalendarSpending {
    fn default() -> Self {
        Self {
            day: (Period::Day(0), Amount::ZERO),
            month: (Period::Month(0), Amount::ZERO),
        }
    }
}

impl CalendarSpending {
    /// Returns the spending at `now`: a new day and month begin at zero, and at least what the document says was spent counts.
    #[must_use]
    pub fn at(mut self, now: i64, told: Option<SpentBy>) -> Self {
        let today = period::day(now);
        let told = told.map(|told| (period::day(told.at), told));
        for (kept, sum) in [&mut self.day, &mut self.month] {
            let window = kept.window();
            let current = Period::of(window, today);
            // A clock that is set back across midnight must not renew a day's budget; one that was far ahead must not block
            // the days until then.
            if *kept < current || *kept > current.plus(1) {
                (*kept, *sum) = (current, Amount::ZERO);
            }
            if let Some((day, told)) = told
                && Period::of(window, day) == *kept
            {
                *sum = told.of(window).max(*sum);
            }
        }
        self
    }

    /// With one more charge.
    #[must_use]
    pub fn plus(mut self, charge: Amount) -> Self {
        for (_, sum) in [&mut self.day, &mut self.month] {
            *sum = sum.plus(charge);
        }
        self
    }

    /// With what is spent elsewhere in the current day and month.
    #[must_use]
    pub fn with(mut self, elsewhere: &SpentElsewhere) -> Self {
        for (period, sum) in [&mut self.day, &mut self.month] {
            *sum = sum.plus(elsewhere.of(*period));
        }
        self
    }

    /// Returns the amount spent in the current `window`.
    pub fn of(&self, window: Window) -> Amount {
        match window {
            Window::Day => self.day.1,
            Window::Month => self.month.1,
        }
    }

    /// The budget that is spent; of both the one that is renewed later.
    pub fn exceeds(&self, budget: &Budget) -> Option<Window> {
        [Window::Month, Window::Day].into_iter().find(|window| {
            budget
                .of(*window)
                .is_some_and(|may| self.of(*window) >= may)
        })
    }

    /// The window that has no room for `wanted` beside what others have reserved. A request that nobody else is beside, or
    /// that is expected to cost nothing, fits wherever a budget is not spent: the last of it can be used.
    pub(super) fn reserved_by_others(
        &self,
        budget: &Budget,
        reserved: Amount,
        wanted: Amount,
    ) -> Option<Window> {
        if reserved == Amount::ZERO || wanted == Amount::ZERO {
            return None;
        }
        let all = reserved.plus(wanted);
        [Window::Month, Window::Day].into_iter().find(|window| {
            budget
                .of(*window)
                .is_some_and(|may| self.of(*window).plus(all) > may)
        })
    }

    /// Appends its encoding.
    pub(super) fn encode(self, bytes: &mut Vec<u8>) {
        for (period, _) in [self.day, self.month] {
            bytes.extend_from_slice(&period.number().to_le_bytes());
        }
        for (_, sum) in [self.day, self.month] {
            bytes.extend_from_slice(&sum.to_bytes());
        }
    }

    /// Decodes a spending.
    pub(super) fn decode(reader: &mut RecordReader<'_>) -> Option<Self> {
        let (day, month) = (Period::Day(reader.i32()?), Period::Month(reader.i32()?));
        let mut sum = || reader.array().map(Amount::from_bytes);
        Some(Self {
            day: (day, sum()?),
            month: (month, sum()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> i64 {
        use time::OffsetDateTime;
        use time::format_description::well_known::Rfc3339;
        OffsetDateTime::parse(text, &Rfc3339)
            .unwrap()
            .unix_timestamp()
    }

    fn amount(text: &str) -> Amount {
        Amount::parse(text).unwrap()
    }

    #[test]
    fn days_and_months_begin_with_nothing() {
        let spent = CalendarSpending::default()
            .at(seconds("2026-11-30T23:59:59Z"), None)
            .plus(amount("3"));
        let cases = [
            ("2026-11-30T23:59:59Z", "3", "3"),
            ("2026-11-30T00:00:00Z", "3", "3"),
            ("2026-12-01T00:00:00Z", "0", "0"),
            ("2027-11-30T00:00:00Z", "0", "0"),
            // Set back across midnight, or a time server that wavers around it.
            ("2026-11-29T23:59:59Z", "3", "3"),
            // It was far ahead, and is right now.
            ("2026-11-28T12:00:00Z", "0", "3"),
            ("2026-08-28T12:00:00Z", "0", "0"),
        ];
        for (now, day, month) in cases {
            let then = spent.at(seconds(now), None);
            assert_eq!(then.of(Window::Day), amount(day), "{now}");
            assert_eq!(then.of(Window::Month), amount(month), "{now}");
        }
        let next_day = CalendarSpending::default()
            .at(seconds("2026-11-29T23:59:59Z"), None)
            .plus(amount("2"))
            .at(seconds("2026-11-30T00:00:00Z"), None)
            .plus(amount("0.5"));
        assert_eq!(next_day.of(Window::Day), amount("0.5"));
        assert_eq!(next_day.of(Window::Month), amount("2.5"));
    }

    #[test]
    fn a_document_that_knows_of_more_is_believed() {
        let told = |at: &str| {
            Some(SpentBy {
                at: seconds(at),
                in_day: amount("5"),
                in_month: amount("70"),
            })
        };
        let now = seconds("2026-11-22T12:00:00Z");
        let mine = CalendarSpending::default().at(now, None).plus(amount("6"));
        let cases = [
            ("this day", told("2026-11-22T03:00:00Z"), "6", "70"),
            ("yesterday", told("2026-11-21T23:59:59Z"), "6", "70"),
            ("last month", told("2026-10-22T12:00:00Z"), "6", "6"),
            ("nothing told", None, "6", "6"),
        ];
        for (case, told, day, month) in cases {
            let spending = mine.at(now, told);
            assert_eq!(spending.of(Window::Day), amount(day), "{case}");
            assert_eq!(spending.of(Window::Month), amount(month), "{case}");
            assert_eq!(spending.at(now, told), spending, "{case}, twice");
        }
    }

    #[test]
    fn what_is_spent_elsewhere_counts_in_its_own_period() {
        let elsewhere = |periods: &[(&str, &str)]| {
            let each = |(period, sum): &(&str, &str)| {
                (Period::parse(period).unwrap(), Amount::parse(sum).unwrap())
            };
            SpentElsewhere(periods.iter().map(each).collect())
        };
        let now = seconds("2026-11-30T23:59:00Z");
        let mine = CalendarSpending::default().at(now, None).plus(amount("1"));
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);
        let cases: [Case<'_>; 4] = [
            ("nothing", &[], "1", "1"),
            ("this day", &[("2026-11-30", "2")], "3", "1"),
            (
                "this month",
                &[("2026-11", "9.5"), ("2026-11-30", "2")],
                "3",
                "10.5",
            ),
            (
                "others",
                &[
                    ("2026-12", "9"),
                    ("2026-12-01", "8"),
                    ("2026-11-29", "7"),
                    ("2026-10", "6"),
                ],
                "1",
                "1",
            ),
        ];
        for (case, periods, day, month) in cases {
            let all = mine.with(&elsewhere(periods));
            assert_eq!(all.of(Window::Day), amount(day), "{case}");
            assert_eq!(all.of(Window::Month), amount(month), "{case}");
        }
        let next = mine.at(now + 60, None);
        let all = next.with(&elsewhere(&[("2026-12", "9"), ("2026-12-01", "8")]));
        assert_eq!(
            (all.of(Window::Day), all.of(Window::Month)),
            (amount("8"), amount("9"))
        );
    }

    #[test]
    fn budgets_are_spent_to_the_last_digit() {
        let now = seconds("2026-11-22T12:00:00Z");
        let budget = |day: Option<&str>, month: Option<&str>| Budget {
            per_day: day.map(amount),
            per_month: month.map(amount),
            spent: None,
        };
        let spent = CalendarSpending::default()
            .at(now, None)
            .plus(amount("1.5"));
        let cases = [
            (budget(None, None), None),
            (budget(Some("1.50000000000000000001"), None), None),
            (budget(Some("1.5"), None), Some(Window::Day)),
            (budget(Some("1.4"), Some("2")), Some(Window::Day)),
            (budget(Some("1.4"), Some("1.5")), Some(Window::Month)),
            (budget(None, Some("1")), Some(Window::Month)),
        ];
        for (budget, want) in cases {
            assert_eq!(spent.exceeds(&budget), want, "{budget:?}");
        }
    }
}
