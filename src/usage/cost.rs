//! The cost of an answer by its vendor's word, digit by digit: no float is between.

/// The most digits that an amount may have, as many as a charge.
const MAX_DIGITS: usize = 28;

/// Places by which xAI's ticks are smaller than a dollar.
const TICK_PLACES: usize = 10;

/// The amount that a JSON number is, without exponent and needless zeros; nothing if it is less than zero, or has more
/// digits than are kept.
pub(super) fn amount(number: &str) -> Option<String> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let places = i64::try_from(fraction.len()).ok()?;
    written(&digits, places.checked_sub(exponent.into())?)
}

/// Converts xAI's ticks to dollars.
pub(super) fn ticks(ticks: u64) -> Option<String> {
    written(&ticks.to_string(), i64::try_from(TICK_PLACES).ok()?)
}

/// Digits of which so many stand behind the point.
fn written(digits: &str, places: i64) -> Option<String> {
    let digits = digits.trim_start_matches('0');
    let zeros = digits
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'0')
        .count();
    let digits = digits.get(..digits.len().checked_sub(zeros)?)?;
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let places = places.checked_sub(i64::try_from(zeros).ok()?)?;
    let behind = usize::try_from(places).unwrap_or(0);
    let added = usize::try_from(places.checked_neg()?).unwrap_or(0);
    let length = digits.len().max(behind).checked_add(added)?;
    if length > MAX_DIGITS {
        return None;
    }
    let mut all = "0".repeat(behind.saturating_sub(digits.len()));
    all.push_str(digits);
    all.push_str(&"0".repeat(added));
    let (whole, fraction) = all.split_at_checked(all.len().checked_sub(behind)?)?;
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match fraction {
        "" => whole.to_owned(),
        _ => [whole, ".", fraction].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    #[test]
    fn amounts_are_what_was_written() {
        let cases = [
            ("0", Some("0")),
            ("0.0", Some("0")),
            ("0e9", Some("0")),
            ("1", Some("1")),
            ("0.0123", Some("0.0123")),
            ("12.340", Some("12.34")),
            ("1.5e-05", Some("0.000015")),
            ("1E+3", Some("1000")),
            ("1200e-2", Some("12")),
            (
                "0.1234567890123456789012345678",
                Some("0.1234567890123456789012345678"),
            ),
            ("0.12345678901234567890123456789", None),
            ("1e28", None),
            ("1e27", Some("1000000000000000000000000000")),
            ("1e-28", Some("0.0000000000000000000000000001")),
            ("1e-29", None),
            ("1e999999999999", None),
            ("1e-2147483648", None),
            ("1e2147483647", None),
            ("-0.5", None),
            ("-0", None),
            ("", None),
            ("e5", None),
            (".5", None),
            ("1.2.3", None),
            ("1e", None),
            ("1-2", None),
        ];
        for (number, want) in cases {
            assert_eq!(amount(number).as_deref(), want, "{number}");
        }
        for (count, want) in [
            (0, "0"),
            (1, "0.0000000001"),
            (94_000, "0.0000094"),
            (10_000_000_000, "1"),
            (u64::MAX, "1844674407.3709551615"),
        ] {
            assert_eq!(ticks(count).as_deref(), Some(want), "{count} ticks");
        }
    }

    proptest! {
        #[test]
        fn an_amount_is_the_decimal(mantissa in 0..10_u64.pow(12), places in 0..12_u32, exponent in -9..9_i32) {
            let number = format!("{}e{exponent}", Decimal::new(mantissa as i64, places));
            let got = Decimal::from_str_exact(&amount(&number).unwrap()).unwrap();
            let scaled = Decimal::new(mantissa as i64, places);
            let power = Decimal::from(10_u64.pow(exponent.unsigned_abs()));
            let want = if exponent < 0 { scaled / power } else { scaled * power };
            prop_assert_eq!(got, want);
        }
    }
}
