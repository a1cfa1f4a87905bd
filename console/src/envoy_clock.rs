//! The clock of an Envoy, beside the console's.
//!
//! Lines of the ledger have the time of their Envoy, and usage and spend are counted by it. Where that clock is off by more than
//! [`TRUSTED`], days are the console's: its lines count at the time that the console's clock had. The offset is measured whenever an
//! agent says how it stands, every two seconds, and a line is shifted by what it was last. What was written before a clock was set
//! has the offset of after.

use time::{Duration, OffsetDateTime};

/// The largest offset of a clock that is not corrected.
pub const TRUSTED: Duration = Duration::minutes(5);

/// Returns the offset of a clock, in milliseconds, from `now`, in microseconds since 1970; positive: the clock is ahead.
pub fn offset(clock: OffsetDateTime, now: i64) -> i64 {
    let clock = clock.unix_timestamp_nanos().div_euclid(1_000_000);
    let offset = clock.saturating_sub(i128::from(now.div_euclid(1000)));
    i64::try_from(offset).unwrap_or_default()
}

/// By how much times of an Envoy are to be set back, of which this was measured.
pub fn correction(offset: Option<i64>) -> Duration {
    let offset = Duration::milliseconds(offset.unwrap_or_default());
    if offset.abs() > TRUSTED {
        offset
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn offsets_and_what_they_correct() {
        let now = datetime!(2026-11-28 12:00 UTC);
        let microseconds = now.unix_timestamp() * 1_000_000;
        for (case, clock, milliseconds, corrected) in [
            ("the same", now, 0, 0),
            (
                "a little ahead",
                datetime!(2026-11-28 12:00:00.250 UTC),
                250,
                0,
            ),
            (
                "as far as is trusted",
                datetime!(2026-11-28 12:05 UTC),
                300_000,
                0,
            ),
            (
                "further",
                datetime!(2026-11-28 12:05:00.001 UTC),
                300_001,
                300_001,
            ),
            (
                "behind",
                datetime!(2026-11-27 12:00 UTC),
                -86_400_000,
                -86_400_000,
            ),
            (
                "in the first year",
                datetime!(0000-01-01 0:00 UTC),
                -63_963_086_400_000,
                -63_963_086_400_000,
            ),
        ] {
            let measured = offset(clock, microseconds);
            assert_eq!(measured, milliseconds, "{case}");
            let correction = correction(Some(measured));
            assert_eq!(correction, Duration::milliseconds(corrected), "{case}");
        }
        assert_eq!(correction(None), Duration::ZERO);
    }
}
