//! Brings what is spent of budgets to this machine.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use trilane_console::api::SpendFeedPage;

use super::client::{ConsoleClient, ConsoleError};
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
        let path = self.copy.cursor().map_or_else(
            || PATH.to_owned(),
            |cursor| {
                format!(
                    "{PATH}&cursor={}",
                    utf8_percent_encode(&cursor, NON_ALPHANUMERIC)
                )
            },
        );
        let answer = match self.console.get(&path, None, &[]) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Err("the console answers without a page".to_owned()),
            // A console of an earlier release knows of none: its gateways count by themselves.
            Err(ConsoleError::NotFound) => {
                self.copy.has_none()?;
                return Ok(Next::Later);
            }
            Err(error) => return Err(error.to_string()),
        };
        let page: SpendFeedPage = serde_json::from_slice(&answer.body).map_err(|error| {
            let column = error.column();
            format!("a page of spend cannot be read (column {column}): is the console of a later release?")
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
