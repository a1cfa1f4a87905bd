//! Limits and budgets, on the command line and in a document.

use core::convert::identity;

use trilane::config::document::{BudgetDocument, LimitsDocument};
use trilane::limits::Limits;
use trilane::money::Amount;

use trilane_console::json_line::json_line;

/// Limits and budgets; those that are not given stay.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LimitArgs {
    /// Requests a minute
    #[arg(long, value_name = "N", visible_alias = "requests-per-minute", value_parser = number)]
    pub rpm: Option<LimitChange<u32>>,

    /// Input tokens a minute
    #[arg(long, value_name = "N", visible_alias = "input-tokens-per-minute", value_parser = number)]
    pub input_tpm: Option<LimitChange<u32>>,

    /// Output tokens a minute
    #[arg(long, value_name = "N", visible_alias = "output-tokens-per-minute", value_parser = number)]
    pub output_tpm: Option<LimitChange<u32>>,

    /// Concurrent requests
    #[arg(long, value_name = "N", visible_alias = "concurrent-requests", value_parser = number)]
    pub concurrent: Option<LimitChange<u32>>,

    /// Money a day (UTC), in the currency of the prices
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub budget_day: Option<LimitChange<String>>,

    /// Money a month (UTC)
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub budget_month: Option<LimitChange<String>>,
}

/// A limit's new value, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitChange<T>(Option<T>);

fn number(text: &str) -> Result<LimitChange<u32>, String> {
    if text == "none" {
        return Ok(LimitChange(None));
    }
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    let number = number.filter(|number| (1..=Limits::MAX).contains(number));
    number
        .map(|number| LimitChange(Some(number)))
        .ok_or_else(|| format!("expected a number from 1 to {}, or none", Limits::MAX))
}

fn amount(text: &str) -> Result<LimitChange<String>, String> {
    if text == "none" {
        return Ok(LimitChange(None));
    }
    match Amount::parse(text) {
        Ok(Amount::ZERO) => {
            Err("must be more than 0 (a key that may do nothing is disabled)".to_owned())
        }
        Ok(_) => Ok(LimitChange(Some(text.to_owned()))),
        Err(reason) => Err(format!("{reason}, or none")),
    }
}

impl LimitArgs {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        let given = [
            self.rpm.is_some(),
            self.input_tpm.is_some(),
            self.output_tpm.is_some(),
            self.concurrent.is_some(),
            self.budget_day.is_some(),
            self.budget_month.is_some(),
        ];
        !given.into_iter().any(identity)
    }

    /// Whether a budget is given.
    pub fn has_budget(&self) -> bool {
        let budgets = [&self.budget_day, &self.budget_month];
        let amounts = budgets.into_iter().flatten();
        amounts
            .into_iter()
            .any(|LimitChange(amount)| amount.is_some())
    }

    /// The same with a budget a day.
    pub fn with_budget_of_day(self, amount: String) -> Self {
        Self {
            budget_day: Some(LimitChange(Some(amount))),
            ..self
        }
    }

    /// The new limits of a key with these limits; `None` for no limits.
    pub fn apply(&self, limits: Option<&LimitsDocument>) -> Option<LimitsDocument> {
        let mut limits = limits.cloned().unwrap_or_default();
        for (to, place) in [
            (&self.rpm, &mut limits.requests_per_minute),
            (&self.input_tpm, &mut limits.input_tokens_per_minute),
            (&self.output_tpm, &mut limits.output_tokens_per_minute),
            (&self.concurrent, &mut limits.concurrent_requests),
        ] {
            put(to, place);
        }
        let mut budget = limits.budget.take().unwrap_or_default();
        put(&self.budget_day, &mut budget.per_day);
        put(&self.budget_month, &mut budget.per_month);
        limits.budget = budget.is_set().then_some(budget);
        (!is_unlimited(&limits)).then_some(limits)
    }
}

fn put<T: Clone>(to: &Option<LimitChange<T>>, place: &mut Option<T>) {
    if let Some(LimitChange(to)) = to {
        place.clone_from(to);
    }
}

fn is_unlimited(limits: &LimitsDocument) -> bool {
    let counts = [
        limits.requests_per_minute,
        limits.input_tokens_per_minute,
        limits.output_tokens_per_minute,
        limits.concurrent_requests,
    ];
    counts.iter().all(Option::is_none) && limits.budget.is_none()
}

/// Limits for people: `60 rpm, 8 concurrent`.
pub fn shown(limits: &LimitsDocument) -> String {
    let shown = [
        (limits.requests_per_minute, "rpm"),
        (limits.input_tokens_per_minute, "input tpm"),
        (limits.output_tokens_per_minute, "output tpm"),
        (limits.concurrent_requests, "concurrent"),
    ];
    let shown = shown
        .iter()
        .filter_map(|(count, unit)| Some(format!("{} {unit}", (*count)?)));
    shown.collect::<Vec<_>>().join(", ")
}

/// A budget for people: `20 a day, 200 a month`.
pub fn shown_budget(budget: &BudgetDocument) -> String {
    let shown = [(&budget.per_day, "a day"), (&budget.per_month, "a month")];
    let shown = shown
        .iter()
        .filter_map(|(amount, window)| Some(format!("{} {window}", amount.as_deref()?)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Limits as they are written into a document, in one line.
pub fn written(limits: &LimitsDocument, compact: bool) -> String {
    if compact {
        // Texts and numbers, into memory: it cannot fail.
        serde_json::to_string(limits).unwrap_or_default()
    } else {
        json_line(limits)
    }
}
