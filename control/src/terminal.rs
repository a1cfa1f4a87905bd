//! Words for whoever sits before a terminal.

use std::io::{self, Write as _};

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
