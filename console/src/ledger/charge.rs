//! Exact sums of charges, and the one place that rounds them, for display.

use rust_decimal::{Decimal, RoundingStrategy};
use trilane::money::decimal::{self, Fault};

/// Reads a charge of a ledger line: a plain decimal number, not negative.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Decimal, &'static str> {
    decimal::plain(text).map_err(|fault| match fault {
        Fault::NotPlain | Fault::Comma => "is no plain decimal number",
        Fault::OutOfRange | Fault::TooManyPlaces => {
            "has more digits than the 28 that can be added up exactly"
        }
    })
}

/// A sum would need more than the 28 digits that a decimal can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inexact;

/// A sum of charges of one currency, exact or not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum(Decimal);

impl Sum {
    /// Adds an amount.
    ///
    /// # Errors
    /// The exact sum cannot be held; it stays as it was.
    pub fn add(&mut self, amount: Decimal) -> Result<(), Inexact> {
        self.0 = decimal::sum(self.0, amount)
            // Zeros at the end take room and say nothing.
            .or_else(|| decimal::sum(self.0.normalize(), amount.normalize()))
            .ok_or(Inexact)?;
        Ok(())
    }

    /// Its value.
    pub fn value(&self) -> Decimal {
        self.0
    }

    /// Fractional digits that the exact value needs.
    pub fn places(&self) -> u32 {
        self.0.normalize().scale()
    }

    /// The exact value, without zeros at its end.
    pub fn text(&self) -> String {
        self.0.normalize().to_string()
    }

    /// With so many fractional digits, rounded half away from zero where the exact value has more.
    pub fn shown(&self, places: u32) -> String {
        let rounded = self
            .0
            .round_dp_with_strategy(places, RoundingStrategy::MidpointAwayFromZero);
        // Not by `{:.places$}`: the type panics where digits and zeros together exceed its buffer.
        let mut text = rounded.to_string();
        let zeros = places.saturating_sub(rounded.scale());
        if rounded.scale() == 0 && zeros > 0 {
            text.push('.');
        }
        text.extend((0..zeros).map(|_| '0'));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(texts: &[&str]) -> Result<String, Inexact> {
        let mut sum = Sum::default();
        for text in texts {
            sum.add(parse(text).unwrap())?;
        }
        Ok(sum.text())
    }

    #[test]
    fn parsing() {
        let cases = [
            ("ordinary", "0.000123", true),
            ("integer", "12", true),
            ("zero", "0", true),
            ("28 places", "0.0000000000000000000000000001", true),
            ("29 places", "0.00000000000000000000000000001", false),
            ("greatest", "79228162514264337593543950335", true),
            ("greater", "79228162514264337593543950336", false),
            ("negative", "-1", false),
            ("sign", "+1", false),
            ("exponent", "1e-3", false),
            ("underscore", "1_000", false),
            ("comma", "1,5", false),
            ("no whole part", ".5", false),
            ("no fraction", "1.", false),
            ("two points", "1.2.3", false),
            ("not a number", "NaN", false),
            ("empty", "", false),
        ];
        for (case, text, want) in cases {
            assert_eq!(parse(text).is_ok(), want, "{case}");
        }
    }

    #[test]
    fn sums() {
        let smallest = "0.0000000000000000000000000001";
        let cases: [(&str, &[&str], Result<&str, Inexact>); 8] = [
            ("nothing", &[], Ok("0")),
            ("different scales", &["0.1", "0.02", "3"], Ok("3.12")),
            ("zeros at the end go", &["0.50", "0.50"], Ok("1")),
            ("no binary fraction in sight", &["0.1", "0.2"], Ok("0.3")),
            (
                "as fine as it gets",
                &["7", smallest],
                Ok("7.0000000000000000000000000001"),
            ),
            (
                "great and fine",
                &["79228162514264337593543950335", smallest],
                Err(Inexact),
            ),
            (
                "rounded by Decimal's own addition",
                &["8", smallest],
                Err(Inexact),
            ),
            (
                "zeros make room",
                &["70000000000000.00000000000000", "0.00000000000001000"],
                Ok("70000000000000.00000000000001"),
            ),
        ];
        for (case, texts, want) in cases {
            assert_eq!(sum(texts), want.map(str::to_owned), "{case}");
        }
    }

    #[test]
    fn a_sum_that_overflows_stays_as_it_was() {
        let mut sum = Sum::default();
        sum.add(Decimal::MAX).unwrap();
        assert_eq!(sum.add(Decimal::ONE), Err(Inexact));
        assert_eq!(sum.value(), Decimal::MAX);
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        let cases = [
            ("half", "0.125", 2, "0.13"),
            ("half, to an even digit either way", "0.135", 2, "0.14"),
            ("below half", "0.12499999", 2, "0.12"),
            ("carries over", "9.995", 2, "10.00"),
            ("to integers", "0.5", 0, "1"),
            ("padded", "1.5", 4, "1.5000"),
            ("zero", "0", 2, "0.00"),
            ("all places", "1.5", 28, "1.5000000000000000000000000000"),
            (
                "great and all places",
                "79228162514264337593543950335",
                3,
                "79228162514264337593543950335.000",
            ),
        ];
        for (case, text, places, want) in cases {
            assert_eq!(Sum(parse(text).unwrap()).shown(places), want, "{case}");
        }
    }

    proptest! {
        #[test]
        fn a_sum_is_what_integers_say(amounts in prop::collection::vec((0_u64..=1_000_000_000_000_000, 0_u32..=12), 0..50)) {
            let mut sum = Sum::default();
            let mut want = 0_i128;
            for (units, scale) in amounts {
                sum.add(Decimal::from_i128_with_scale(i128::from(units), scale)).unwrap();
                want += i128::from(units) * 10_i128.pow(12 - scale);
            }
            let text = sum.shown(12).replace('.', "");
            prop_assert_eq!(text.parse::<i128>().unwrap(), want);
            prop_assert_eq!(Decimal::from_str_exact(&sum.text()).unwrap(), sum.value());
        }

        #[test]
        fn a_sum_is_exact_or_refused(a in any::<(u64, u32)>(), x in 0_u32..=28, b in any::<(u64, u32)>(), y in 0_u32..=28) {
            let units = |(low, high): (u64, u32)| i128::from(low) | (i128::from(high) << 64);
            let (a, b) = (units(a), units(b));
            let mut sum = Sum::default();
            sum.add(Decimal::from_i128_with_scale(a, x)).unwrap();
            if sum.add(Decimal::from_i128_with_scale(b, y)).is_ok() {
                // Compared by remainders of two primes, since 28 more digits do not fit an i128.
                for prime in [1_000_000_007_i128, 998_244_353] {
                    let at = |units: i128, scale: u32| {
                        (0..28 - scale).fold(units % prime, |value, _| value * 10 % prime)
                    };
                    let got = at(sum.value().mantissa(), sum.value().scale());
                    prop_assert_eq!(got, (at(a, x) + at(b, y)) % prime);
                }
            }
        }
    }
}
