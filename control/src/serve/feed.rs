//! The feed of keys, from either source.

use super::cursor::Standing;
use super::feed_error::FeedError;
use super::keys_file::KeysFile;
use super::query::Asked;
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
    pub fn page(&self, asked: &Asked) -> Result<Vec<u8>, FeedError> {
        match self {
            Self::File(file) => file.page(asked),
            Self::Sqlite(database) => database.page(asked),
        }
    }

    /// Its versions.
    ///
    /// # Errors
    /// Why they are not available.
    pub fn standing(&self) -> Result<Standing, FeedError> {
        match self {
            Self::File(file) => file.standing(),
            Self::Sqlite(database) => database.standing(),
        }
    }
}
