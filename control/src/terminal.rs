//! Words for whoever sits before a terminal.

use std::io::{self, Write as _};

use time::OffsetDateTime;

/// Writes a line to standard error. That nobody reads it is no reason to stop (`eprintln` would panic).
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A text from outside, without the characters that steer a terminal.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// The time, to the second: RFC 3339, in UTC.
pub fn now() -> String {
    moment(OffsetDateTime::now_utc())
}

/// A time in UTC, to the second: RFC 3339.
pub fn moment(time: OffsetDateTime) -> String {
    let (date, time) = (time.date(), time.time());
    format!(
        "{date}T{:02}:{:02}:{:02}Z",
        time.hour(),
        time.minute(),
        time.second()
    )
}
