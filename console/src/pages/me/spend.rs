//! The spend of a month, by day and by model.

use trilane::limits::Window;
use trilane::money::Amount;

use crate::cases::ConsoleState;
use crate::cases::hour_counts::CountPeriod;
use crate::cases::usage::UsageView;
use crate::pages::chart::{self, Chart, Unit, Values};
use crate::pages::keys::{ModelUse, by_model_only};
use crate::pages::periods;

/// The spend of a month.
pub struct SpendShown {
    /// The month: `2026-11`.
    pub month: String,
    /// The spend by day, a chart for each currency; none of a single day.
    pub charts: Vec<Chart>,
    /// The usage of each model.
    pub models: Vec<ModelUse>,
}

impl SpendShown {
    /// Describes this month's usage, which is given by model and day.
    pub fn of(state: &ConsoleState, used: &[UsageView]) -> Self {
        let month = state.period(Window::Month);
        let first = periods::at(&month.first_day().to_string());
        let days = first.map(|first| periods::between(first, state.time(), CountPeriod::Day));
        let days = days.unwrap_or_default();
        let mut currencies: Vec<&str> = used.iter().map(|of| of.currency.as_str()).collect();
        currencies.sort_unstable();
        currencies.dedup();
        currencies.retain(|currency| !currency.is_empty());
        let charts = currencies
            .into_iter()
            .filter_map(|currency| drawn(&days, used, currency));
        Self {
            month: month.to_string(),
            charts: charts.collect(),
            models: by_model_only(used),
        }
    }
}

/// Draws the charges in a currency; `None`: they are of one day at most, or one cannot be read.
fn drawn(days: &[String], used: &[UsageView], currency: &str) -> Option<Chart> {
    let mut values = Values::new();
    for of in used.iter().filter(|of| of.currency == currency) {
        let value = |name: &str| of.values.get(name).cloned().unwrap_or_default();
        let sum = values.entry((value("day"), value("model"))).or_default();
        sum.add(Amount::read(&of.charge).ok()?);
    }
    let unit = Unit::Money(currency.to_owned());
    let chart = chart::stacked(t!("Spend by day and model"), &unit, days, &values)?;
    let drawn = chart.bars.iter().filter(|bar| !bar.blocks.is_empty());
    (drawn.count() > 1).then_some(chart)
}
