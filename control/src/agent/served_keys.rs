//! The feed of keys that a gateway reads from its agent.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Params, Transaction};
use trilane_console::feed::{FeedVersions, PageError, PageRange, PageRequest, PageWriter};

use super::database;
use super::feed_reads::FeedReads;
use super::key_copy::TABLES;
use super::unwritten_keys::UnwrittenKeys;

const LISTING: &str = "SELECT version, sha256, told FROM keys \
     WHERE sha256 > ?1 AND removed_at IS NULL ORDER BY sha256";
const CHANGES: &str = "SELECT version, sha256, told FROM keys WHERE version > ?1 ORDER BY version";

/// The feed of keys that a gateway reads from its agent, once all keys of the console were there: before, a missing key may be one
/// that has not come yet.
#[derive(Debug)]
pub struct ServedKeys {
    /// A connection of its own: readers do not wait for writers.
    copy: Mutex<Connection>,
    complete: Arc<AtomicBool>,
    reads: Arc<FeedReads>,
    /// Changes that the copy could not be given.
    unwritten: Arc<UnwrittenKeys>,
}

impl ServedKeys {
    /// Serves the copy in this file.
    ///
    /// # Errors
    /// The reason that the copy cannot be used.
    pub fn open(
        file: &Path,
        complete: Arc<AtomicBool>,
        unwritten: Arc<UnwrittenKeys>,
    ) -> Result<Self, String> {
        Ok(Self {
            copy: Mutex::new(database::open(file, TABLES)?),
            complete,
            reads: Arc::default(),
            unwritten,
        })
    }

    /// Returns the time at which the gateway read it last.
    pub fn reads(&self) -> Arc<FeedReads> {
        Arc::clone(&self.reads)
    }

    /// A page for the gateway that asks with this query, as JSON.
    ///
    /// # Errors
    /// The reason that there is no page.
    pub fn page(&self, query: &str) -> Result<Vec<u8>, PageError> {
        let asked = PageRequest::parse(query)?;
        self.reads.note();
        if !self.complete.load(Ordering::Acquire) {
            let why = "not all keys of the console have come yet";
            return Err(PageError::Unready(why.to_owned()));
        }
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        let unready = |error: rusqlite::Error| {
            PageError::Unready(format!("the copy of keys cannot be read: {error}"))
        };
        // Both queries in one transaction: they see one state of the copy.
        let transaction = copy.transaction().map_err(unready)?;
        let versions = versions(&transaction).map_err(unready)?;
        let range = versions.range(asked.cursor.as_ref())?;
        let mut page = PageWriter::new(&asked);
        if let PageRange::Listing { after, .. } = &range {
            fill(&mut page, &transaction, LISTING, [after]).map_err(unready)?;
        }
        let range = page.after_listing(range);
        if let PageRange::Changes { after } = &range {
            fill(&mut page, &transaction, CHANGES, [after]).map_err(unready)?;
        }
        let page = page.finish(&versions, range);
        Ok(self.unwritten.behind(page, asked.limit))
    }
}

fn versions(transaction: &Transaction<'_>) -> rusqlite::Result<FeedVersions> {
    let select = "SELECT feed, head, compacted FROM key_feed";
    transaction.query_row(select, [], |row| {
        Ok(FeedVersions {
            feed: row.get(0)?,
            head: row.get(1)?,
            compacted: row.get(2)?,
        })
    })
}

fn fill(
    page: &mut PageWriter,
    transaction: &Transaction<'_>,
    query: &str,
    after: impl Params,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(query)?;
    let mut rows = statement.query(after)?;
    while let Some(row) = rows.next()? {
        if !page.has_room() {
            break;
        }
        let told = row.get_ref(2)?.as_str()?;
        page.told(row.get(0)?, row.get_ref(1)?.as_str()?, told);
    }
    Ok(())
}
