//! Colours, on terminals only.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};

/// Colours text, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub struct Ink(bool);

/// The meaning of highlighted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Highlight {
    /// Valid.
    Good,
    /// Needs attention.
    Warning,
    /// Wrong.
    Bad,
    /// A heading.
    Strong,
}

impl Ink {
    /// For standard output: colours on a terminal only, and none where `NO_COLOR` is set (no-color.org).
    pub fn of_output() -> Self {
        Self(wanted(
            io::stdout().is_terminal(),
            std::env::var_os("NO_COLOR").as_deref(),
            std::env::var_os("TERM").as_deref(),
        ))
    }

    /// The text, coloured.
    pub fn mark(self, mark: Highlight, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let code = match mark {
            Highlight::Good => "32",
            Highlight::Warning => "33",
            Highlight::Bad => "31",
            Highlight::Strong => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Whether to use colours.
fn wanted(terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty) && term.is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals() {
        for (case, terminal, no_color, term, want) in [
            ("a terminal", true, None, Some("xterm"), true),
            ("a file or a pipe", false, None, Some("xterm"), false),
            ("NO_COLOR", true, Some("1"), Some("xterm"), false),
            ("an empty NO_COLOR", true, Some(""), Some("xterm"), true),
            ("a dumb terminal", true, None, Some("dumb"), false),
            ("an unknown terminal", true, None, None, false),
        ] {
            let got = wanted(terminal, no_color.map(OsStr::new), term.map(OsStr::new));
            assert_eq!(got, want, "{case}");
        }
    }

    #[test]
    fn marks_end_with_their_text() {
        let marked = Ink(true).mark(Highlight::Bad, "x");
        assert_eq!(marked, "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Ink(false).mark(Highlight::Bad, "x"), "x");
    }
}
