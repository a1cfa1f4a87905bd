//! Brings the keys to this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use trilane::feed::{FORMAT, FORMAT_HEADER};

use super::client::{ConsoleClient, ConsoleError};
use super::key_copy::KeyCopy;
use super::key_page::KeyFeedPage;
use super::standing::AgentProgress;
use super::worker::{Chore, Next};

/// The path of the console's API, and the size of a page, in keys.
const PATH: &str = "/api/v1/feed/keys?limit=5000";

/// Follows the feed of keys.
#[derive(Debug)]
pub struct KeySync {
    console: ConsoleClient,
    copy: KeyCopy,
    complete: Arc<AtomicBool>,
    standing: Arc<AgentProgress>,
}

impl KeySync {
    /// The keys of this console, in this copy. `complete` becomes true once all were there.
    pub fn new(
        console: ConsoleClient,
        copy: KeyCopy,
        complete: Arc<AtomicBool>,
        standing: Arc<AgentProgress>,
    ) -> Self {
        complete.store(copy.is_complete(), Ordering::Release);
        Self {
            console,
            copy,
            complete,
            standing,
        }
    }

    fn page(&mut self) -> Result<Option<KeyFeedPage>, String> {
        let cursor = self.copy.cursor().map(|cursor| {
            let cursor = utf8_percent_encode(cursor, NON_ALPHANUMERIC);
            format!("{PATH}&cursor={cursor}")
        });
        let path = cursor.as_deref().unwrap_or(PATH);
        match self.console.get(path, None, &[(FORMAT_HEADER, FORMAT)]) {
            Ok(Some(answer)) => KeyFeedPage::parse(&answer.body).map(Some),
            Ok(None) | Err(ConsoleError::Gone) => {
                self.copy.begin_anew();
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Chore for KeySync {
    const NAME: &'static str = "keys";
    const PAUSE: Duration = Duration::from_millis(250);

    fn run(&mut self) -> Result<Next, String> {
        let Some(page) = self.page()? else {
            return Ok(Next::Later);
        };
        // Most pages have nothing new.
        if !page.changes.is_empty() || page.more || self.copy.cursor() != Some(&page.cursor) {
            self.copy.take(&page)?;
        }
        if page.more {
            return Ok(Next::AtOnce);
        }
        self.complete
            .store(self.copy.is_complete(), Ordering::Release);
        self.standing.has_keys(page.version);
        Ok(Next::Later)
    }
}
