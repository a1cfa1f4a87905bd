//! The form of values on pages.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use trilane::money::Amount;

pub use crate::timestamp::utc;

/// The significant digits that rounding leaves of an amount below one.
const SIGNIFICANT: u128 = 10;

/// A moment as a clock shows it: `11:00:42 UTC`. What is no moment gives nothing.
pub fn clock(rfc3339: &str) -> String {
    let time = rfc3339.split_once('T').and_then(|(_, time)| time.get(..8));
    time.map_or_else(String::new, |time| format!("{time} UTC"))
}

/// Milliseconds as people read them: `812 ms`, `1.83 s`, `2 min 5 s`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    match milliseconds {
        ..1000 => t!("{count} ms", count = milliseconds),
        1000..60_000 => {
            let hundredths = milliseconds.rem_euclid(1000).div_euclid(10);
            t!("{count} s", count = format!("{seconds}.{hundredths:02}"))
        }
        _ => t!(
            "{minutes} min {seconds} s",
            minutes = count(seconds.div_euclid(60)),
            seconds = seconds.rem_euclid(60)
        ),
    }
}

/// A whole number with commas, of what is counted.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A whole number with commas: `1,284`.
pub fn number(value: &i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let sign = if *value < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(&digits))
}

/// Bytes as people read them: `812 B`, `4.0 KB`, `1.8 GB`, in steps of 1024.
pub fn bytes(bytes: i64) -> String {
    let mut tenths = bytes.max(0).unsigned_abs().saturating_mul(10);
    let mut units = ["KB", "MB", "GB", "TB"].into_iter();
    let mut unit = None;
    while tenths >= 10_240 {
        let Some(next) = units.next() else { break };
        unit = Some(next);
        tenths = tenths.div_euclid(1024);
    }
    let whole = count(tenths.div_euclid(10));
    unit.map_or_else(
        || format!("{whole} B"),
        |unit| format!("{whole}.{} {unit}", tenths.rem_euclid(10)),
    )
}

/// An amount with every digit, at least two places and commas: `1,904.77`. What is none stays as it is.
pub fn money(amount: &str) -> String {
    let (sign, plain) = match amount.strip_prefix('-') {
        Some(plain) => ("−", plain),
        None => ("", amount),
    };
    let Ok(exact) = Amount::read(plain) else {
        return amount.to_owned();
    };
    let text = exact.to_string();
    let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
    format!("{sign}{}.{places:0<2}", grouped(whole))
}

/// An amount with its currency: `$1.50`, `1.50 EUR`.
pub fn amount(currency: &str, value: &str) -> String {
    match currency {
        "USD" => format!("${}", money(value)),
        "" => money(value),
        other => format!("{} {other}", money(value)),
    }
}

/// Rounds an amount to these decimal places, or to as many more as leave two significant digits. What is none stays as it is.
pub fn rounded(value: &str, least: u32) -> String {
    let (sign, plain) = match value.strip_prefix('-') {
        Some(plain) => ("-", plain),
        None => ("", value),
    };
    let Ok(exact) = Amount::read(plain) else {
        return value.to_owned();
    };
    let at = |places: u32| {
        let step = 10_u128.pow(Amount::PLACES.saturating_sub(places));
        let half = step.div_euclid(2);
        let steps = exact.units().saturating_add(half).div_euclid(step);
        (steps, step)
    };
    let mut steps = (least..=Amount::PLACES).map(at);
    let rounded = steps.find(|(steps, _)| *steps >= SIGNIFICANT);
    let rounded = rounded.and_then(|(steps, step)| steps.checked_mul(step));
    rounded.map_or_else(
        || value.to_owned(),
        |units| format!("{sign}{}", Amount::of_units(units)),
    )
}

/// The share of a part in a whole, in whole percent: 100 or more for all of it and more.
pub fn percent(part: &str, whole: &str) -> u64 {
    let (Ok(part), Ok(whole)) = (Amount::read(part), Amount::read(whole)) else {
        return 0;
    };
    let share = part.units().saturating_mul(100).checked_div(whole.units());
    // Of nothing, all is used.
    share.map_or(100, |share| u64::try_from(share).unwrap_or(u64::MAX))
}

