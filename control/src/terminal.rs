//! Text for terminals.

use std::io::{self, Write as _};

/// Writes a line to standard error. A closed standard error is no reason to stop (`eprintln` would panic).
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Text from outside, without characters that control a terminal.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
