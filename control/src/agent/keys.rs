//! Brings the keys to this machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trilane::feed::page::Page;
use trilane::feed::{FORMAT, FORMAT_HEADER};

use super::client::{ConsoleClient, ConsoleError, page_path};
use super::key_copy::KeyCopy;
use super::standing::AgentProgress;
use super::unwritten_keys::UnwrittenKeys;
use super::worker::{Next, PeriodicTask};

/// The path of the console's API, and the size of a page, in keys.
const PATH: &str = "/api/v1/feed/keys?limit=5000";
/// The interval between attempts to write a copy that cannot be written.
const AGAIN: Duration = Duration::from_secs(5);
/// The interval at which old removals are looked for, and the time for which they are told.
const COMPACT: Duration = Duration::from_secs(3600);
const REMOVALS: Duration = Duration::from_secs(30 * 86_400);
/// The trouble while changes of keys are only in memory.
const UNWRITTEN: &str = "the copy of keys";

/// Follows the feed of keys.
#[derive(Debug)]
pub struct KeySync {
    console: ConsoleClient,
    copy: KeyCopy,
    /// Changes that the copy could not be given.
    unwritten: Arc<UnwrittenKeys>,
    /// The cursor of the next page, where that is not the copy's.
    ahead: Option<String>,
    /// The time of the latest attempt to write the copy.
    tried: Instant,
    /// The time at which old removals were looked for last.
    compacted: Option<Instant>,
    standing: Arc<AgentProgress>,
}

impl KeySync {
    /// The keys of this console, in this copy.
    pub fn new(
        console: ConsoleClient,
        copy: KeyCopy,
        unwritten: Arc<UnwrittenKeys>,
        standing: Arc<AgentProgress>,
    ) -> Self {
        Self {
            console,
            copy,
            unwritten,
            ahead: None,
            tried: Instant::now(),
            compacted: None,
            standing,
        }
    }

    /// Brings the next page, as it is written.
    fn page(&mut self) -> Result<Option<Vec<u8>>, String> {
        let cursor = self.ahead.as_deref().or(self.copy.cursor());
        let path = page_path(PATH, cursor);
        match self.console.get(&path, None, &[(FORMAT_HEADER, FORMAT)]) {
            Ok(Some(answer)) => Ok(Some(answer.body)),
            Ok(None) | Err(ConsoleError::Gone) => {
                self.ahead = None;
                self.copy.begin_anew();
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Gives a page to the copy. Where that cannot be written, its changes are told from memory: a revocation waits for no disk.
    fn take(&mut self, page: &Page<'_>) -> Result<(), String> {
        let anew = self.copy.cursor().is_none();
        let Err(why) = self.copy.take(page, &self.unwritten) else {
            if anew {
                self.unwritten.clear();
            }
            return Ok(());
        };
        self.tried = Instant::now();
        if !self.copy.is_followed() {
            return Err(why);
        }
        self.keep(page)?;
        let why = format!("{why}; changes are told from memory, and are gone with this agent");
        self.standing.note(UNWRITTEN, Some(&why));
        Ok(())
    }

    /// Keeps the changes of a page in memory, and goes on behind it.
    fn keep(&mut self, page: &Page<'_>) -> Result<(), String> {
        let kept = self.unwritten.add(page.written());
        // If not, the disk has to take them.
        self.ahead = kept.is_ok().then(|| page.cursor.to_string());
        kept
    }
}

impl PeriodicTask for KeySync {
    const NAME: &'static str = "keys";
    const PAUSE: Duration = Duration::from_millis(250);

    fn run(&mut self) -> Result<Next, String> {
        if self.tried.elapsed() >= AGAIN {
            // From where it ends.
            self.ahead = None;
        }
        if self.compacted.is_none_or(|at| at.elapsed() >= COMPACT) {
            self.compacted = Some(Instant::now());
            let trouble = self.copy.compact(REMOVALS).err();
            self.standing.note("old removals", trouble.as_deref());
        }
        let Some(body) = self.page()? else {
            return Ok(Next::Later);
        };
        // The gateway would refuse it, too: one bad key would keep all others from it.
        let page = Page::parse(&body);
        let page = page.map_err(|problems| format!("a page of keys is refused: {problems}"))?;
        if self.ahead.is_some() {
            self.keep(&page)?;
        } else {
            // Most pages have nothing new.
            let is_new = !page.written().is_empty() || page.more;
            if is_new || self.copy.cursor() != Some(&*page.cursor) {
                self.take(&page)?;
            }
            if self.ahead.is_none() && !page.more {
                self.unwritten.clear();
                self.standing.note(UNWRITTEN, None);
            }
        }
        if page.more {
            return Ok(Next::AtOnce);
        }
        self.standing.has_keys(page.version);
        Ok(Next::Later)
    }
}
