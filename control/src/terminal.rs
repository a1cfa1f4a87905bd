//! Text for terminals, and questions at them.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use dialoguer::Confirm;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};

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

/// Returns the look of questions; `None` where there is no terminal to ask at.
pub fn theme() -> Option<Box<dyn Theme>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Some(if plain {
        Box::new(SimpleTheme)
    } else {
        Box::new(ColorfulTheme::default())
    })
}

/// Asks a person; with nobody to ask, no.
pub fn confirms(question: &str) -> bool {
    theme().is_some_and(|theme| {
        let asked = Confirm::with_theme(theme.as_ref()).with_prompt(question);
        asked.default(true).interact().unwrap_or(false)
    })
}
