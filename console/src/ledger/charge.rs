//! Charges of ledger lines, exact sums of them, and the one place that rounds them, for display.
//!
//! A charge is less than 10^9 of its currency and has at most 20 fractional digits. A sum has as many, and a whole part of 128 bits. A
//! database has it in five columns of 64 bits, which `SUM()` adds up exactly on both engines ([`Sum::COLUMNS`]): nine million million
//! lines of the greatest charge fit, and no sum is rounded or becomes a float.

use trilane::money::Amount;
use trilane::money::decimal::Fault;

/// Units of one of the currency.
const ONE: u128 = 10_u128.pow(Amount::PLACES);
/// The value of a column of a sum, in units of the column before.
const STEP: i128 = 1_000_000;

const NOT_PLAIN: &str = "is no plain decimal number";

/// Reads a charge of a ledger line: a plain decimal number, not negative.
///
/// # Errors
/// The fault of the text.
pub fn parse(text: &str) -> Result<Amount, &'static str> {
    let most = Amount::parse("1000000000").unwrap_or_default();
    match Amount::read(text) {
        Ok(charge) if charge < most => Ok(charge),
        Ok(_) | Err(Fault::OutOfRange) => Err("is 10^9 or more"),
        Err(Fault::TooManyPlaces) => Err("has more than 20 fractional digits"),
        Err(Fault::NotPlain | Fault::Comma) => Err(NOT_PLAIN),
    }
}

/// A sum of charges of one currency: exact, and never too great for what it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum {
    whole: u128,
    /// Less than one.
    fraction: Amount,
}

impl Sum {
    /// The columns that a database has for a sum, the finest first: each counts a million times as much as the one before,
    /// and the first one counts units of 10^-20.
    ///
    /// A sum is stored with less than a million in each column but the last, which has less than 10^5 for a charge. So `SUM()` of
    /// a column fits into the 63 bits that SQLite adds up in for nine million million rows, whatever they charge.
    pub const COLUMNS: usize = 5;

    /// A sum as [`Sum::text`] writes it.
    ///
    /// # Errors
    /// The reason, where the text is no amount.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let fraction = Amount::read(&format!("0.{fraction}")).map_err(|fault| match fault {
            Fault::TooManyPlaces => "has more than 20 fractional digits",
            Fault::NotPlain | Fault::Comma | Fault::OutOfRange => NOT_PLAIN,
        })?;
        if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NOT_PLAIN);
        }
        let whole = whole.parse();
        Ok(Self {
            whole: whole.map_err(|_| "is greater than a sum can be")?,
            fraction,
        })
    }

    /// A sum out of its columns. What lines were taken from may have columns below zero; a sum is never less than nothing.
    pub fn of_columns(columns: [i64; Self::COLUMNS]) -> Self {
        let [e20, e14, e8, e2, tens_of_thousands] = columns.map(i128::from);
        let units = [(e14, 1), (e8, 2), (e2, 3)].into_iter();
        let units = units.fold(e20, |units, (column, place)| {
            units.saturating_add(column.saturating_mul(STEP.saturating_pow(place)))
        });
        let one = i128::try_from(ONE).unwrap_or(i128::MAX);
        let whole = tens_of_thousands.saturating_mul(10_000);
        let whole = whole.saturating_add(units.checked_div_euclid(one).unwrap_or_default());
        let fraction = units.checked_rem_euclid(one).unwrap_or_default();
        match u128::try_from(whole) {
            Ok(whole) => Self {
                whole,
                fraction: Amount::of_units(u128::try_from(fraction).unwrap_or_default()),
            },
            Err(_) => Self::default(),
        }
    }

    /// Its columns, as a database stores it.
    pub fn columns(&self) -> [i64; Self::COLUMNS] {
        let step = STEP.unsigned_abs();
        let part = |of: u128| i64::try_from(of).unwrap_or(i64::MAX);
        let digits = |place| {
            self.fraction
                .units()
                .checked_div(step.saturating_pow(place))
                .unwrap_or_default()
        };
        let low = |of: u128| of.checked_rem(step).unwrap_or_default();
        let below = self.whole.checked_rem(10_000).unwrap_or_default();
        [
            part(low(digits(0))),
            part(low(digits(1))),
            part(low(digits(2))),
            part(digits(3).saturating_add(below.saturating_mul(100))),
            part(self.whole.checked_div(10_000).unwrap_or_default()),
        ]
    }

    /// Adds an amount.
    pub fn add(&mut self, amount: Amount) {
        self.add_sum(&Self::from(amount));
    }

    /// Adds another sum.
    pub fn add_sum(&mut self, other: &Self) {
        let fraction = self.fraction.plus(other.fraction).units();
        let carried = fraction.checked_div(ONE).unwrap_or_default();
        self.fraction = Amount::of_units(fraction.checked_rem(ONE).unwrap_or_default());
        self.whole = self
            .whole
            .saturating_add(other.whole)
            .saturating_add(carried);
    }

    /// The difference from a sum that is not less.
    pub(super) fn below(&self, greater: &Self) -> Self {
        let borrowed = self.fraction > greater.fraction;
        let one = Amount::of_units(if borrowed { ONE } else { 0 });
        let whole = greater.whole.saturating_sub(self.whole);
        Self {
            whole: whole.saturating_sub(borrowed.into()),
            fraction: greater.fraction.plus(one).less(self.fraction),
        }
    }

    /// Its value, as far as an amount is that great.
    pub fn value(&self) -> Amount {
        let whole = self.whole.saturating_mul(ONE);
        Amount::of_units(whole.saturating_add(self.fraction.units()))
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Fractional digits that the exact value needs.
    pub fn places(&self) -> u32 {
        let text = self.text();
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        u32::try_from(fraction.len()).unwrap_or(u32::MAX)
    }

    /// The exact value, without zeros at its end.
    pub fn text(&self) -> String {
        let fraction = self.fraction.to_string();
        match fraction.split_once('.') {
            Some((_, digits)) => format!("{}.{digits}", self.whole),
            None => self.whole.to_string(),
        }
    }

    /// With so many fractional digits, rounded half away from zero where the exact value has more.
    pub fn shown(&self, places: u32) -> String {
        let cut = Amount::PLACES.saturating_sub(places);
        let step = 10_u128.checked_pow(cut).unwrap_or(1);
        let half = step.checked_div(2).unwrap_or_default();
        let mut rounded = *self;
        rounded.add(Amount::of_units(half));
        let units = rounded.fraction.units();
        let rest = units.checked_rem(step).unwrap_or_default();
        rounded.fraction = Amount::of_units(units.saturating_sub(rest));
        let text = rounded.text();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        if places == 0 {
            return whole.to_owned();
        }
        let width = usize::try_from(places).unwrap_or(usize::MAX);
        format!("{whole}.{fraction:0<width$}")
    }
}

