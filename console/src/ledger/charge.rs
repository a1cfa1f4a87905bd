//! Charges of ledger lines, exact sums of them, and the one place that rounds them, for display.
//!
//! A charge is less than 10^9 of its currency and has at most 20 fractional digits; a sum counts units of 10^-20 in 128 bits. So
//! three thousand million lines of the greatest charge fit, and no sum is rounded or becomes a float. A database has a sum as a decimal
//! number, which may be greater.

use trilane::money::Amount;
use trilane::money::decimal::Fault;

/// Reads a charge of a ledger line: a plain decimal number, not negative.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Amount, &'static str> {
    let most = Amount::parse("1000000000").unwrap_or_default();
    match Amount::read(text) {
        Ok(charge) if charge < most => Ok(charge),
        Ok(_) | Err(Fault::OutOfRange) => Err("is 10^9 or more"),
        Err(Fault::TooManyPlaces) => Err("has more than 20 fractional digits"),
        Err(Fault::NotPlain | Fault::Comma) => Err("is no plain decimal number"),
    }
}

/// A sum of charges of one currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum(Amount);

impl Sum {
    /// A sum as [`Sum::text`] writes it.
    ///
    /// # Errors
    /// The reason, where the text is no amount.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match Amount::read(text) {
            Ok(sum) => Ok(Self(sum)),
            Err(Fault::OutOfRange) => Err("is greater than a sum can be"),
            Err(Fault::TooManyPlaces) => Err("has more than 20 fractional digits"),
            Err(Fault::NotPlain | Fault::Comma) => Err("is no plain decimal number"),
        }
    }

    /// Adds an amount.
    pub fn add(&mut self, amount: Amount) {
        self.0 = self.0.plus(amount);
    }

    /// Takes an amount away.
    pub fn subtract(&mut self, amount: Amount) {
        self.0 = self.0.less(amount);
    }

    /// Its value.
    pub fn value(&self) -> Amount {
        self.0
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.0 == Amount::ZERO
    }

    /// Fractional digits that the exact value needs.
    pub fn places(&self) -> u32 {
        let text = self.text();
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        u32::try_from(fraction.len()).unwrap_or(u32::MAX)
    }

    /// The exact value, without zeros at its end.
    pub fn text(&self) -> String {
        self.0.to_string()
    }

    /// With so many fractional digits, rounded half away from zero where the exact value has more.
    pub fn shown(&self, places: u32) -> String {
        let cut = Amount::PLACES.saturating_sub(places);
        let step = 10_u128.checked_pow(cut).unwrap_or(1);
        let half = step.checked_div(2).unwrap_or_default();
        let units = self.0.units().saturating_add(half);
        let units = units.saturating_sub(units.checked_rem(step).unwrap_or_default());
        let text = Amount::of_units(units).to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        if places == 0 {
            return whole.to_owned();
        }
        let width = usize::try_from(places).unwrap_or(usize::MAX);
        format!("{whole}.{fraction:0<width$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(texts: &[&str]) -> String {
        let mut sum = Sum::default();
        for text in texts {
            sum.add(parse(text).unwrap());
        }
        sum.text()
    }

    #[test]
    fn parsing() {
        let cases = [
            ("ordinary", "0.000123", true),
            ("integer", "12", true),
            ("zero", "0", true),
            ("20 places", "0.00000000000000000001", true),
            ("21 places", "0.000000000000000000001", false),
            ("zeros at the end", "0.5000000000000000000000", true),
            ("greatest", "999999999.99999999999999999999", true),
            ("greater", "1000000000", false),
            ("far greater", "79228162514264337593543950336", false),
            (
                "greater than 128 bits",
                "999999999999999999999999999999999999999999",
                false,
            ),
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
        let (smallest, greatest) = ("0.00000000000000000001", "999999999.99999999999999999999");
        let cases: [(&str, &[&str], &str); 7] = [
            ("nothing", &[], "0"),
            ("different scales", &["0.1", "0.02", "3"], "3.12"),
            ("zeros at the end go", &["0.50", "0.50"], "1"),
            ("no binary fraction in sight", &["0.1", "0.2"], "0.3"),
            (
                "as fine as it gets",
                &["7", smallest],
                "7.00000000000000000001",
            ),
            ("great and fine", &[greatest, smallest], "1000000000"),
            (
                "more than 28 digits",
                &[greatest, greatest],
                "1999999999.99999999999999999998",
            ),
        ];
        for (case, texts, want) in cases {
            assert_eq!(sum(texts), want, "{case}");
            assert_eq!(Sum::parse(want).unwrap().text(), want, "{case}");
        }
    }

    #[test]
    fn as_many_lines_fit_as_is_said() {
        let greatest = parse("999999999.99999999999999999999").unwrap();
        let lines = u128::MAX / greatest.units();
        assert!(lines > 3_000_000_000, "{lines}");
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
            (
                "more places than there are",
                "1.5",
                28,
                "1.5000000000000000000000000000",
            ),
            (
                "great",
                "79228162514264337.5935",
                3,
                "79228162514264337.594",
            ),
        ];
        for (case, text, places, want) in cases {
            assert_eq!(Sum::parse(text).unwrap().shown(places), want, "{case}");
        }
    }

    proptest! {
        #[test]
        fn a_sum_is_what_integers_say(amounts in prop::collection::vec((0_u64..=1_000_000_000_000_000, 0_usize..=12), 0..50)) {
            let mut sum = Sum::default();
            let mut want = 0_u128;
            for (units, places) in amounts {
                let digits = format!("{units:0>width$}", width = places + 1);
                let (whole, fraction) = digits.split_at(digits.len() - places);
                let text = if places == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") };
                sum.add(Amount::read(&text).unwrap());
                want += u128::from(units) * 10_u128.pow(u32::try_from(12 - places).unwrap());
            }
            let text = sum.shown(12).replace('.', "");
            prop_assert_eq!(text.parse::<u128>().unwrap(), want);
            prop_assert_eq!(Sum::parse(&sum.text()), Ok(sum));
        }
    }
}
