//! Prices one by one: each with its kind, tier or call.

use std::collections::BTreeMap;

use serde_json::Value;
use trilane::config::document::PricesDocument;

/// Prices by what they are of: `input`, `per_call.web_search`, `tiers.flex.output`.
pub type PriceLines = BTreeMap<String, String>;

/// The prices of a document's field `prices`.
pub fn lines(prices: &PricesDocument) -> PriceLines {
    let mut lines = PriceLines::new();
    // Texts only, into memory: it cannot fail.
    add(
        "",
        &serde_json::to_value(prices).unwrap_or_default(),
        &mut lines,
    );
    lines
}

fn add(path: &str, value: &Value, lines: &mut PriceLines) {
    match value {
        Value::String(price) => {
            lines.insert(path.to_owned(), price.clone());
        }
        Value::Object(members) => {
            for (name, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                add(&format!("{path}{dot}{name}"), value, lines);
            }
        }
        _ => {}
    }
}

/// The prices of input, cached input and output, for people.
pub fn one_line(prices: &PricesDocument) -> String {
    let of = [
        ("input", &prices.input),
        ("cached", &prices.cache_read),
        ("output", &prices.output),
    ];
    let each = of
        .into_iter()
        .filter_map(|(of, price)| Some(format!("{of} {}", price.as_ref()?)));
    each.collect::<Vec<_>>().join(", ")
}
