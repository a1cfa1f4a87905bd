//! Times and durations, on the command line and in texts. Times are in UTC, of the years 0 to 9999, and written to the
//! second.

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcOffset};
use trilane::limits::{Period, Window};

/// The units of a duration, in seconds.
const UNITS: [(char, i64); 5] = [
    ('s', 1),
    ('m', 60),
    ('h', 3600),
    ('d', 86_400),
    ('w', 604_800),
];

/// Reads an RFC 3339 time with any offset.
pub fn parse(text: &str) -> Option<OffsetDateTime> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let time = time.checked_to_offset(UtcOffset::UTC)?;
    (time.year() >= 0).then_some(time)
}

/// Reads a time of the command line: RFC 3339, or a day, which means its first moment in UTC.
///
/// # Errors
/// A description of the expected form.
pub fn parse_or_day(text: &str) -> Result<OffsetDateTime, String> {
    let day = || parse(&format!("{text}T00:00:00Z"));
    parse(text).or_else(day).ok_or_else(|| {
        "expected a day such as 2026-11-21 (UTC) or an RFC 3339 time such as 2026-11-21T17:00:00Z".to_owned()
    })
}

/// Reads a duration of the command line: a whole number and a unit. (`time` reads no durations.)
///
/// # Errors
/// A description of the expected form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = UNITS.iter().find_map(|(unit, seconds)| {
        let digits = text.strip_suffix(*unit)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = digits.parse().ok().filter(|_| is_number)?;
        number.checked_mul(*seconds)
    });
    match seconds {
        None => {
            Err("expected a number with s, m, h, d or w behind it, such as 12h or 30d".to_owned())
        }
        Some(0) => Err("must be more than nothing".to_owned()),
        Some(seconds) => Ok(Duration::seconds(seconds)),
    }
}

/// The time so long from now.
///
/// # Errors
/// It is beyond the year 9999.
pub fn from_now(duration: Duration) -> Result<OffsetDateTime, String> {
    let end = OffsetDateTime::now_utc().checked_add(duration);
    end.ok_or_else(|| "the time would end after the year 9999: leave it out for never".to_owned())
}

/// The time so many milliseconds later; `None` beyond the year 9999.
pub fn after(time: OffsetDateTime, milliseconds: u64) -> Option<OffsetDateTime> {
    let milliseconds = i64::try_from(milliseconds).ok()?;
    time.checked_add(Duration::milliseconds(milliseconds))
}

/// The time as RFC 3339.
pub fn text(time: OffsetDateTime) -> String {
    unix_text(time.unix_timestamp()).unwrap_or_default()
}

/// The present time as RFC 3339.
pub fn now() -> String {
    text(OffsetDateTime::now_utc())
}

/// Seconds since the Unix epoch as RFC 3339; `None` outside of the years 0 to 9999.
pub fn unix_text(seconds: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    time.format(&Rfc3339).ok()
}

/// A time in microseconds since 1970.
pub fn microseconds(time: OffsetDateTime) -> i64 {
    let microseconds = time.unix_timestamp_nanos().saturating_div(1000);
    i64::try_from(microseconds).unwrap_or(i64::MAX)
}

/// A moment in microseconds since 1970 as RFC 3339.
pub fn moment(microseconds: i64) -> String {
    unix_text(microseconds.div_euclid(1_000_000)).unwrap_or_default()
}

/// The hour of a time, as usage is added up by: `2026-11-24T17`.
pub fn hour(time: OffsetDateTime) -> String {
    format!("{}T{:02}", time.date(), time.hour())
}

/// The day or month of a moment in microseconds since 1970.
pub fn period(window: Window, microseconds: i64) -> Period {
    Period::at(window, microseconds.div_euclid(1_000_000))
}

