//! Brings the document in force to this machine.
//!
//! The copy on disk is what the gateway runs with, so it goes on when the console is away. It differs from what was published
//! in two members: `keys_feed` and `spend_feed` name the feeds that this agent serves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::client::{ConsoleClient, ConsoleError};
use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};
use trilane::config::{Document, compile, document_hash};
use trilane_console::documents::outside_names;

use crate::agent_feeds::with_feeds;
use crate::files;

/// The path of the console's API.
const PATH: &str = "/api/v1/feed/document";
/// Follows the document in force.
#[derive(Debug)]
pub struct DocumentCopy {
    console: ConsoleClient,
    file: PathBuf,
    etag: Option<String>,
    standing: Arc<AgentProgress>,
}

impl DocumentCopy {
    /// The document of this console, in this file.
    pub const fn new(console: ConsoleClient, file: PathBuf, standing: Arc<AgentProgress>) -> Self {
        Self {
            console,
            file,
            etag: None,
            standing,
        }
    }

    /// Reads it if it is another one.
    ///
    /// # Errors
    /// The failure, as text.
    pub fn read(&mut self) -> Result<(), String> {
        let answer = self.console.get(PATH, self.etag.as_deref(), &[]);
        let answer = answer.map_err(|error| match error {
            ConsoleError::NotFound => "the console has no document yet: publish one".to_owned(),
            other => other.to_string(),
        })?;
        let Some(answer) = answer else {
            return Ok(());
        };
        let text = with_feeds(&answer.body).ok_or("what the console gives is no document")?;
        refuse_paths(&text)?;
        let name = self.file.display();
        let is_first = !self.file.exists();
        let differs = files::put(&self.file, &text);
        let differs = differs.map_err(|error| format!("cannot write {name}: {error}"))?;
        if differs && !is_first {
            self.standing
                .tell("document: another one has come from the console");
        }
        if let Some(etag) = &answer.etag {
            let number = document_hash::of_text(&text);
            self.standing.has_document(etag.trim_matches('"'), number);
        }
        self.etag = answer.etag;
        Ok(())
    }
}

impl PeriodicTask for DocumentCopy {
    const NAME: &'static str = "document";
    const PAUSE: Duration = Duration::from_millis(500);

    fn run(&mut self) -> Result<Next, String> {
        self.read().map(|()| Next::Later)
    }
}

/// Refuses a document that names files elsewhere than in the directory of credentials. One that cannot be compiled is refused
/// later, by whoever puts it in force.
fn refuse_paths(text: &[u8]) -> Result<(), String> {
    let compiled = Document::parse(text).and_then(|document| compile(&document));
    let outside = compiled.map(|compiled| outside_names(&compiled.policy));
    match outside.unwrap_or_default().0.first() {
        None => Ok(()),
        Some(problem) => Err(format!(
            "the console's document is refused, the last good one stays: {problem}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_elsewhere_are_refused() {
        for (case, credential, refused) in [
            ("a plain name", "openai", false),
            ("a path", "/etc/shadow", true),
            ("upwards", "../agent.json", true),
        ] {
            let text = format!(
                r#"{{"currency": "USD", "keys": [], "groups": [{{"id": "s", "protocol": "A", "clients": "current",
                    "multiplier": "1", "accounts": [{{"id": "one", "url": "https://v.example", "credential": "{credential}"}}],
                    "models": [{{"id": "m", "free": true}}]}}]}}"#
            );
            let checked = refuse_paths(text.as_bytes());
            assert_eq!(checked.is_err(), refused, "{case}: {checked:?}");
        }
    }
}
