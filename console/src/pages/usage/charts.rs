//! The charts of usage, each of which answers one question.

use time::{Duration, OffsetDateTime};
use trilane::money::Amount;

use crate::cases::hour_counts::CountPeriod;
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::cases::{Caller, ConsoleState};
use crate::pages::PageProblem;
use crate::pages::chart::{self, Chart, Unit, Values};
use crate::pages::ledger_words::outcome;
use crate::pages::periods::{self, at};
use crate::timestamp;

/// The sums that a chart is made of. Of more there is no chart.
const MOST: u32 = 20_000;
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
    let end = now.checked_add(Duration::SECOND).unwrap_or(now);
    let until = asked.until.as_deref().and_then(at);
    let until = until.map_or(end, |until| until.min(end));
    let mut since = asked.since.as_deref().and_then(at);
    let hours = |since: OffsetDateTime| {
        let seconds = until
            .unix_timestamp()
            .saturating_sub(since.unix_timestamp());
        seconds.div_euclid(3600)
    };
    let length = since.map_or(CountPeriod::Month, |since| periods::length(hours(since)));
    let column = length.name();
    let name = periods::name(length);
    let mut charts = Vec::new();
    for series in ["model", "outcome", "account"] {
        let of_series = UsageParams {
            by: format!("{column},{series}"),
            ..asked.clone()
        };
        let Some(rows) = usage::all(state, caller, &of_series, MOST).await? else {
            continue;
        };
        since = since.or_else(|| at(rows.first()?.values.get(column)?));
        let Some(since) = since else {
            continue;
        };
        let periods = periods::between(since, until, length);
        if series == "model" {
            let mut currencies: Vec<&str> = rows.iter().map(|row| row.currency.as_str()).collect();
            currencies.sort_unstable();
            currencies.dedup();
            // A model has the same colour in each of these charts.
            let mut first: Option<Values> = None;
            for currency in currencies
                .into_iter()
                .filter(|currency| !currency.is_empty())
            {
                let values = values(&rows, column, series, ChartMeasure::Charges(currency));
                let unit = Unit::Money(currency.to_owned());
                let title = t!("Spend by {period} and model", period = name);
                charts.extend(drawn(
                    title,
                    &unit,
                    &periods,
                    values.as_ref(),
                    first.as_ref(),
                ));
                first = first.or(values);
            }
            let values = values(&rows, column, series, ChartMeasure::Tokens);
            let title = t!("Tokens by {period} and model", period = name);
            charts.extend(drawn(
                title,
                &Unit::Count,
                &periods,
                values.as_ref(),
                first.as_ref(),
            ));
        } else {
            let title = match series {
                "outcome" => t!("Requests by {period} and how they ended", period = name),
                _ => t!("Requests by {period} and account", period = name),
            };
            let values = values(&rows, column, series, ChartMeasure::Requests);
            charts.extend(drawn(title, &Unit::Count, &periods, values.as_ref(), None));
        }
    }
    Ok(charts)
}

/// A charge that cannot be read is not drawn.
fn drawn(
    title: String,
    unit: &Unit,
    periods: &[String],
    values: Option<&Values>,
    first: Option<&Values>,
) -> Option<Chart> {
    let values = values?;
    match first {
        Some(first) => chart::stacked_as(title, unit, periods, values, first),
        None => chart::stacked(title, unit, periods, values),
    }
}

/// The measure that a chart sums.
#[derive(Clone, Copy)]
enum ChartMeasure<'a> {
    /// Charges in a currency.
    Charges(&'a str),
    /// Requests.
    Requests,
    /// Input and output tokens.
    Tokens,
}

fn values(
    rows: &[UsageView],
    column: &str,
    series: &str,
    counted: ChartMeasure<'_>,
) -> Option<Values> {
    let mut values = Values::new();
    for row in rows {
        let value = match counted {
            ChartMeasure::Charges(currency) if currency != row.currency => continue,
            ChartMeasure::Charges(_) => Amount::read(&row.charge).ok()?,
            ChartMeasure::Requests => chart::counted(row.count("requests")),
            ChartMeasure::Tokens => {
                chart::counted(row.count("input").saturating_add(row.count("output")))
            }
        };
        let text = |name: &str| row.values.get(name).cloned().unwrap_or_default();
        let name = match (series, text(series)) {
            ("outcome", name) => outcome(&name).into_owned(),
            (_, name) => name,
        };
        let sum = values.entry((text(column), name)).or_default();
        sum.add(value);
    }
    Some(values)
}