/// A moment for readers without JavaScript: `2026-11-24 11:00 UTC`. What is no moment stays as it is.
pub fn utc(rfc3339: &str) -> String {
    let parts = rfc3339.split_once('T').and_then(|(day, time)| {
        let time = time.strip_suffix('Z')?;
        Some((day, time.get(..5)?))
    });
    parts.map_or_else(
        || rfc3339.to_owned(),
        |(day, time)| format!("{day} {time} UTC"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing() {
        let cases = [
            (
                "Envoy's form",
                "2026-11-21T17:00:00.123Z",
                Some("2026-11-21T17:00:00.123000000"),
            ),
            (
                "whole second",
                "2026-11-21T17:00:00Z",
                Some("2026-11-21T17:00:00.000000000"),
            ),
            (
                "nanoseconds",
                "2026-11-21T17:00:00.000000001Z",
                Some("2026-11-21T17:00:00.000000001"),
            ),
            (
                "more than nanoseconds",
                "2026-11-21T17:00:00.1234567899Z",
                Some("2026-11-21T17:00:00.123456789"),
            ),
            (
                "offset into the next day",
                "2026-12-31T23:30:00-01:00",
                Some("2027-01-01T00:30:00.000000000"),
            ),
            (
                "offset into the day before",
                "2026-11-01T01:30:00.5+02:00",
                Some("2026-10-31T23:30:00.500000000"),
            ),
            (
                "leap day",
                "2028-02-29T00:00:00Z",
                Some("2028-02-29T00:00:00.000000000"),
            ),
            ("no leap day", "2026-02-29T00:00:00Z", None),
            ("month 13", "2026-13-01T00:00:00Z", None),
            ("hour 24", "2026-11-21T24:00:00Z", None),
            ("no offset", "2026-11-21T17:00:00", None),
            ("empty fraction", "2026-11-21T17:00:00.Z", None),
            ("day", "2026-11-21", None),
            ("Unix time", "1795366800", None),
            (
                "out of the years by its offset",
                "9999-12-31T23:59:59-01:00",
                None,
            ),
            (
                "before the years by its offset",
                "0000-01-01T00:00:00+01:00",
                None,
            ),
            ("no ASCII", "２026-11-21T17:00:00Z", None),
            ("empty", "", None),
        ];
        for (case, given, want) in cases {
            let got = parse(given).map(|time| {
                let second = text(time).replace('Z', "");
                format!("{second}.{:09}", time.nanosecond())
            });
            assert_eq!(got.as_deref(), want, "{case}");
        }
    }

    #[test]
    fn times_and_days() {
        for (case, given, want) in [
            ("a day", "2027-01-01", Some("2027-01-01T00:00:00Z")),
            ("UTC", "2027-01-01T17:00:00Z", Some("2027-01-01T17:00:00Z")),
            (
                "an offset",
                "2027-01-01T00:30:00+01:00",
                Some("2026-12-31T23:30:00Z"),
            ),
            (
                "an offset to midnight",
                "2026-11-21T01:00:00+01:00",
                Some("2026-11-21T00:00:00Z"),
            ),
            (
                "a fraction",
                "2027-01-01T17:00:00.9Z",
                Some("2027-01-01T17:00:00Z"),
            ),
            ("no day", "2027-02-29", None),
            ("no day of a month", "2026-11-31", None),
            ("a month", "2026-11", None),
            ("no offset", "2027-01-01T17:00:00", None),
            ("no time", "tomorrow", None),
            ("empty", "", None),
        ] {
            let got = parse_or_day(given).ok().map(text);
            assert_eq!(got.as_deref(), want, "{case}");
        }
    }

    #[test]
    fn durations() {
        for (case, text, want) in [
            ("seconds", "90s", Some(90)),
            ("minutes", "15m", Some(900)),
            ("hours", "12h", Some(43_200)),
            ("days", "30d", Some(2_592_000)),
            ("weeks", "2w", Some(1_209_600)),
            ("none", "0d", None),
            ("no unit", "30", None),
            ("no number", "d", None),
            ("a sign", "-1d", None),
            ("another sign", "+1d", None),
            ("a fraction", "1.5d", None),
            ("too much", "99999999999999999999d", None),
            ("overflow", "9223372036854775807w", None),
            ("another unit", "1y", None),
            ("no ASCII", "1é", None),
            ("empty", "", None),
        ] {
            let got = parse_duration(text).ok().map(Duration::whole_seconds);
            assert_eq!(got, want, "{case}");
        }
        assert!(from_now(Duration::seconds(i64::MAX)).is_err());
    }

    #[test]
    fn later() {
        let cases = [
            ("2026-11-21T17:00:00.250Z", 0, Some("2026-11-21T17:00:00Z")),
            (
                "2026-11-21T23:59:59.250Z",
                749,
                Some("2026-11-21T23:59:59Z"),
            ),
            (
                "2026-11-21T23:59:59.250Z",
                750,
                Some("2026-11-22T00:00:00Z"),
            ),
            ("2026-12-31T23:59:59Z", 1000, Some("2027-01-01T00:00:00Z")),
            ("9999-12-31T23:59:59Z", 1000, None),
            ("2026-11-21T17:00:00Z", u64::MAX, None),
        ];
        for (given, milliseconds, want) in cases {
            let later = after(parse(given).unwrap(), milliseconds).map(text);
            assert_eq!(later.as_deref(), want, "{given} {milliseconds}");
        }
    }

    #[test]
    fn order_is_the_order_of_time() {
        let texts = [
            "2025-12-31T23:59:59.999Z",
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.001Z",
            "2026-01-01T02:00:00+01:00",
            "2026-01-01T02:00:00Z",
        ];
        let times: Vec<_> = texts.iter().map(|text| parse(text).unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}
