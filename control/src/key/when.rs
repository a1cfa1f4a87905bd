//! Times and spans of time on the command line.

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcOffset};

use crate::terminal::moment;

/// Reads a time: RFC 3339, or a day, which means its first moment in UTC.
///
/// # Errors
/// What is expected instead.
pub fn time(text: &str) -> Result<OffsetDateTime, String> {
    let parse = |text: &str| {
        OffsetDateTime::parse(text, &Rfc3339)
            .ok()?
            .checked_to_offset(UtcOffset::UTC)
    };
    let day = || parse(&format!("{text}T00:00:00Z"));
    parse(text).or_else(day).ok_or_else(|| {
        "expected a day such as 2027-01-01 (UTC) or an RFC 3339 time such as 2027-01-01T17:00:00Z".to_owned()
    })
}

/// Reads a span of time: a whole number and a unit.
///
/// # Errors
/// What is expected instead.
pub fn span(text: &str) -> Result<Duration, String> {
    let wrong =
        || "expected a number with s, m, h, d or w behind it, such as 12h or 30d".to_owned();
    let (at, unit) = text.char_indices().next_back().ok_or_else(wrong)?;
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let digits = text.get(..at).unwrap_or_default();
    let number = digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse::<i64>().ok());
    let seconds = number
        .flatten()
        .and_then(|number| number.checked_mul(seconds))
        .ok_or_else(wrong)?;
    if seconds == 0 {
        return Err("must be more than nothing".to_owned());
    }
    Ok(Duration::seconds(seconds))
}

/// The end of a span that begins now.
///
/// # Errors
/// It is beyond the year 9999.
pub fn end_of(span: Duration) -> Result<OffsetDateTime, String> {
    let end = OffsetDateTime::now_utc().checked_add(span);
    end.ok_or_else(|| "the time would end after the year 9999: leave it out for never".to_owned())
}

/// As a document writes it.
pub fn written(time: OffsetDateTime) -> String {
    moment(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (case, text, want) in [
            ("a day", "2027-01-01", Some("2027-01-01T00:00:00Z")),
            ("UTC", "2027-01-01T17:00:00Z", Some("2027-01-01T17:00:00Z")),
            (
                "an offset",
                "2027-01-01T00:30:00+01:00",
                Some("2026-12-31T23:30:00Z"),
            ),
            (
                "a fraction",
                "2027-01-01T17:00:00.9Z",
                Some("2027-01-01T17:00:00Z"),
            ),
            ("no day", "2027-02-29", None),
            ("no offset", "2027-01-01T17:00:00", None),
            ("no time", "tomorrow", None),
            ("empty", "", None),
        ] {
            assert_eq!(time(text).ok().map(written).as_deref(), want, "{case}");
        }
    }

    #[test]
    fn spans() {
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
            ("a fraction", "1.5d", None),
            ("too much", "99999999999999999999d", None),
            ("overflow", "9223372036854775807w", None),
            ("another unit", "1y", None),
            ("no ASCII", "1é", None),
            ("empty", "", None),
        ] {
            assert_eq!(span(text).ok().map(Duration::whole_seconds), want, "{case}");
        }
        assert!(end_of(Duration::seconds(i64::MAX)).is_err());
    }
}
