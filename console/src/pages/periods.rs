//! The hours, days and months of a chart.

use time::{Duration, OffsetDateTime};

use crate::timestamp;

/// The bars that a chart may have.
const MOST_BARS: usize = 400;

/// Returns the length of the periods of a chart over so many hours, as the API's column: `hour`, `day` or `month`.
pub fn length(hours: i64) -> &'static str {
    match hours {
        ..=48 => "hour",
        49..=1488 => "day",
        _ => "month",
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
pub fn between(from: OffsetDateTime, until: OffsetDateTime, column: &str) -> Vec<String> {
    let (length, step) = match column {
        "hour" => (13, Duration::HOUR),
        "day" => (10, Duration::DAY),
        _ => (7, Duration::DAY),
    };
    let mut all: Vec<String> = Vec::new();
    let mut at = from;
    while at < until && all.len() < MOST_BARS {
        let text = timestamp::text(at);
        let period = text.get(..length).unwrap_or_default();
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
                "day",
                "2026-11-29 2026-11-30 2026-12-01",
            ),
            (
                "2026-11-29T22",
                "2026-11-30T01",
                "hour",
                "2026-11-29T22 2026-11-29T23 2026-11-30T00",
            ),
            ("2026-11", "2027-02-01", "month", "2026-11 2026-12 2027-01"),
            ("2026-11-29", "2026-11-29", "day", ""),
        ] {
            let (first, end) = (at(from).expect("a time"), at(until).expect("a time"));
            assert_eq!(between(first, end, column).join(" "), want, "{from}");
        }
        for (hours, want) in [
            (24, "hour"),
            (48, "hour"),
            (49, "day"),
            (744, "day"),
            (1489, "month"),
        ] {
            assert_eq!(length(hours), want, "{hours}");
        }
    }
}
