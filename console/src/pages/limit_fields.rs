//! The fields of limits: those of keys, of groups, and of what teams allow.

use serde_json::{Map, Value};

use super::documents::{put_number, put_text, taken, text_at};
use super::form::Fields;
use super::{FieldProblems, ShownAmount, text};

/// The limits that are whole numbers: their names in a document and their titles.
const NUMBERS: [(&str, &str); 4] = [
    ("requests_per_minute", text!("Requests a minute")),
    ("input_tokens_per_minute", text!("Input tokens a minute")),
    ("output_tokens_per_minute", text!("Output tokens a minute")),
    ("concurrent_requests", text!("Requests at once")),
];
/// The budgets.
const BUDGETS: [(&str, &str); 2] = [
    ("per_day", text!("Budget a day")),
    ("per_month", text!("Budget a month")),
];

/// The names of the fields of whole numbers, and their titles.
pub fn numbers() -> Vec<(String, &'static str)> {
    NUMBERS
        .map(|(name, title)| (format!("limits.{name}"), title))
        .to_vec()
}

/// The names of the fields of budgets, and their titles.
pub fn budgets() -> Vec<(String, &'static str)> {
    BUDGETS
        .map(|(name, title)| (format!("limits.budget.{name}"), title))
        .to_vec()
}

/// Explains amounts of budgets in this currency; empty where it is not known.
pub fn budget_hint(currency: &str) -> String {
    if currency.is_empty() {
        return t!("Days and months are those of UTC.").into_owned();
    }
    t!(
        "Budgets are in {currency}; days and months are those of UTC.",
        currency = currency
    )
}

/// Fields with those of limits.
pub fn with(mut fields: Fields, limits: &Value) -> Fields {
    for (name, _) in NUMBERS {
        let number = limits.get(name).and_then(Value::as_u64);
        let text = number.map(|number| number.to_string());
        fields = fields.with(&format!("limits.{name}"), text.unwrap_or_default());
    }
    let budget = limits.get("budget").unwrap_or(&Value::Null);
    for (name, _) in BUDGETS {
        fields = fields.with(&format!("limits.budget.{name}"), text_at(budget, name));
    }
    fields
}

/// Takes the limits of a form, beside what it has no fields for. A value that is no number is reported at its field.
pub fn put(of: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    let mut limits = taken(of, "limits");
    for (name, _) in NUMBERS {
        let field = format!("limits.{name}");
        put_number(&mut limits, name, &field, fields, problems);
    }
    let mut budget = taken(&mut limits, "budget");
    for (name, _) in BUDGETS {
        let typed = fields.get(&format!("limits.budget.{name}"));
        put_text(&mut budget, name, typed);
    }
    if BUDGETS.iter().any(|(name, _)| budget.contains_key(*name)) {
        limits.insert("budget".to_owned(), Value::Object(budget));
    }
    if !limits.is_empty() {
        of.insert("limits".to_owned(), Value::Object(limits));
    }
}

/// Limits for reading: titles and values.
pub fn shown(limits: &Value) -> Vec<(&'static str, String)> {
    let numbers = NUMBERS.iter().filter_map(|(name, title)| {
        let number = limits.get(name)?.as_i64()?;
        Some((*title, text::number(&number)))
    });
    let budgets = BUDGETS.iter().filter_map(|(name, title)| {
        let amount = limits.get("budget")?.get(name)?.as_str()?;
        Some((*title, ShownAmount::of("", amount).exact))
    });
    numbers.chain(budgets).collect()
}
