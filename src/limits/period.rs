//! Calendar days and months, UTC: what a budget is for, and what spend is added up by.

use core::fmt;

use time::{Date, Month, OffsetDateTime, Time};

/// The length of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// A calendar day.
    Day,
    /// A calendar month.
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

/// A calendar day or month, by its number. Those of one window are in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Period {
    /// Days since the Unix epoch.
    Day(i32),
    /// Months since December of the year before 0.
    Month(i32),
}

/// The day of the Unix epoch.
const EPOCH: Date = OffsetDateTime::UNIX_EPOCH.date();

/// The day of a moment, in seconds since the Unix epoch.
pub(super) fn day(seconds: i64) -> Date {
    let moment = OffsetDateTime::from_unix_timestamp(seconds);
    moment.map_or(EPOCH, OffsetDateTime::date)
}

impl Period {
    /// The period of a moment, in seconds since the Unix epoch.
    pub fn at(window: Window, seconds: i64) -> Self {
        Self::of(window, day(seconds))
    }

    /// The period of a day.
    pub fn of(window: Window, day: Date) -> Self {
        match window {
            Window::Day => Self::Day(day.to_julian_day().saturating_sub(EPOCH.to_julian_day())),
            Window::Month => {
                let years = day.year().saturating_mul(12);
                Self::Month(years.saturating_add(u8::from(day.month()).into()))
            }
        }
    }

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
        let window = day.map_or(Window::Month, |_| Window::Day);
        let day = u8::try_from(day.unwrap_or(Some(1))?).ok()?;
        let date = Date::from_calendar_date(year.into(), month.try_into().ok()?, day).ok()?;
        Some(Self::of(window, date))
    }

    /// Its number.
    pub(super) fn number(self) -> i32 {
        let (Self::Day(number) | Self::Month(number)) = self;
        number
    }

    /// Its length.
    pub fn window(self) -> Window {
        match self {
            Self::Day(_) => Window::Day,
            Self::Month(_) => Window::Month,
        }
    }

    /// The period so many before it, or after it.
    #[must_use]
    pub fn plus(self, count: i32) -> Self {
        match self {
            Self::Day(number) => Self::Day(number.saturating_add(count)),
            Self::Month(number) => Self::Month(number.saturating_add(count)),
        }
    }

    /// Its first day; that of the epoch beyond the years of the calendar.
    pub fn first_day(self) -> Date {
        let day = match self {
            Self::Day(number) => {
                Date::from_julian_day(EPOCH.to_julian_day().saturating_add(number)).ok()
            }
            Self::Month(number) => {
                let months = number.saturating_sub(1);
                let month = u8::try_from(months.rem_euclid(12)).unwrap_or_default();
                let month = Month::January.nth_next(month);
                Date::from_calendar_date(months.div_euclid(12), month, 1).ok()
            }
        };
        day.unwrap_or(EPOCH)
    }

    /// The moment at which the next one begins, in seconds since the Unix epoch.
    pub fn ends_at(self) -> i64 {
        let next = self.plus(1).first_day().with_time(Time::MIDNIGHT);
        next.assume_utc().unix_timestamp()
    }
}

/// As [`Period::parse`] reads it.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.first_day();
        match self {
            Self::Day(_) => day.fmt(f),
            Self::Month(_) => write!(f, "{:04}-{:02}", day.year(), u8::from(day.month())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::format_description::well_known::Rfc3339;

    use super::*;

    fn seconds(text: &str) -> i64 {
        OffsetDateTime::parse(text, &Rfc3339)
            .unwrap()
            .unix_timestamp()
    }

    #[test]
    fn periods_as_they_are_written() {
        for (text, want) in [
            ("1970-01-02", Period::Day(1)),
            ("1969-12-31", Period::Day(-1)),
            ("1970-03", Period::Month(1970 * 12 + 3)),
            ("1999-12", Period::Month(1999 * 12 + 12)),
            ("0000-01", Period::Month(1)),
        ] {
            assert_eq!(Period::parse(text), Some(want), "{text}");
            assert_eq!(want.to_string(), text);
        }
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
    fn the_days_of_periods() {
        for (period, first, after) in [
            ("2026-11-24", "2026-11-24", "2026-11-25"),
            ("2026-12-31", "2026-12-31", "2027-01-01"),
            ("2026-11", "2026-11-01", "2026-12-01"),
            ("2026-12", "2026-12-01", "2027-01-01"),
            ("2028-02", "2028-02-01", "2028-03-01"),
        ] {
            let period = Period::parse(period).unwrap();
            assert_eq!(period.first_day().to_string(), first);
            assert_eq!(period.plus(1).first_day().to_string(), after);
            assert_eq!(period.plus(1).plus(-1), period);
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
            let now = seconds(now);
            let left = Window::ALL.map(|window| Period::at(window, now).ends_at() - now);
            assert_eq!(left, [day, month], "{now}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_is_within_its_period(now in 0..253_402_300_799_i64) {
            for window in Window::ALL {
                let period = Period::at(window, now);
                prop_assert!(period.plus(-1).ends_at() <= now && now < period.ends_at());
                prop_assert_eq!(Period::parse(&period.to_string()), Some(period));
            }
        }
    }
}
