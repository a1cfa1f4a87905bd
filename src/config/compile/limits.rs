//! The limits of a key or group.

use super::fields;
use crate::config::document::{BudgetDocument, LimitsDocument, SpentDocument};
use crate::config::error::Problems;
use crate::limits::budget::{Budget, SpentBy};
use crate::limits::{Limits, Rate};
use crate::money::Amount;

/// Compiles limits; `None` where they limit nothing.
pub(in crate::config) fn compile(
    document: &LimitsDocument,
    path: &str,
    problems: &mut Problems,
) -> Option<Box<Limits>> {
    let before = problems.0.len();
    let mut limits = Limits::default();
    let rates = [
        (Rate::Requests, document.requests_per_minute),
        (Rate::InputTokens, document.input_tokens_per_minute),
        (Rate::OutputTokens, document.output_tokens_per_minute),
    ];
    for (rate, written) in rates {
        let field = || format!("{path}.{}_per_minute", rate.name());
        limits.set_per_minute(rate, count(written, field, problems));
    }
    let field = || format!("{path}.concurrent_requests");
    limits.concurrent_requests = count(document.concurrent_requests, field, problems);
    if let Some(document) = &document.budget {
        limits.budget = budget(document, &format!("{path}.budget"), problems);
    }
    if limits.is_unlimited() && problems.0.len() == before {
        problems.push(path, "limits nothing: leave it out");
    }
    (!limits.is_unlimited()).then(|| Box::new(limits))
}

/// A number of things.
fn count(
    written: Option<u32>,
    path: impl FnOnce() -> String,
    problems: &mut Problems,
) -> Option<u32> {
    let count = written?;
    if !(1..=Limits::MAX).contains(&count) {
        problems.push(
            path(),
            "must be between 1 and 1000000000 (leave it out for no limit; a key that may do nothing is disabled)",
        );
    }
    Some(count)
}

fn budget(document: &BudgetDocument, path: &str, problems: &mut Problems) -> Budget {
    let mut limit = |written: &Option<String>, field: &str| {
        let amount = amount(written.as_deref()?, &format!("{path}.{field}"), problems)?;
        if amount == Amount::ZERO {
            let reason = "must be more than 0 (a key that may do nothing is disabled)";
            problems.push(format!("{path}.{field}"), reason);
        }
        Some(amount)
    };
    let budget = Budget {
        per_day: limit(&document.per_day, "per_day"),
        per_month: limit(&document.per_month, "per_month"),
        spent: None,
    };
    if !document.is_set() {
        problems.push(path, "needs per_day or per_month");
    }
    let spent = document.spent.as_ref();
    Budget {
        spent: spent.and_then(|spent| spent_by(spent, &format!("{path}.spent"), problems)),
        ..budget
    }
}

fn spent_by(document: &SpentDocument, path: &str, problems: &mut Problems) -> Option<SpentBy> {
    let at = document.at.as_deref();
    let at = at.map_or(Err("is missing"), fields::checked_timestamp);
    let at = at.map_err(|reason| problems.push(format!("{path}.at"), reason));
    let mut sum = |written: &Option<String>, field: &str| match written {
        Some(text) => amount(text, &format!("{path}.{field}"), problems),
        None => Some(Amount::ZERO),
    };
    let in_day = sum(&document.in_day, "in_day");
    let in_month = sum(&document.in_month, "in_month");
    let (in_day, in_month) = (in_day?, in_month?);
    if document.in_month.is_some() && in_month < in_day {
        let reason = "is less than in_day, which is part of it";
        problems.push(format!("{path}.in_month"), reason);
    }
    Some(SpentBy {
        at: at.ok()?,
        in_day,
        in_month: in_month.max(in_day),
    })
}

fn amount(text: &str, path: &str, problems: &mut Problems) -> Option<Amount> {
    Amount::parse(text)
        .map_err(|reason| problems.push(path, reason))
        .ok()
}
