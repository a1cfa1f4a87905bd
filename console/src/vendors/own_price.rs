//! A price that the operator knows: `MODEL=INPUT/OUTPUT`.

use trilane::money::Price;

/// What a model costs, in dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPrice {
    /// The model's id, or the vendor's name of it.
    pub model: String,
    /// The price of input.
    pub input: String,
    /// The price of output.
    pub output: String,
}

impl OwnPrice {
    /// Reads `MODEL=INPUT/OUTPUT`.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (model, prices) = text
            .split_once('=')
            .ok_or("expected MODEL=INPUT/OUTPUT, such as my-model=1.25/10")?;
        Self::of(model, prices)
    }

    /// Reads `INPUT/OUTPUT` of a model.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn of(model: &str, prices: &str) -> Result<Self, String> {
        let (input, output) = prices
            .split_once('/')
            .ok_or("expected INPUT/OUTPUT, such as 1.25/10")?;
        let price = |text: &str| {
            let text = text.trim();
            let told = |reason| format!("the price {text} {reason}");
            Price::parse(text).map(|_| text.to_owned()).map_err(told)
        };
        Ok(Self {
            model: model.to_owned(),
            input: price(input)?,
            output: price(output)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let price = OwnPrice::parse("org/m:free=0.5/ 1.25").unwrap();
        let want = ("org/m:free", "0.5", "1.25");
        assert_eq!(
            (
                price.model.as_str(),
                price.input.as_str(),
                price.output.as_str()
            ),
            want
        );
        for (text, want) in [
            ("m", "expected MODEL=INPUT/OUTPUT"),
            ("m=1", "expected INPUT/OUTPUT"),
            ("m=1/x", "the price x must be a plain decimal number"),
            ("m=-1/1", "the price -1 must be"),
            ("m=0.1234567/1", "has more than 6 fractional digits"),
        ] {
            let error = OwnPrice::parse(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
