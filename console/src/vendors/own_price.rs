//! A price that the operator knows: `MODEL=INPUT/CACHED/OUTPUT`.

use trilane::config::document::PricesDocument;
use trilane::money::Price;

/// The form of the prices of a model, for people.
const FORM: &str = "INPUT/CACHED/OUTPUT, such as 1.25/0.125/10. CACHED is the price of input that is read from a cache: \
    where the vendor has none, write that of input again";

/// What a model costs, in dollars for a million tokens.
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
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (model, prices) = text
            .split_once('=')
            .ok_or_else(|| format!("expected MODEL={FORM}"))?;
        Self::of(model, prices)
    }

    /// Reads `INPUT/CACHED/OUTPUT` of a model.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn of(model: &str, prices: &str) -> Result<Self, String> {
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
        Ok(Self {
            model: model.to_owned(),
            prices: PricesDocument {
                input: price(input)?,
                cache_read: price(cached)?,
                output: price(output)?,
                ..PricesDocument::default()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let own = OwnPrice::parse("org/m:free=0.5/0.05/ 1.25").unwrap();
        let prices = &own.prices;
        let read = [&prices.input, &prices.cache_read, &prices.output].map(Option::as_deref);
        assert_eq!(
            (own.model.as_str(), read),
            ("org/m:free", [Some("0.5"), Some("0.05"), Some("1.25")])
        );
        for (text, want) in [
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
