//! Exact decimals: read strictly, added and multiplied without ever rounding.

use rust_decimal::Decimal;

/// The advice to whoever writes a comma.
pub const COMMA: &str = "has a comma: write it without separators and with a point before decimals, such as \"1000.50\"";

/// The reason why a text is not accepted as a decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Signs, exponents, spaces, a missing part: not plain digits with at most one point.
    NotPlain,
    /// A comma, which separates thousands for some and decimals for others.
    Comma,
    /// More fractional digits than allowed.
    TooManyPlaces,
    /// Over the greatest value.
    OutOfRange,
}

/// Reads a plain decimal number such as `0.2000`, not negative.
///
/// # Errors
/// The [`Fault`]; out of range is what has more than 28 digits.
pub fn plain(text: &str) -> Result<Decimal, Fault> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(if text.contains(',') {
            Fault::Comma
        } else {
            Fault::NotPlain
        });
    }
    Decimal::from_str_exact(text).map_err(|_| Fault::OutOfRange)
}

/// Reads a plain decimal number with at most `places` fractional digits, and at most `max`.
///
/// # Errors
/// The [`Fault`].
pub fn bounded(text: &str, places: usize, max: u32) -> Result<Decimal, Fault> {
    let value = plain(text)?;
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    if fraction.len() > places {
        return Err(Fault::TooManyPlaces);
    }
    if value > Decimal::from(max) {
        return Err(Fault::OutOfRange);
    }
    Ok(value)
}

/// Reads money as people write it: a [`bounded`] number, which may have a dollar sign in front.
///
/// # Errors
/// The [`Fault`].
pub fn money(text: &str, places: usize, max: u32) -> Result<Decimal, Fault> {
    bounded(text.strip_prefix('$').unwrap_or(text), places, max)
}

/// The exact product; `None` where it has more digits than the type holds.
///
/// [`Decimal`] rounds silently where a product's 96 bits or 28 places do not suffice; only then has
/// it fewer places than both factors together.
pub fn product(a: Decimal, b: Decimal) -> Option<Decimal> {
    if a.is_zero() || b.is_zero() {
        return Some(Decimal::ZERO);
    }
    let places = a.scale().checked_add(b.scale())?;
    a.checked_mul(b).filter(|exact| exact.scale() == places)
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    // Nearly all fit in 64 bits, which takes much less.
    let short = 10_u64.checked_pow(exponent).map(i128::from);
    short.or_else(|| 10_i128.checked_pow(exponent))
}

/// The exact sum; `None` where it has more digits than the type holds, whose own addition would round.
pub fn sum(a: Decimal, b: Decimal) -> Option<Decimal> {
    let (coarse, fine) = if a.scale() <= b.scale() {
        (a, b)
    } else {
        (b, a)
    };
    if coarse.is_zero() {
        return Some(fine);
    }
    let shift = fine.scale().checked_sub(coarse.scale())?;
    let raised = coarse.mantissa().checked_mul(power_of_ten(shift)?)?;
    let mut mantissa = raised.checked_add(fine.mantissa())?;
    let mut scale = fine.scale();
    loop {
        if let Ok(sum) = Decimal::try_from_i128_with_scale(mantissa, scale) {
            return Some(sum);
        }
        // 0.5 + 0.5 needs no fractional digit any more.
        if mantissa.checked_rem(10)? != 0 {
            return None;
        }
        mantissa = mantissa.checked_div(10)?;
        scale = scale.checked_sub(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parsing() {
        let cases = [
            ("places", "0.200", Ok("0.200")),
            ("integer", "2", Ok("2")),
            ("zero", "0", Ok("0")),
            ("greatest", "1000", Ok("1000")),
            ("too many places", "0.2001", Err(Fault::TooManyPlaces)),
            ("trailing zeros count", "0.2000", Err(Fault::TooManyPlaces)),
            ("negative", "-1", Err(Fault::NotPlain)),
            ("sign", "+1", Err(Fault::NotPlain)),
            ("exponent", "1e3", Err(Fault::NotPlain)),
            ("no whole part", ".5", Err(Fault::NotPlain)),
            ("no fraction", "1.", Err(Fault::NotPlain)),
            ("two points", "1.2.3", Err(Fault::NotPlain)),
            ("empty", "", Err(Fault::NotPlain)),
            ("space", " 1", Err(Fault::NotPlain)),
            ("thousands", "1,000.5", Err(Fault::Comma)),
            ("a decimal comma", "1,5", Err(Fault::Comma)),
            ("a sign of money", "$1", Err(Fault::NotPlain)),
            ("other digits", "\u{661}", Err(Fault::NotPlain)),
            ("too great", "1000.001", Err(Fault::OutOfRange)),
            (
                "far too great",
                "99999999999999999999999999999999",
                Err(Fault::OutOfRange),
            ),
        ];
        for (case, text, want) in cases {
            let got = bounded(text, 3, 1000).map(|value| value.to_string());
            assert_eq!(got, want.map(str::to_owned), "{case}");
        }
    }

    #[test]
    fn money_may_have_a_dollar_sign() {
        let cases = [
            ("$10", Ok("10")),
            ("10.5", Ok("10.5")),
            ("$0.25", Ok("0.25")),
            ("$", Err(Fault::NotPlain)),
            ("$$1", Err(Fault::NotPlain)),
            ("1$", Err(Fault::NotPlain)),
            ("$ 1", Err(Fault::NotPlain)),
            ("$-1", Err(Fault::NotPlain)),
            ("\u{20ac}1", Err(Fault::NotPlain)),
            ("$1,000.50", Err(Fault::Comma)),
            ("$1000.001", Err(Fault::OutOfRange)),
        ];
        for (text, want) in cases {
            let got = money(text, 3, 1000).map(|value| value.to_string());
            assert_eq!(got, want.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_no_number() {
        let decimal = |text: &str| Decimal::from_str_exact(text).unwrap();
        let great = decimal("79228162514264337593543950335");
        assert_eq!(product(great, decimal("1.1")), None, "too great");
        assert_eq!(sum(great, decimal("0.1")), None, "no place for the tenth");
        let small = decimal("0.000000000000001");
        assert_eq!(product(small, small), None, "30 places");
        assert_eq!(product(small, Decimal::ZERO), Some(Decimal::ZERO), "zero");
        assert_eq!(sum(great, Decimal::ZERO), Some(great), "plus zero");
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn arithmetic_is_that_of_integers(a in 0i64.., b in 0i64.., places in 0u32..10, more in 0u32..10) {
            let (x, y) = (Decimal::new(a, places), Decimal::new(b, places + more));
            let want = i128::from(a) * i128::from(b);
            if let Some(got) = product(x, y) {
                let want = Decimal::try_from_i128_with_scale(want, places * 2 + more);
                prop_assert_eq!(Ok(got), want);
            } else {
                prop_assert!(want >= 1 << 95, "{} fits", want);
            }
            let want = i128::from(a) * 10i128.pow(more) + i128::from(b);
            if let Some(got) = sum(x, y) {
                let want = Decimal::try_from_i128_with_scale(want, places + more);
                prop_assert_eq!(Ok(got), want);
            } else {
                prop_assert!(want >= 1 << 95, "{} fits", want);
            }
        }
    }
}