impl From<Amount> for Sum {
    fn from(amount: Amount) -> Self {
        let units = amount.units();
        Self {
            whole: units.checked_div(ONE).unwrap_or_default(),
            fraction: Amount::of_units(units.checked_rem(ONE).unwrap_or_default()),
        }
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
        let greatest = Sum::from(parse("999999999.99999999999999999999").unwrap());
        let lines = 9_000_000_000_000;
        let columns = greatest.columns().map(|column| column.checked_mul(lines));
        let sum = Sum::of_columns(columns.map(|column| column.expect("63 bits")));
        assert_eq!(sum.text(), "8999999999999999999999.99999991");
    }

    #[test]
    fn sums_out_of_columns() {
        let cases = [
            ("nothing", [0; 5], "0"),
            ("the finest", [1, 0, 0, 0, 0], "0.00000000000000000001"),
            ("one of each", [1, 1, 1, 1, 1], "10000.01000001000001000001"),
            (
                "carried on",
                [999_999, 999_999, 999_999, 999_999 + 1, 0],
                "10000.00999999999999999999",
            ),
            ("much in each", [3_000_000, 0, 0, 0, 0], "0.00000000000003"),
            (
                "a column below zero",
                [-1, 0, 0, 0, 1],
                "9999.99999999999999999999",
            ),
            ("nothing, of two", [-1_000_000, 1, 0, 0, 0], "0"),
            ("less than nothing", [0, 0, 0, -1, 0], "0"),
            (
                "the most",
                [i64::MAX; 5],
                "92233812602360360430360.43036033812661775807",
            ),
        ];
        for (case, columns, want) in cases {
            assert_eq!(Sum::of_columns(columns).text(), want, "{case}");
        }
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
            let mut columns = [0; Sum::COLUMNS];
            for (units, places) in amounts {
                let digits = format!("{units:0>width$}", width = places + 1);
                let (whole, fraction) = digits.split_at(digits.len() - places);
                let text = if places == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") };
                sum.add(Amount::read(&text).unwrap());
                want += u128::from(units) * 10_u128.pow(u32::try_from(12 - places).unwrap());
                for (all, column) in columns.iter_mut().zip(Sum::parse(&text).unwrap().columns()) {
                    *all += column;
                }
            }
            prop_assert_eq!(Sum::of_columns(columns), sum);
            prop_assert_eq!(Sum::of_columns(sum.columns()), sum);
            let text = sum.shown(12).replace('.', "");
            prop_assert_eq!(text.parse::<u128>().unwrap(), want);
            prop_assert_eq!(Sum::parse(&sum.text()), Ok(sum));
        }
    }
}
