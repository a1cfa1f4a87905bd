//! Billing multipliers: exact decimals, never floats.

use core::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use super::decimal::{self, Fault};

/// A billing multiplier: not negative, at most [`Multiplier::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Multiplier(Decimal);

impl Multiplier {
    /// The neutral multiplier.
    pub const ONE: Self = Self(Decimal::ONE);
    /// The greatest multiplier that a document may write; a greater one is more likely a typing error.
    pub const MAX: u32 = 1_000_000;
    /// Fractional digits a document may write, and the number shown.
    pub const PLACES: u32 = 4;

    /// Reads a multiplier as a document writes it, such as `0.2000`.
    ///
    /// # Errors
    /// The reason, where the text is no plain decimal number with at most four fractional digits
    /// between 0 and [`Multiplier::MAX`].
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match decimal::bounded(text, Self::PLACES as usize, Self::MAX) {
            Ok(value) => Ok(Self(value)),
            Err(Fault::Comma) => Err(decimal::COMMA),
            Err(Fault::NotPlain) => {
                Err("must be a plain decimal number in a string, such as \"0.2000\"")
            }
            Err(Fault::TooManyPlaces) => Err("has more than 4 fractional digits"),
            Err(Fault::OutOfRange) => Err("is out of range (at most 1000000)"),
        }
    }

    /// This multiplier on top of another: exact.
    pub fn times(self, other: Self) -> Self {
        // Two values of at most 10^6 with 4 places each multiply to at most 10^12 with 8 places,
        // far inside the 28 digits of the type: saturation cannot happen.
        Self(self.0.saturating_mul(other.0))
    }

    /// Returns the ten thousandths of the multiplier: exact where a document wrote it.
    pub(crate) fn ten_thousandths(self) -> u64 {
        let mut value = self.0;
        value.rescale(Self::PLACES);
        u64::try_from(value.mantissa()).unwrap_or(u64::MAX)
    }

    /// The multiplier of so many ten thousandths; `None` beyond [`Self::MAX`].
    pub(crate) fn from_ten_thousandths(units: u64) -> Option<Self> {
        let value = Decimal::from_i128_with_scale(units.into(), Self::PLACES);
        (value <= Decimal::from(Self::MAX)).then_some(Self(value))
    }

    /// The exact value.
    pub fn value(self) -> Decimal {
        self.0
    }
}

/// Shows four places, rounded half away from zero where the exact value has more.
impl fmt::Display for Multiplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .0
            .round_dp_with_strategy(Self::PLACES, RoundingStrategy::MidpointAwayFromZero);
        write!(f, "{shown:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parsing() {
        let cases = [
            ("four places", "0.2000", Some("0.2000")),
            ("integer", "2", Some("2.0000")),
            ("zero", "0", Some("0.0000")),
            ("five places", "0.20001", None),
            ("negative", "-1", None),
            ("sign", "+1", None),
            ("exponent", "1e3", None),
            ("no whole part", ".5", None),
            ("no fraction", "1.", None),
            ("empty", "", None),
            ("space", " 1", None),
            ("too great", "1000001", None),
            ("far too great", "99999999999999999999999999999999", None),
        ];
        for (case, text, want) in cases {
            let got = Multiplier::parse(text).ok().map(|m| m.to_string());
            assert_eq!(got.as_deref(), want, "{case}");
        }
    }

    #[test]
    fn the_product_is_exact_and_shown_with_four_places() {
        let product = |a: &str, b: &str| {
            let product = Multiplier::parse(a)
                .unwrap()
                .times(Multiplier::parse(b).unwrap());
            (product.value().normalize().to_string(), product.to_string())
        };
        let cases = [
            ("as in the sample", "2.0000", "1.0000", ("2", "2.0000")),
            ("a third digit", "0.3000", "1.1500", ("0.345", "0.3450")),
            ("more than shown", "0.0001", "0.5000", ("0.00005", "0.0001")),
            (
                "greatest",
                "1000000",
                "1000000",
                ("1000000000000", "1000000000000.0000"),
            ),
        ];
        for (case, a, b, (exact, shown)) in cases {
            assert_eq!(
                product(a, b),
                (exact.to_owned(), shown.to_owned()),
                "{case}"
            );
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn product_matches_integer_arithmetic(a in 0u64..=10_000_000_000, b in 0u64..=10_000_000_000) {
            let text = |n: u64| format!("{}.{:04}", n / 10_000, n % 10_000);
            let (Ok(x), Ok(y)) = (Multiplier::parse(&text(a)), Multiplier::parse(&text(b))) else {
                return Err(TestCaseError::fail("in range, yet refused"));
            };
            let want = Decimal::from_i128_with_scale(i128::from(a) * i128::from(b), 8);
            prop_assert_eq!(x.times(y).value(), want);
        }
    }
}
