//! The time that a vendor asks to be left alone for, in the headers of a 429.

use time::OffsetDateTime;
use time::format_description::well_known::{Rfc2822, Rfc3339};

/// The quotas of a vendor that answers say something of: what is left, and when it is full again.
const QUOTAS: [[&str; 2]; 6] = [
    [
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ],
    ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
    [
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ],
    [
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ],
    [
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ],
    [
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ],
];

/// Returns the time in seconds, rounded up; `None` where the headers do not say. `wall_us` is now, in microseconds since the
/// Unix epoch.
///
/// `retry-after` (RFC 9110, 10.2.3) and `retry-after-ms` come first, then `anthropic-ratelimit-unified-reset`, then the longest
/// of the quotas that are used up.
pub fn told_wait(header: impl Fn(&str) -> Option<String>, wall_us: u64) -> Option<u64> {
    if let Some(milliseconds) = header("retry-after-ms").and_then(|text| decimal_ms(&text, 1)) {
        return Some(milliseconds.div_ceil(1000));
    }
    let direct = ["retry-after", "anthropic-ratelimit-unified-reset"];
    for name in direct {
        if let Some(seconds) = header(name).and_then(|text| seconds(text.trim(), wall_us)) {
            return Some(seconds);
        }
    }
    let used_up = QUOTAS
        .iter()
        .filter(|[left, _]| header(left).as_deref() == Some("0"));
    let waits = used_up.filter_map(|[_, reset]| seconds(header(reset)?.trim(), wall_us));
    waits.max()
}

/// Seconds, a length such as `6m0s`, a time of the Unix epoch, or a date.
fn seconds(text: &str, wall_us: u64) -> Option<u64> {
    /// The greatest number that is a length of time; a greater one is a time.
    const EPOCH: u64 = 1_000_000_000;
    let now_ms = wall_us / 1000;
    let left = |then_ms: u64| then_ms.saturating_sub(now_ms).div_ceil(1000);
    if let Some(milliseconds) = decimal_ms(text, 1000) {
        let is_time = milliseconds / 1000 > EPOCH;
        return Some(if is_time {
            left(milliseconds)
        } else {
            milliseconds.div_ceil(1000)
        });
    }
    if let Some(milliseconds) = length_ms(text) {
        return Some(milliseconds.div_ceil(1000));
    }
    // A date of HTTP ends in GMT, which is the same as +0000.
    let http = || OffsetDateTime::parse(&text.replace("GMT", "+0000"), &Rfc2822).ok();
    let date = OffsetDateTime::parse(text, &Rfc3339).ok().or_else(http)?;
    let then_ms = date.unix_timestamp().checked_mul(1000)?;
    Some(left(u64::try_from(then_ms).unwrap_or(0)))
}

/// A decimal number of units of so many milliseconds, in milliseconds; digits behind the third decimal do not count.
fn decimal_ms(text: &str, unit_ms: u64) -> Option<u64> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}");
    let thousandths: u64 = thousandths.get(..3)?.parse().ok()?;
    let parts = thousandths.checked_mul(unit_ms)?.div_ceil(1000);
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(unit_ms)?
        .checked_add(parts)
}

/// A length as Go writes it: `1h2m3.5s`, `120ms`.
fn length_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !(it.is_ascii_digit() || it == '.'))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
        let (unit, unit_ms) = units
            .into_iter()
            .find(|(unit, _)| after.starts_with(unit))?;
        total = total.checked_add(decimal_ms(number, unit_ms)?)?;
        rest = after.strip_prefix(unit)?;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-29T12:00:00Z
    const NOW_US: u64 = 1_795_953_600_000_000;

    #[test]
    fn what_vendors_ask_for() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<u64>);
        let cases: &[Case<'_>] = &[
            ("nothing", &[], None),
            ("seconds", &[("retry-after", "3600")], Some(3600)),
            ("a part of a second", &[("retry-after", "0.25")], Some(1)),
            ("at once", &[("retry-after", "0")], Some(0)),
            (
                "a date",
                &[("retry-after", "Sun, 29 Nov 2026 12:01:00 GMT")],
                Some(60),
            ),
            (
                "a date that is past",
                &[("retry-after", "Sun, 29 Nov 2026 11:00:00 GMT")],
                Some(0),
            ),
            ("nonsense", &[("retry-after", "soon")], None),
            ("negative", &[("retry-after", "-1")], None),
            (
                "too great to count",
                &[("retry-after", "99999999999999999999")],
                None,
            ),
            (
                "milliseconds first",
                &[("retry-after", "7"), ("retry-after-ms", "1500")],
                Some(2),
            ),
            (
                "a time",
                &[("anthropic-ratelimit-unified-reset", "1795957200")],
                Some(3600),
            ),
            (
                "retry-after before a time",
                &[
                    ("retry-after", "5"),
                    ("anthropic-ratelimit-unified-reset", "1795957200"),
                ],
                Some(5),
            ),
            (
                "the quota that is used up",
                &[
                    ("x-ratelimit-remaining-requests", "10"),
                    ("x-ratelimit-reset-requests", "1h"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0.5s"),
                ],
                Some(361),
            ),
            (
                "the longer of two",
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2026-11-29T12:00:10Z"),
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    (
                        "anthropic-ratelimit-input-tokens-reset",
                        "2026-11-29T12:00:30Z",
                    ),
                ],
                Some(30),
            ),
            (
                "milliseconds of a quota",
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "120ms"),
                ],
                Some(1),
            ),
            (
                "no quota is used up",
                &[
                    ("x-ratelimit-remaining-requests", "1"),
                    ("x-ratelimit-reset-requests", "120ms"),
                ],
                None,
            ),
        ];
        for (case, headers, want) in cases {
            let header = |name: &str| {
                let found = headers.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(told_wait(header, NOW_US), *want, "{case}");
        }
    }

    proptest::proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn any_header_is_read_or_not(text in "\\PC*") {
            let _ = told_wait(|_| Some(text.clone()), NOW_US);
        }
    }
}
