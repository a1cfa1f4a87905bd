//! The hours, days and months of a chart.

use std::borrow::Cow;

use time::{Duration, OffsetDateTime};

use crate::cases::hour_counts::CountPeriod;
use crate::timestamp;

/// The bars that a chart may have.
const MOST_BARS: usize = 400;

/// Returns the length of the periods of a chart over so many hours.
pub fn length(hours: i64) -> CountPeriod {
    match hours {
        ..=48 => CountPeriod::Hour,
        49..=1488 => CountPeriod::Day,
        _ => CountPeriod::Month,
    }
}

/// Its name in a sentence.
pub fn name(of: CountPeriod) -> Cow<'static, str> {
    match of {
        CountPeriod::Hour => t!("hour"),
        CountPeriod::Day => t!("day"),
        CountPeriod::Month | CountPeriod::All => t!("month"),
    }
}

/// Returns the start of a month, a day or an hour.
pub fn at(hour: &str) -> Option<OffsetDateTime> {
    let whole = match hour.len() {
        7 => format!("{hour}-01T00"),
        10 => format!("{hour}T00"),
        _ => hour.to_owned(),
    };
    timestamp::parse(&format!("{whole}:00:00Z"))
}

/// All periods from one moment to before another, as the API writes them.
pub fn between(from: OffsetDateTime, until: OffsetDateTime, length: CountPeriod) -> Vec<String> {
    let step = match length {
        CountPeriod::Hour => Duration::HOUR,
        _ => Duration::DAY,
    };
    let mut all: Vec<String> = Vec::new();
    let mut at = from;
    while at < until && all.len() < MOST_BARS {
        let text = timestamp::text(at);
        let period = text.get(..length.letters().into()).unwrap_or_default();
        if all.last().is_none_or(|last| last != period) {
            all.push(period.to_owned());
        }
        let Some(next) = at.checked_add(step) else {
            break;
        };
        at = next;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_periods_there_are() {
        for (from, until, column, want) in [
            (
                "2026-11-29",
                "2026-12-02",
                CountPeriod::Day,
                "2026-11-29 2026-11-30 2026-12-01",
            ),
            (
                "2026-11-29T22",
                "2026-11-30T01",
                CountPeriod::Hour,
                "2026-11-29T22 2026-11-29T23 2026-11-30T00",
            ),
            (
                "2026-11",
                "2027-02-01",
                CountPeriod::Month,
                "2026-11 2026-12 2027-01",
            ),
            ("2026-11-29", "2026-11-29", CountPeriod::Day, ""),
        ] {
            let (first, end) = (at(from).expect("a time"), at(until).expect("a time"));
            assert_eq!(between(first, end, column).join(" "), want, "{from}");
        }
        for (hours, want) in [
            (24, CountPeriod::Hour),
            (48, CountPeriod::Hour),
            (49, CountPeriod::Day),
            (744, CountPeriod::Day),
            (1489, CountPeriod::Month),
        ] {
            assert_eq!(length(hours), want, "{hours}");
        }
    }
}
