//! Budgets: how much money a calendar day and a calendar month (UTC) may cost.

use time::{Date, OffsetDateTime, Time};

use super::bytes::RecordReader;
use super::elsewhere::{Period, SpentElsewhere};
use crate::money::Amount;

/// The calendar period that a budget is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// A calendar day, UTC.
    Day,
    /// A calendar month, UTC.
    Month,
}

impl Window {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Day, Self::Month];

    /// Returns the name in metrics and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

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

/// A day and a month, each by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Calendar {
    /// Days since the Unix epoch.
    day: u32,
    /// Months since the year 0.
    month: u32,
}

impl Calendar {
    fn at(seconds: i64) -> Self {
        let date = date(seconds);
        let months = i64::from(date.year())
            .saturating_mul(12)
            .saturating_add(i64::from(u8::from(date.month())));
        Self {
            day: u32::try_from(seconds.div_euclid(86_400)).unwrap_or_default(),
            month: u32::try_from(months).unwrap_or_default(),
        }
    }
}

impl Period {
    /// Reads a day (`2026-11-25`) or a month (`2026-11`).
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str, count| {
            let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<u16>().ok()).flatten()
        };
        let mut parts = text.split('-');
        let year = digits(parts.next()?, 4)?;
        let month = u8::try_from(digits(parts.next()?, 2)?).ok()?;
        let day = parts.next().map(|day| digits(day, 2));
        if parts.next().is_some() {
            return None;
        }
        let is_day = day.is_some();
        let day = u8::try_from(day.unwrap_or(Some(1))?).ok()?;
        let date = Date::from_calendar_date(year.into(), month.try_into().ok()?, day).ok()?;
        let calendar = Calendar::at(date.with_time(Time::MIDNIGHT).assume_utc().unix_timestamp());
        Some(if is_day {
            Self::Day(calendar.day)
        } else {
            Self::Month(calendar.month)
        })
    }
}

fn date(seconds: i64) -> Date {
    OffsetDateTime::from_unix_timestamp(seconds)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
        .date()
}

/// The amounts spent in the current day and month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CalendarSpending {
    calendar: Calendar,
    in_day: Amount,
    in_month: Amount,
}

impl CalendarSpending {
    /// Returns the spending at `now`: a new day and month begin at zero, and at least what the document says was spent counts.
    #[must_use]
    pub fn at(self, now: i64, told: Option<SpentBy>) -> Self {
        let calendar = Calendar::at(now);
        let mut spending = self;
        // A clock that is set back across midnight must not renew a day's budget; one that was far ahead must not block
        // the days until then.
        let over = |kept: u32, now: u32| kept < now || kept > now.saturating_add(1);
        if over(self.calendar.day, calendar.day) {
            spending.calendar.day = calendar.day;
            spending.in_day = Amount::ZERO;
        }
        if over(self.calendar.month, calendar.month) {
            spending.calendar.month = calendar.month;
            spending.in_month = Amount::ZERO;
        }
        if let Some(told) = told {
            let then = Calendar::at(told.at);
            if then.day == spending.calendar.day {
                spending.in_day = spending.in_day.max(told.in_day);
            }
            if then.month == spending.calendar.month {
                spending.in_month = spending.in_month.max(told.in_month);
            }
        }
        spending
    }

    /// With one more charge.
    #[must_use]
    pub fn plus(self, charge: Amount) -> Self {
        Self {
            in_day: self.in_day.plus(charge),
            in_month: self.in_month.plus(charge),
            ..self
        }
    }

    /// With what is spent elsewhere in the current day and month.
    #[must_use]
    pub fn with(self, elsewhere: &SpentElsewhere) -> Self {
        let Calendar { day, month } = self.calendar;
        Self {
            in_day: self.in_day.plus(elsewhere.of(Period::Day(day))),
            in_month: self.in_month.plus(elsewhere.of(Period::Month(month))),
            ..self
        }
    }

    /// Returns the amount spent in the current `window`.
    pub fn of(&self, window: Window) -> Amount {
        match window {
            Window::Day => self.in_day,
            Window::Month => self.in_month,
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
        bytes.extend_from_slice(&self.calendar.day.to_le_bytes());
        bytes.extend_from_slice(&self.calendar.month.to_le_bytes());
        bytes.extend_from_slice(&self.in_day.to_bytes());
        bytes.extend_from_slice(&self.in_month.to_bytes());
    }

    /// Decodes a spending.
    pub(super) fn decode(reader: &mut RecordReader<'_>) -> Option<Self> {
        let calendar = Calendar {
            day: reader.u32()?,
            month: reader.u32()?,
        };
        Some(Self {
            calendar,
            in_day: Amount::from_bytes(reader.array()?),
            in_month: Amount::from_bytes(reader.array()?),
        })
    }
}

/// Returns the time until the next `window` begins, in seconds.
pub fn until_next(window: Window, now: i64) -> u64 {
    let today = date(now);
    let next = match window {
        Window::Day => today.next_day(),
        Window::Month => {
            let month = today.month().next();
            let year = if month == time::Month::January {
                today.year().checked_add(1)
            } else {
                Some(today.year())
            };
            year.and_then(|year| Date::from_calendar_date(year, month, 1).ok())
        }
    };
    let next = next.map_or(now, |date| {
        date.with_time(Time::MIDNIGHT).assume_utc().unix_timestamp()
    });
    u64::try_from(next.saturating_sub(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> i64 {
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
    fn periods_as_they_are_written() {
        assert_eq!(Period::parse("1970-01-02"), Some(Period::Day(1)));
        assert_eq!(Period::parse("1970-03"), Some(Period::Month(1970 * 12 + 3)));
        for text in [
            "",
            "2026",
            "2026-13",
            "2026-02-30",
            "2026-1-01",
            "2026-11-2",
            "+026-11",
            "2026-11-25-1",
            "2026-11-",
        ] {
            assert_eq!(Period::parse(text), None, "{text}");
        }
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

    #[test]
    fn when_the_next_begins() {
        let cases = [
            ("2026-11-22T12:00:00Z", 43_200, 8 * 86_400 + 43_200),
            ("2026-12-31T23:59:59Z", 1, 1),
            ("2028-02-01T00:00:00Z", 86_400, 29 * 86_400),
        ];
        for (now, day, month) in cases {
            assert_eq!(until_next(Window::Day, seconds(now)), day, "{now}");
            assert_eq!(until_next(Window::Month, seconds(now)), month, "{now}");
        }
    }
}
