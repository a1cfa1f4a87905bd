//! Brings what is spent of budgets to this machine.

use std::sync::Arc;
use std::time::Duration;

use trilane_console::cases::SpendFeedPage;

use super::client::{ConsoleClient, page_path};
use super::spend_copy::SpendCopy;
use super::unsent_spend::FilePositions;
use super::worker::{Next, PeriodicTask};

/// The path of the console's API, and the size of a page, in subjects.
const PATH: &str = "/api/v1/feed/spend?limit=5000";

/// Follows the spend feed.
#[derive(Debug)]
pub struct SpendFetcher {
    console: ConsoleClient,
    copy: Arc<SpendCopy>,
    /// Up to where the console had the ledger before the first of the pages that are read now.
    acknowledged: Option<FilePositions>,
}

impl SpendFetcher {
    /// From this console to this copy.
    pub const fn new(console: ConsoleClient, copy: Arc<SpendCopy>) -> Self {
        Self {
            console,
            copy,
            acknowledged: None,
        }
    }
}

impl PeriodicTask for SpendFetcher {
    const NAME: &'static str = "spend";
    const PAUSE: Duration = Duration::from_millis(250);

    fn run(&mut self) -> Result<Next, String> {
        let acknowledged = self
            .acknowledged
            .get_or_insert_with(|| self.copy.unsent().acknowledged());
        let path = page_path(PATH, self.copy.cursor().as_deref());
        let answer = self.console.get(&path, None, &[]);
        let answer = answer.map_err(|error| error.to_string())?;
        let answer = answer.ok_or("the console answers without a page")?;
        let page: SpendFeedPage = serde_json::from_slice(&answer.body).map_err(|error| {
            let column = error.column();
            format!("a page of spend cannot be read (column {column})")
        })?;
        if page.more {
            self.copy.take(&page, None)?;
        } else {
            self.copy.take(&page, Some(acknowledged))?;
            self.acknowledged = None;
        }
        Ok(if page.more { Next::AtOnce } else { Next::Later })
    }
}
