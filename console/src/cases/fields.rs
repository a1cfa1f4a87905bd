//! Fields that may be absent, null or given, and parameters that are moments.

use serde::{Deserialize, Deserializer};
use trilane::config::document::LimitsDocument;

use super::problem::ApiProblem;
use crate::timestamp;

/// Reads a field that is there: `null` takes a value away, where an absent field leaves it.
///
/// # Errors
/// Those of the value.
pub fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A moment that a parameter names, in microseconds since 1970.
///
/// # Errors
/// It is no RFC 3339 time.
pub fn microseconds(name: &str, text: Option<&String>) -> Result<Option<i64>, ApiProblem> {
    let read = |text: &String| {
        let time = timestamp::parse(text)
            .ok_or_else(|| ApiProblem::bad(t!("{name} must be an RFC 3339 time", name = name)))?;
        Ok(time.unix_timestamp().saturating_mul(1_000_000))
    };
    text.map(read).transpose()
}

/// An amount as it is stored: without a sign of dollars, which the rules of the database do not know.
pub fn without_sign(amount: Option<String>) -> Option<String> {
    amount.map(|text| text.strip_prefix('$').map(str::to_owned).unwrap_or(text))
}

/// Limits as they are stored: their amounts [`without_sign`].
pub fn without_signs(mut limits: LimitsDocument) -> LimitsDocument {
    if let Some(budget) = &mut limits.budget {
        let spent = budget.spent.as_mut();
        let spent = spent.map(|spent| [&mut spent.in_day, &mut spent.in_month]);
        let amounts = [&mut budget.per_day, &mut budget.per_month].into_iter();
        for amount in amounts.chain(spent.into_iter().flatten()) {
            *amount = without_sign(amount.take());
        }
    }
    limits
}

/// The message for a name that [`is_name`] rejects.
pub const NAME: &str = text!("must be 1 to 128 bytes without control characters");

/// Whether this is a name for people: 1 to 128 bytes without control characters.
pub fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
}
