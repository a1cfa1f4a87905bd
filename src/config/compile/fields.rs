//! Fields of one form that several objects of a document have.

use core::fmt::Display;
use core::ops::RangeInclusive;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::config::error::Problems;
use crate::money::Multiplier;

/// A required multiplier.
pub(super) fn multiplier(text: Option<&str>, path: &str, problems: &mut Problems) -> Multiplier {
    text.map_or(Err("is missing"), Multiplier::parse)
        .unwrap_or_else(|reason| {
            problems.push(path, reason);
            Multiplier::ONE
        })
}

/// An RFC 3339 time, as seconds since the Unix epoch.
pub(super) fn timestamp(text: &str, path: &str, problems: &mut Problems) -> Option<i64> {
    checked_timestamp(text)
        .map_err(|reason| problems.push(path, reason))
        .ok()
}

/// The same, for callers that write the path only where something is wrong with it.
pub(super) fn checked_timestamp(text: &str) -> Result<i64, &'static str> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map(OffsetDateTime::unix_timestamp)
        .map_err(|_| "must be a time such as \"2027-01-01T00:00:00Z\"")
}

/// A number within `range`, where the document has one, else the default. `unit` ends the message, such as ` bytes`.
pub(super) fn within<N: Copy + PartialOrd + Display>(
    value: Option<N>,
    default: N,
    range: RangeInclusive<N>,
    unit: &str,
    path: &str,
    problems: &mut Problems,
) -> N {
    let value = value.unwrap_or(default);
    if !range.contains(&value) {
        problems.push(
            path,
            format!(
                "must be between {} and {}{unit}",
                range.start(),
                range.end()
            ),
        );
    }
    value
}
