//! Sums of money, exact.

use core::fmt;

use rust_decimal::Decimal;

use super::charge::Charge;
use super::decimal::{self, Fault};

/// A sum of charges in the document's currency, not negative.
///
/// Counted in units of 10^-20, in which every charge is a whole number: a price has six fractional
/// digits, tokens are priced by the million, and the multipliers of a Mixed group have eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Amount(u128);

/// Units of one of the currency.
const ONE: u128 = 10_u128.pow(Amount::PLACES);

impl Amount {
    /// Fractional digits of an amount.
    pub const PLACES: u32 = 20;
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The greatest there is.
    pub const GREATEST: Self = Self(u128::MAX);
    /// The greatest amount that a document may write; a greater one is more likely a typing error.
    pub const MAX: u32 = 1_000_000_000;
    /// Fractional digits that a document may write.
    pub const WRITTEN_PLACES: usize = 20;

    /// Reads an amount as a document writes it, such as `10.00` or `$10`.
    ///
    /// # Errors
    /// The reason, where the text is no plain decimal number with at most 20 fractional digits
    /// between 0 and [`Amount::MAX`].
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let value = decimal::money(text, Self::WRITTEN_PLACES, Self::MAX);
        match value.map(Self::of_decimal) {
            Ok(Some(amount)) => Ok(amount),
            Err(Fault::NotPlain) => {
                Err("must be a plain decimal number in a string, such as \"10.00\"")
            }
            Err(Fault::Comma) => Err(decimal::COMMA),
            Err(Fault::TooManyPlaces) => Err("has more than 20 fractional digits"),
            Ok(None) | Err(Fault::OutOfRange) => Err("is out of range (at most 1000000000)"),
        }
    }

    /// Reads a sum as it is displayed, however great: with at most 20 fractional digits, zeros at the end not counted.
    ///
    /// # Errors
    /// The [`Fault`]; out of range is what is more than about 3.4 · 10^18.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(Fault::NotPlain);
        }
        let fraction = fraction.trim_end_matches('0');
        let places = u32::try_from(fraction.len()).map_err(|_| Fault::TooManyPlaces)?;
        let left = Self::PLACES
            .checked_sub(places)
            .ok_or(Fault::TooManyPlaces)?;
        let units = |digits: &str, each: u32| {
            let number = if digits.is_empty() {
                Some(0)
            } else {
                digits.parse::<u128>().ok()
            };
            number?.checked_mul(10_u128.checked_pow(each)?)
        };
        let sum =
            units(whole, Self::PLACES).and_then(|whole| whole.checked_add(units(fraction, left)?));
        sum.map(Self).ok_or(Fault::OutOfRange)
    }

    /// Returns the amount of so many units of 10^-20.
    pub const fn of_units(units: u128) -> Self {
        Self(units)
    }

    /// The number of its units.
    pub const fn units(self) -> u128 {
        self.0
    }

    /// The amount of a charge; `None` where it has more digits than prices and multipliers can give it.
    pub fn of(charge: Charge) -> Option<Self> {
        Self::of_decimal(charge.value())
    }

    fn of_decimal(value: Decimal) -> Option<Self> {
        let value = value.normalize();
        let shift = Self::PLACES.checked_sub(value.scale())?;
        let mantissa = u128::try_from(value.mantissa()).ok()?;
        mantissa.checked_mul(10_u128.checked_pow(shift)?).map(Self)
    }

    /// The sum, saturating at about 3.4 · 10^18 of the currency: at three thousand million charges of 10^9.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the remainder after `spent`, at least nothing.
    #[must_use]
    pub fn less(self, spent: Self) -> Self {
        Self(self.0.saturating_sub(spent.0))
    }

    /// Half of it, rounded up.
    #[must_use]
    pub fn half(self) -> Self {
        Self(self.0.div_ceil(2))
    }

    /// Encodes the amount for records.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Decodes an amount.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_le_bytes(bytes))
    }
}

