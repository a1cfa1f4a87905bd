//! The charts of usage, each of which answers one question.

use time::{Duration, OffsetDateTime};

use super::all;
use crate::api::usage::{UsageParams, UsageView};
use crate::api::{Caller, ConsoleState};
use crate::pages::PageProblem;
use crate::pages::chart::{self, Chart, Unit, Values};
use crate::timestamp;

/// The sums that a chart is made of. Of more there is no chart.
const MOST: usize = 20_000;
/// The bars that a chart may have.
const MOST_BARS: usize = 400;

/// How long a period is: the API's column.
fn period(hours: i64) -> &'static str {
    match hours {
        ..=48 => "hour",
        49..=1488 => "day",
        _ => "month",
    }
}

fn at(hour: &str) -> Option<OffsetDateTime> {
    let whole = match hour.len() {
        7 => format!("{hour}-01T00"),
        10 => format!("{hour}T00"),
        _ => hour.to_owned(),
    };
    timestamp::parse(&format!("{whole}:00:00Z"))
}

/// All periods from one moment to before another, as the API writes them.
fn periods(from: OffsetDateTime, until: OffsetDateTime, column: &str) -> Vec<String> {
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

/// The charts of what was asked for. There are none of too much.
pub async fn charts(
    state: &ConsoleState,
    caller: &Caller,
    asked: &UsageParams,
    now: &str,
) -> Result<Vec<Chart>, PageProblem> {
    let Some(now) = timestamp::parse(now) else {
        return Ok(Vec::new());
    };
    // The hour that has begun is shown, and none to come.
    let end = now.checked_add(Duration::HOUR).unwrap_or(now);
    let until = asked.until.as_deref().and_then(at);
    let until = until.map_or(end, |until| until.min(end));
    let mut since = asked.since.as_deref().and_then(at);
    let hours = |since: OffsetDateTime| {
        let seconds = until
            .unix_timestamp()
            .saturating_sub(since.unix_timestamp());
        seconds.div_euclid(3600)
    };
    let column = since.map_or("month", |since| period(hours(since)));
    let mut charts = Vec::new();
    for series in ["model", "outcome", "account"] {
        let of_series = UsageParams {
            by: format!("{column},{series}"),
            ..asked.clone()
        };
        let Some(rows) = all(state, caller, &of_series, MOST).await? else {
            continue;
        };
        since = since.or_else(|| at(rows.first()?.values.get(column)?));
        let Some(since) = since else {
            continue;
        };
        let periods = periods(since, until, column);
        if series == "model" {
            let mut currencies: Vec<&str> = rows.iter().map(|row| row.currency.as_str()).collect();
            currencies.sort_unstable();
            currencies.dedup();
            for currency in currencies
                .into_iter()
                .filter(|currency| !currency.is_empty())
            {
                let values = values(&rows, column, series, Some(currency));
                let unit = Unit::Money(currency.to_owned());
                let title = format!("Spend by {column} and model");
                charts.extend(drawn(title, &unit, &periods, values));
            }
        } else {
            let title = match series {
                "outcome" => format!("Requests by {column} and how they ended"),
                _ => format!("Requests by {column} and account"),
            };
            let values = values(&rows, column, series, None);
            charts.extend(drawn(title, &Unit::Count, &periods, values));
        }
    }
    Ok(charts)
}

/// A sum that cannot be exact is not drawn.
fn drawn(title: String, unit: &Unit, periods: &[String], values: Option<Values>) -> Option<Chart> {
    chart::stacked(title, unit, periods, &values?).ok()?
}

/// Charges in a currency, or numbers of requests.
fn values(
    rows: &[UsageView],
    column: &str,
    series: &str,
    currency: Option<&str>,
) -> Option<Values> {
    let mut values = Values::new();
    for row in rows {
        let value = match currency {
            Some(currency) if currency != row.currency => continue,
            Some(_) => row.charge.parse().ok()?,
            None => row.count("requests").into(),
        };
        let text = |name: &str| row.values.get(name).cloned().unwrap_or_default();
        let sum = values.entry((text(column), text(series))).or_default();
        sum.add(value).ok()?;
    }
    Some(values)
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
            assert_eq!(periods(first, end, column).join(" "), want, "{from}");
        }
        for (hours, want) in [
            (24, "hour"),
            (48, "hour"),
            (49, "day"),
            (744, "day"),
            (1489, "month"),
        ] {
            assert_eq!(period(hours), want, "{hours}");
        }
    }
}
