//! A price that the operator knows: `MODEL=INPUT/CACHED/OUTPUT`, and those of long prompts behind it.

use trilane::config::document::{AboveDocument, PricesDocument};
use trilane::money::Price;

/// The form of the prices of a model, for people.
const FORM: &str = "INPUT/CACHED/OUTPUT, such as 1.25/0.125/10. CACHED is the price of input that is read from a cache: \
    where the vendor has none, write that of input again. Other prices for requests whose whole input is longer follow as \
    +TOKENS:INPUT/CACHED/OUTPUT, such as 1.25/0.125/10+200000:2.5/0.25/15";

/// The prices of a model, in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPrice {
    /// The model's id, or the vendor's name of it.
    pub model: String,
    /// The prices of input, cached input and output.
    pub prices: PricesDocument,
}

impl OwnPrice {
    /// Reads `MODEL=INPUT/CACHED/OUTPUT`.
    ///
    /// # Errors
    /// A description of the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (model, prices) = text
            .split_once('=')
            .ok_or_else(|| format!("expected MODEL={FORM}"))?;
        Self::of(model, prices)
    }

    /// Reads `INPUT/CACHED/OUTPUT` of a model, with `+TOKENS:INPUT/CACHED/OUTPUT` for each length of the input above which
    /// it has other prices.
    ///
    /// # Errors
    /// A description of the expected form.
    pub fn of(model: &str, prices: &str) -> Result<Self, String> {
        let mut sets = prices.split('+');
        let mut prices = three(sets.next().unwrap_or_default())?;
        let above = sets.map(|set| {
            let (tokens, set) = set
                .split_once(':')
                .ok_or_else(|| format!("expected {FORM}"))?;
            let tokens = tokens.trim();
            let input_tokens = tokens.parse::<u64>();
            Ok(AboveDocument {
                input_tokens: Some(input_tokens.map_err(|_| {
                    format!("the number of tokens {tokens} must be a whole number")
                })?),
                prices: Some(three(set)?),
            })
        });
        let above = above.collect::<Result<Vec<_>, String>>()?;
        prices.above = (!above.is_empty()).then_some(above);
        Ok(Self {
            model: model.to_owned(),
            prices,
        })
    }
}

/// Reads `INPUT/CACHED/OUTPUT`.
fn three(prices: &str) -> Result<PricesDocument, String> {
    let parts: Vec<&str> = prices.split('/').collect();
    let [input, cached, output] = parts.as_slice() else {
        return Err(format!("expected {FORM}"));
    };
    let price = |text: &str| {
        let text = text.trim();
        let told = |reason| format!("the price {text} {reason}");
        Price::parse(text)
            .map(|_| Some(text.to_owned()))
            .map_err(told)
    };
    Ok(PricesDocument {
        input: price(input)?,
        cache_read: price(cached)?,
        output: price(output)?,
        ..PricesDocument::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_line::json_line;

    #[test]
    fn forms() {
        let own = OwnPrice::parse("org/m:free=0.5/0.05/ 1.25").unwrap();
        let prices = &own.prices;
        let read = [&prices.input, &prices.cache_read, &prices.output].map(Option::as_deref);
        assert_eq!(
            (own.model.as_str(), read),
            ("org/m:free", [Some("0.5"), Some("0.05"), Some("1.25")])
        );
        let own = OwnPrice::parse("m=2/0.2/10+272000:4/0.4/15+500000:8/1/20").unwrap();
        assert_eq!(
            json_line(&own.prices),
            r#"{"input": "2", "cache_read": "0.2", "output": "10", "above": [{"input_tokens": 272000, "prices": {"input": "4", "cache_read": "0.4", "output": "15"}}, {"input_tokens": 500000, "prices": {"input": "8", "cache_read": "1", "output": "20"}}]}"#
        );
        for (text, want) in [
            ("m=1/1/1+", "expected INPUT/CACHED/OUTPUT"),
            ("m=1/1/1+5", "expected INPUT/CACHED/OUTPUT"),
            (
                "m=1/1/1+x:1/1/1",
                "the number of tokens x must be a whole number",
            ),
            ("m=1/1/1+-5:1/1/1", "must be a whole number"),
            ("m=1/1/1+5:1/1", "expected INPUT/CACHED/OUTPUT"),
            (
                "m=1/1/1+5:1/1/x",
                "the price x must be a plain decimal number",
            ),
            ("m", "expected MODEL=INPUT/CACHED/OUTPUT"),
            ("m=1", "expected INPUT/CACHED/OUTPUT"),
            ("m=1/2", "expected INPUT/CACHED/OUTPUT"),
            ("m=1/2/3/4", "expected INPUT/CACHED/OUTPUT"),
            ("m=1//3", "the price  must be a plain decimal number"),
            ("m=1/1/x", "the price x must be a plain decimal number"),
            ("m=-1/1/1", "the price -1 must be"),
            ("m=0.1234567/1/1", "has more than 6 fractional digits"),
        ] {
            let error = OwnPrice::parse(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
