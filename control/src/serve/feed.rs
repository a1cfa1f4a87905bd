//! The feed of keys, from either source.

use trilane_console::feed::{FeedVersions, PageError, PageRequest};

use super::keys_file::KeysFile;
use super::sqlite::Database;

/// A feed.
#[derive(Debug)]
pub enum Feed {
    /// From a file of JSON lines.
    File(std::sync::Arc<KeysFile>),
    /// From a database.
    Sqlite(Database),
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
        }
    }
}
