//! The span of time that the overview shows.

use std::borrow::Cow;

use time::{Duration, OffsetDateTime};

use crate::timestamp;

/// A span of time up to now that the overview shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverviewRange {
    /// This hour and the one before it.
    Hour,
    /// This hour and the 23 before it.
    Day,
    /// Today and the 6 days before it.
    Week,
    /// Today and the 29 days before it.
    Days30,
    /// The days of this month.
    Month,
}

impl OverviewRange {
    /// All of them, the shortest first.
    pub const ALL: [Self; 5] = [Self::Hour, Self::Day, Self::Week, Self::Days30, Self::Month];

    /// Returns the one of this name, or else 24 hours.
    pub fn named(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|of| of.name() == name).unwrap_or(Self::Day)
    }

    /// Its name, as the address has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Days30 => "30d",
            Self::Month => "month",
        }
    }

    /// The title of its link.
    pub fn title(self) -> Cow<'static, str> {
        match self {
            Self::Hour => t!("Last hour"),
            Self::Day => t!("24 hours"),
            Self::Week => t!("7 days"),
            Self::Days30 => t!("30 days"),
            Self::Month => t!("This month"),
        }
    }

    /// The span above what is of it.
    pub fn said(self) -> Cow<'static, str> {
        match self {
            Self::Hour => t!("In the last hour"),
            Self::Day => t!("In the last 24 hours"),
            Self::Week => t!("In the last 7 days"),
            Self::Days30 => t!("In the last 30 days"),
            Self::Month => t!("In this month"),
        }
    }

    /// Returns the hour or the day with which it begins, as the API has it: `2026-11-24T17`, `2026-11-24`.
    pub fn since(self, now: OffsetDateTime) -> String {
        let ago = |by: Duration, letters: usize| {
            let text = timestamp::text(now.saturating_sub(by));
            text.get(..letters).unwrap_or_default().to_owned()
        };
        match self {
            Self::Hour => ago(Duration::HOUR, HOUR),
            Self::Day => ago(Duration::hours(23), HOUR),
            Self::Week => ago(Duration::days(6), DAY),
            Self::Days30 => ago(Duration::days(29), DAY),
            Self::Month => format!("{}-01", ago(Duration::ZERO, MONTH)),
        }
    }
}

/// The letters of an hour, a day and a month.
const HOUR: usize = 13;
const DAY: usize = 10;
const MONTH: usize = 7;

/// Returns the beginning of an hour or a day as a field for a moment has it: `2026-11-24T17:00`.
pub fn local(since: &str) -> String {
    if since.len() == DAY {
        format!("{since}T00:00")
    } else {
        format!("{since}:00")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_begin_with_whole_hours_and_days() {
        let now = timestamp::parse("2026-12-01T00:17:42Z").expect("a time");
        for (name, want, moment) in [
            ("hour", "2026-11-30T23", "2026-11-30T23:00"),
            ("24h", "2026-11-30T01", "2026-11-30T01:00"),
            ("7d", "2026-11-25", "2026-11-25T00:00"),
            ("30d", "2026-11-02", "2026-11-02T00:00"),
            ("month", "2026-12-01", "2026-12-01T00:00"),
            ("", "2026-11-30T01", "2026-11-30T01:00"),
        ] {
            let since = OverviewRange::named(name).since(now);
            assert_eq!((since.as_str(), local(&since).as_str()), (want, moment));
        }
        for range in OverviewRange::ALL {
            assert_eq!(OverviewRange::named(range.name()), range);
        }
    }
}
