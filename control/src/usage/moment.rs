//! Points in time, always UTC.

use time::format_description::well_known::Rfc3339;
use time::{Date, Duration, Month, OffsetDateTime, Time, UtcOffset};

/// A point in time of the years 0 to 9999, UTC.
///
/// It is kept as text, because that is what a ledger line has and what is shown; of fixed width, so
/// that the order of the texts is the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// `YYYY-MM-DDTHH:MM:SS`.
    second: [u8; 19],
    /// Nanoseconds within the second.
    nano: u32,
}

impl Moment {
    /// Bytes of a [`day`](Self::day).
    pub const DAY: usize = 10;
    /// Bytes of a [`month`](Self::month).
    pub const MONTH: usize = 7;

    /// Reads an RFC 3339 timestamp with any offset.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_zulu(text.as_bytes()).or_else(|| {
            let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
            Self::of(moment.checked_to_offset(UtcOffset::UTC)?)
        })
    }

    /// Reads the end of a period: an RFC 3339 timestamp, or a day, which means its first moment.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse_bound(text: &str) -> Result<Self, String> {
        let day = || Self::parse_zulu(format!("{text}T00:00:00Z").as_bytes());
        Self::parse(text).or_else(day).ok_or_else(|| {
            "expected a day such as 2026-11-21 (UTC) or an RFC 3339 time such as 2026-11-21T17:00:00Z".to_owned()
        })
    }

    /// The day as `YYYY-MM-DD`.
    pub fn day(&self) -> &[u8] {
        self.first(Self::DAY)
    }

    /// The hour as `YYYY-MM-DDTHH`.
    pub fn hour(&self) -> &[u8] {
        self.first(13)
    }

    /// The month as `YYYY-MM`.
    pub fn month(&self) -> &[u8] {
        self.first(Self::MONTH)
    }

    /// To the second: RFC 3339.
    pub fn text(&self) -> String {
        format!("{}Z", String::from_utf8_lossy(&self.second))
    }

    /// The moment so much later; `None` where that is beyond the years.
    pub fn after(&self, milliseconds: u64) -> Option<Self> {
        let moment = OffsetDateTime::parse(&self.text(), &Rfc3339).ok()?;
        let milliseconds = i64::try_from(milliseconds).ok()?;
        let later = moment
            .replace_nanosecond(self.nano)
            .ok()?
            .checked_add(Duration::milliseconds(milliseconds))?;
        Self::of(later).filter(|_| later.year() <= 9999)
    }

    fn first(&self, length: usize) -> &[u8] {
        self.second.get(..length).unwrap_or_default()
    }

    /// The form that Envoy writes, `2026-11-21T17:00:00.123Z`, without the detours of the general form.
    fn parse_zulu(text: &[u8]) -> Option<Self> {
        let (second, rest) = text.split_first_chunk::<19>()?;
        let shape = b"0000-00-00T00:00:00".iter().zip(second);
        for (want, got) in shape {
            let fits = if *want == b'0' {
                got.is_ascii_digit()
            } else {
                want == got
            };
            if !fits {
                return None;
            }
        }
        let [
            y1,
            y2,
            y3,
            y4,
            _,
            m1,
            m2,
            _,
            d1,
            d2,
            _,
            h1,
            h2,
            _,
            n1,
            n2,
            _,
            s1,
            s2,
        ] = *second;
        let year = i32::from(two(y1, y2))
            .wrapping_mul(100)
            .wrapping_add(i32::from(two(y3, y4)));
        let month = Month::try_from(two(m1, m2)).ok()?;
        Date::from_calendar_date(year, month, two(d1, d2)).ok()?;
        Time::from_hms(two(h1, h2), two(n1, n2), two(s1, s2)).ok()?;
        let nano = match rest {
            b"Z" => 0,
            [b'.', fraction @ .., b'Z'] => nanoseconds(fraction)?,
            _ => return None,
        };
        Some(Self {
            second: *second,
            nano,
        })
    }

    fn of(moment: OffsetDateTime) -> Option<Self> {
        let (year, month, day) = (moment.year(), u8::from(moment.month()), moment.day());
        let (hour, minute, second) = moment.to_hms();
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        Some(Self {
            second: text.into_bytes().try_into().ok()?,
            nano: moment.nanosecond(),
        })
    }
}

/// The number that two decimal digits write.
fn two(tens: u8, ones: u8) -> u8 {
    (tens & 0x0f).wrapping_mul(10).wrapping_add(ones & 0x0f)
}

/// The fraction of a second in nanoseconds; further digits are cut off.
fn nanoseconds(fraction: &[u8]) -> Option<u32> {
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction
        .iter()
        .copied()
        .chain(std::iter::repeat(b'0'))
        .take(9);
    Some(digits.fold(0_u32, |sum, digit| {
        sum.wrapping_mul(10).wrapping_add(u32::from(digit & 0x0f))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let moment = Moment::parse(text)?;
        Some(format!(
            "{}.{:09}",
            str::from_utf8(&moment.second).unwrap(),
            moment.nano
        ))
    }

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
            ("no ASCII", "２026-11-21T17:00:00Z", None),
            ("empty", "", None),
        ];
        for (case, text, want) in cases {
            assert_eq!(shown(text).as_deref(), want, "{case}");
        }
    }

    #[test]
    fn parts() {
        let moment = Moment::parse("2026-11-01T00:30:00+01:00").unwrap();
        assert_eq!(moment.month(), b"2026-10");
        assert_eq!(moment.day(), b"2026-10-31");
        assert_eq!(moment.hour(), b"2026-10-31T23");
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
        for (text, milliseconds, want) in cases {
            let later = Moment::parse(text).unwrap().after(milliseconds);
            let later = later.map(|moment| moment.text());
            assert_eq!(later.as_deref(), want, "{text} {milliseconds}");
        }
    }

    #[test]
    fn bounds() {
        let midnight = Moment::parse("2026-11-21T00:00:00Z").unwrap();
        assert_eq!(Moment::parse_bound("2026-11-21"), Ok(midnight));
        assert_eq!(
            Moment::parse_bound("2026-11-21T01:00:00+01:00"),
            Ok(midnight)
        );
        for text in ["2026-11", "yesterday", "2026-11-31", ""] {
            assert!(Moment::parse_bound(text).is_err(), "{text}");
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
        let moments: Vec<_> = texts
            .iter()
            .map(|text| Moment::parse(text).unwrap())
            .collect();
        assert!(moments.is_sorted(), "{moments:?}");
    }
}