/// The look of a budget of which so many percent are spent: `warn` from 80 on, `bad` when it is spent.
pub fn fullness(percent: u64) -> &'static str {
    match percent {
        100.. => "bad",
        80..=99 => "warn",
        _ => "",
    }
}

/// A member of a team, by the names of both.
pub fn in_team(person: &str, team: &str) -> String {
    t!("{person} in the team {team}", person = person, team = team)
}

/// A part of a path, whatever letters it has.
pub fn in_path(part: &str) -> String {
    utf8_percent_encode(part, NON_ALPHANUMERIC).to_string()
}

/// A path with a query of these pairs.
pub fn path_with(path: &str, pairs: &[(&str, &str)]) -> String {
    let start = format!("{path}?");
    let length = start.len();
    let mut query = form_urlencoded::Serializer::for_suffix(start, length);
    for (name, value) in pairs {
        query.append_pair(name, value);
    }
    query.finish()
}

/// A day or an hour of sums for people: `2026-11-24 22:00`.
pub fn hour(period: &str) -> String {
    period.split_once('T').map_or_else(
        || period.to_owned(),
        |(day, hour)| format!("{day} {hour}:00"),
    )
}

/// A time that a field of type `datetime-local` has, in UTC, as the API wants it. Anything else stays as it is.
pub fn from_local(typed: &str) -> String {
    match typed.len() {
        16 => format!("{typed}:00Z"),
        19 => format!("{typed}Z"),
        _ => typed.to_owned(),
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        let left = digits.len().saturating_sub(place);
        if place > 0 && left.checked_rem(3) == Some(0) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_their_unit() {
        for (of, want) in [
            (0, "0 B"),
            (1023, "1,023 B"),
            (1024, "1.0 KB"),
            (1_048_575, "1,023.9 KB"),
            (1_932_735_283, "1.7 GB"),
            (i64::MAX, "1,677,721.5 TB"),
        ] {
            assert_eq!(bytes(of), want, "{of}");
        }
    }

    #[test]
    fn as_people_read_it() {
        for (amount, want) in [
            ("0", "0.00"),
            ("1904.77", "1,904.77"),
            ("0.000012300", "0.0000123"),
            ("1234567.5", "1,234,567.50"),
            ("-12.5", "−12.50"),
            ("none", "none"),
        ] {
            assert_eq!(money(amount), want);
        }
        for (value, want) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (-1_234_567, "−1,234,567"),
        ] {
            assert_eq!(number(&value), want);
        }
        for (currency, want) in [("USD", "$1.50"), ("EUR", "1.50 EUR"), ("", "1.50")] {
            assert_eq!(amount(currency, "1.5"), want);
        }
        for (part, whole, want) in [
            ("0", "10", 0),
            ("9.99", "10", 99),
            ("10", "10", 100),
            ("11", "10", 110),
            ("68.36", "20", 341),
            ("1", "0", 100),
            ("x", "1", 0),
            ("-1", "1", 0),
        ] {
            assert_eq!(percent(part, whole), want, "{part} of {whole}");
        }
        for (typed, want) in [
            ("2027-01-01T00:00", "2027-01-01T00:00:00Z"),
            ("2027-01-01T00:00:30", "2027-01-01T00:00:30Z"),
            ("soon", "soon"),
        ] {
            assert_eq!(from_local(typed), want);
        }
        assert_eq!(utc("2026-11-24T11:00:42Z"), "2026-11-24 11:00 UTC");
        assert_eq!(utc("soon"), "soon");
        assert_eq!(clock("2026-11-24T11:00:42.123Z"), "11:00:42 UTC");
        assert_eq!(clock("soon"), "");
        for (milliseconds, want) in [
            (0, "0 ms"),
            (812, "812 ms"),
            (1_000, "1.00 s"),
            (1_837, "1.83 s"),
            (59_999, "59.99 s"),
            (125_000, "2 min 5 s"),
        ] {
            assert_eq!(duration(milliseconds), want);
        }
    }
}
