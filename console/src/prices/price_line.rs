//! Prices one by one: each with its kind, tier or call.

use std::collections::BTreeMap;

use serde_json::Value;
use trilane::config::document::PricesDocument;

/// Prices by what they are of: `input`, `per_call.web_search`, `tiers.flex.output`, `above.272000.input`.
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
        // Prices above lengths of the input, or at times.
        Value::Array(sets) => {
            for set in sets {
                if let Some(prices) = set.get("prices") {
                    add(&format!("{path}.{}", condition(set)), prices, lines);
                }
            }
        }
        _ => {}
    }
}

/// The condition of a set of prices, as one word: `272000`, or `mon,tue/16:30-00:30`.
fn condition(set: &Value) -> String {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(all) => {
            let texts: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            Some(texts.join(","))
        }
        _ => None,
    };
    let names = ["input_tokens", "from", "days", "hours", "at"].into_iter();
    let words = names.filter_map(|name| word(set.get(name)?));
    words.collect::<Vec<_>>().join("/")
}

/// The prices of input, cached input and output, for people, with those above lengths of the input.
pub fn one_line(prices: &PricesDocument) -> String {
    let mut line = three(prices);
    for set in prices.above.iter().flatten() {
        if let (Some(tokens), Some(prices)) = (set.input_tokens, &set.prices) {
            line.push_str(&t!(
                "; above {tokens} input tokens: {prices}",
                tokens = tokens,
                prices = three(prices)
            ));
        }
    }
    line
}

fn three(prices: &PricesDocument) -> String {
    let of = [
        (t!("input"), &prices.input),
        (t!("cached"), &prices.cache_read),
        (t!("output"), &prices.output),
    ];
    let each = of
        .into_iter()
        .filter_map(|(of, price)| Some(format!("{of} {}", price.as_ref()?)));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_price_has_a_name() {
        let text = r#"{"input": "2", "output": "10", "per_call": {"web_search": "0.01"},
            "times": [{"from": "2026-12-01", "days": ["mon", "sun"], "hours": ["01:00-04:00"], "at": "end", "prices": {"input": "7"}}],
            "above": [{"input_tokens": 272000, "prices": {"input": "4", "output": "15"}}],
            "tiers": {"flex": {"input": "1", "output": "5", "above": [{"input_tokens": 272000, "prices": {"input": "2", "output": "7.5"}}]}}}"#;
        let prices = serde_json::from_str(text).unwrap();
        let found: Vec<String> = lines(&prices)
            .into_iter()
            .map(|(of, price)| format!("{of} {price}"))
            .collect();
        let want = [
            "above.272000.input 4",
            "above.272000.output 15",
            "input 2",
            "output 10",
            "per_call.web_search 0.01",
            "tiers.flex.above.272000.input 2",
            "tiers.flex.above.272000.output 7.5",
            "tiers.flex.input 1",
            "tiers.flex.output 5",
            "times.2026-12-01/mon,sun/01:00-04:00/end.input 7",
        ];
        assert_eq!(found, want);
        let line = "input 2, output 10; above 272000 input tokens: input 4, output 15";
        assert_eq!(one_line(&prices), line);
    }
}