/// All digits, no trailing zeros.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0.checked_div(ONE).unwrap_or_default();
        let rest = self.0.checked_rem(ONE).unwrap_or_default();
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{rest:020}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_as_written() {
        let cases = [
            ("10.00", Ok("10")),
            ("0.5", Ok("0.5")),
            ("$10", Ok("10")),
            ("1,000.50", Err(decimal::COMMA)),
            ("$1,000", Err(decimal::COMMA)),
            ("0", Ok("0")),
            ("1000000000", Ok("1000000000")),
            ("0.00000000000000000001", Ok("0.00000000000000000001")),
            (
                "0.000000000000000000001",
                Err("has more than 20 fractional digits"),
            ),
            ("1000000000.01", Err("is out of range (at most 1000000000)")),
            (
                "-1",
                Err("must be a plain decimal number in a string, such as \"10.00\""),
            ),
            (
                "1e3",
                Err("must be a plain decimal number in a string, such as \"10.00\""),
            ),
        ];
        for (text, want) in cases {
            let got = Amount::parse(text).map(|amount| amount.to_string());
            assert_eq!(got.as_deref().map_err(|e| *e), want, "{text}");
        }
    }

    #[test]
    fn sums_as_displayed() {
        let cases = [
            ("0", Ok("0")),
            ("0.1000000000000000000000", Ok("0.1")),
            ("007.50", Ok("7.5")),
            (
                "3402823669209384634.63374607431768211455",
                Ok("3402823669209384634.63374607431768211455"),
            ),
            (
                "3402823669209384634.63374607431768211456",
                Err(Fault::OutOfRange),
            ),
            (
                "99999999999999999999999999999999999999999999",
                Err(Fault::OutOfRange),
            ),
            ("0.000000000000000000001", Err(Fault::TooManyPlaces)),
            ("-1", Err(Fault::NotPlain)),
            ("+1", Err(Fault::NotPlain)),
            ("1e3", Err(Fault::NotPlain)),
            ("1.", Err(Fault::NotPlain)),
            (".5", Err(Fault::NotPlain)),
            ("1.2.3", Err(Fault::NotPlain)),
            ("", Err(Fault::NotPlain)),
        ];
        for (text, want) in cases {
            let got = Amount::read(text).map(|amount| amount.to_string());
            assert_eq!(got.as_deref().map_err(|fault| *fault), want, "{text}");
        }
    }

    #[test]
    fn sums_and_differences_stay_in_range() {
        let amount = |text| Amount::parse(text).unwrap();
        let most = Amount::GREATEST;
        assert_eq!(most.plus(amount("1")), most);
        assert_eq!(amount("3").less(amount("1.5")), amount("1.5"));
        assert_eq!(amount("1.5").less(amount("3")), Amount::ZERO);
        assert_eq!(amount("5").half(), amount("2.5"));
        let least = amount("0.00000000000000000001");
        assert_eq!(least.half(), least, "something stays something");
    }

    #[test]
    fn a_charge_is_an_amount_unless_it_has_more_places() {
        use crate::money::{Multiplier, Price};
        let price = Price::parse("0.000001").unwrap();
        let tiny = Multiplier::parse("0.0001").unwrap();
        let charge = |multiplier| Charge::of_call(price).times(multiplier).unwrap();
        let amount = |multiplier| Amount::of(charge(multiplier)).map(|amount| amount.to_string());
        assert_eq!(amount(tiny).as_deref(), Some("0.0000000001"));
        let finest = tiny.times(tiny).times(tiny);
        assert_eq!(charge(finest).to_string(), "0.000000000000000001");
        assert_eq!(amount(finest).as_deref(), Some("0.000000000000000001"));
        assert_eq!(amount(finest.times(tiny)), None, "22 places");
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn sums_are_exact(parts in proptest::collection::vec((0u64..1_000_000_000_000, 0u32..=20), 0..20)) {
            let mut sum = Amount::ZERO;
            let mut want = 0u128;
            for (mantissa, scale) in parts {
                let value = Decimal::from_i128_with_scale(i128::from(mantissa), scale);
                sum = sum.plus(Amount::of_decimal(value).unwrap());
                want += u128::from(mantissa) * 10u128.pow(20 - scale);
            }
            prop_assert_eq!(sum, Amount(want));
            prop_assert_eq!(Amount::from_bytes(sum.to_bytes()), sum);
            prop_assert_eq!(Amount::of_units(sum.units()), sum);
            let (whole, fraction) = (want / ONE, want % ONE);
            let written = format!("{whole}.{fraction:020}");
            let shown = sum.to_string();
            prop_assert_eq!(Amount::read(&shown), Ok(sum));
            prop_assert!(written.starts_with(&shown), "{} {}", written, shown);
            prop_assert!(written[shown.len()..].trim_start_matches('.').bytes().all(|b| b == b'0'));
        }
    }
}
