//! A price, as a document writes it.

use core::fmt;

use rust_decimal::Decimal;

use super::decimal::{self, Fault};

/// A price in the document's currency: per million tokens, per image, or per call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price(Decimal);

impl Price {
    /// The greatest price that a document may write; a greater one is more likely a typing error.
    pub const MAX: u32 = 1_000_000;
    /// Fractional digits that a document may write.
    pub const PLACES: usize = 6;

    /// Reads a price as a document writes it, such as `1.25` or `$1.25`.
    ///
    /// # Errors
    /// The reason, where the text is no plain decimal number with at most six fractional digits
    /// between 0 and [`Price::MAX`].
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match decimal::money(text, Self::PLACES, Self::MAX) {
            Ok(value) => Ok(Self(value)),
            Err(Fault::NotPlain) => {
                Err("must be a plain decimal number in a string, such as \"1.25\"")
            }
            Err(Fault::Comma) => Err(decimal::COMMA),
            Err(Fault::TooManyPlaces) => Err("has more than 6 fractional digits"),
            Err(Fault::OutOfRange) => Err("is out of range (at most 1000000)"),
        }
    }

    /// The exact value.
    pub fn value(self) -> Decimal {
        self.0
    }
}

/// All digits, no trailing zeros.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.normalize().fmt(f)
    }
}
