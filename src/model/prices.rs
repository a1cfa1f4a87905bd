//! What a model costs, before any multiplier.

use rust_decimal::Decimal;

use crate::decimal::{self, Fault};
use crate::usage::Kind;

/// A price in the document's currency: per million tokens, or per image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price(Decimal);

impl Price {
    /// The greatest price; beyond it a slip of the pen is likelier.
    pub const MAX: u32 = 1_000_000;
    /// Fractional digits that a document may write.
    pub const PLACES: usize = 6;

    /// Reads a price as a document writes it, such as `1.25`.
    ///
    /// # Errors
    /// The reason, where the text is no plain decimal number with at most six fractional digits
    /// between 0 and [`Price::MAX`].
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match decimal::bounded(text, Self::PLACES, Self::MAX) {
            Ok(value) => Ok(Self(value)),
            Err(Fault::NotPlain) => {
                Err("must be a plain decimal number in a string, such as \"1.25\"")
            }
            Err(Fault::TooManyPlaces) => Err("has more than 6 fractional digits"),
            Err(Fault::OutOfRange) => Err("is out of range (at most 1000000)"),
        }
    }

    /// The exact value.
    pub fn value(self) -> Decimal {
        self.0
    }
}

/// The prices of one model.
///
/// A kind of token without a price of its own costs what the broader kind costs that it belongs to;
/// where that has none either, it is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    tokens: [Option<Price>; Kind::ALL.len()],
    image: Option<Price>,
}

impl Prices {
    /// Sets the price per million tokens of a kind.
    pub fn set_tokens(&mut self, kind: Kind, price: Price) {
        if let Some(place) = self.tokens.get_mut(kind as usize) {
            *place = Some(price);
        }
    }

    /// Sets the price per image.
    pub fn set_image(&mut self, price: Price) {
        self.image = Some(price);
    }

    /// The price per million tokens of a kind; `None` where it is free.
    pub fn tokens(&self, kind: Kind) -> Option<Price> {
        let own = self.tokens.get(kind as usize).copied().flatten();
        own.or_else(|| self.tokens(broader(kind)?))
    }

    /// The price per image.
    pub fn image(&self) -> Option<Price> {
        self.image
    }
}

/// The kind whose price holds for `kind` too, unless it has one of its own.
fn broader(kind: Kind) -> Option<Kind> {
    match kind {
        Kind::Input | Kind::Output => None,
        Kind::CacheWrite1h => Some(Kind::CacheWrite5m),
        Kind::InputImage
        | Kind::InputAudio
        | Kind::CacheRead
        | Kind::CacheWrite5m
        | Kind::ToolUse => Some(Kind::Input),
        Kind::Reasoning | Kind::OutputAudio | Kind::OutputImage => Some(Kind::Output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_without_a_price_costs_what_its_broader_kind_costs() {
        let price = |text| Price::parse(text).unwrap();
        let mut prices = Prices::default();
        assert_eq!(prices.image(), None);
        for kind in Kind::ALL {
            assert_eq!(prices.tokens(kind), None, "{kind:?}: nothing is priced");
        }
        prices.set_tokens(Kind::Input, price("3"));
        prices.set_tokens(Kind::Output, price("15"));
        prices.set_tokens(Kind::CacheRead, price("0.30"));
        prices.set_tokens(Kind::CacheWrite5m, price("3.75"));
        let want = [
            (Kind::Input, "3"),
            (Kind::InputImage, "3"),
            (Kind::InputAudio, "3"),
            (Kind::CacheRead, "0.30"),
            (Kind::CacheWrite5m, "3.75"),
            (Kind::CacheWrite1h, "3.75"),
            (Kind::ToolUse, "3"),
            (Kind::Output, "15"),
            (Kind::Reasoning, "15"),
            (Kind::OutputAudio, "15"),
            (Kind::OutputImage, "15"),
        ];
        for (kind, text) in want {
            assert_eq!(prices.tokens(kind), Some(price(text)), "{kind:?}");
        }
    }
}
