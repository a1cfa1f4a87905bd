//! The feed of keys, from either source.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trilane_console::feed::{FeedVersions, PageError, PageRequest};

use super::feed_reads::FeedReads;
use super::keys_file::KeysFile;
use super::sqlite::Database;
use super::unwritten_keys::UnwrittenKeys;

/// A feed.
#[derive(Debug)]
pub enum Feed {
    /// From a file of JSON lines.
    File(Arc<KeysFile>),
    /// From a database.
    Sqlite(Database),
    /// From a database that another feed is copied to, once all of it was there: before, a missing key may be one that has not
    /// come yet.
    Copy(CopiedFeed),
}

/// A feed that is copied from another one.
#[derive(Debug)]
pub struct CopiedFeed {
    /// The copy.
    pub database: Database,
    /// Whether all of the other feed was there once.
    pub complete: Arc<AtomicBool>,
    /// When it is read.
    pub reads: Arc<FeedReads>,
    /// Changes that the copy could not be given.
    pub unwritten: Arc<UnwrittenKeys>,
}

impl Feed {
    /// A page, as JSON. May wait for a disk.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page(&self, asked: &PageRequest) -> Result<Vec<u8>, PageError> {
        match self {
            Self::File(file) => file.page(asked),
            Self::Sqlite(database) => database.page(asked),
            Self::Copy(copied) => {
                copied.reads.note();
                check(&copied.complete)?;
                let page = copied.database.page(asked)?;
                Ok(copied.unwritten.behind(page, asked.limit))
            }
        }
    }

    /// Its versions.
    ///
    /// # Errors
    /// Why they are not available.
    pub fn standing(&self) -> Result<FeedVersions, PageError> {
        match self {
            Self::File(file) => file.standing(),
            Self::Sqlite(database) => database.standing(),
            Self::Copy(copied) => {
                check(&copied.complete)?;
                copied.database.standing()
            }
        }
    }
}

fn check(complete: &AtomicBool) -> Result<(), PageError> {
    if complete.load(Ordering::Acquire) {
        return Ok(());
    }
    let why = "not all keys of the console have come yet";
    Err(PageError::Unready(why.to_owned()))
}
