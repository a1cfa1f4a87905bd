//! The feed of keys, wherever it comes from.

use super::cursor::{Gone, Standing};
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

/// Why there is no page.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 410.
    Gone(Gone),
    /// 503: nothing was read yet, or the database is not to be reached, or has a key that is not good.
    Unready(String),
}

impl From<Gone> for Refusal {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

impl Feed {
    /// A page, as JSON. May wait for a disk.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page(&self, asked: &Asked) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::File(file) => file.page(asked),
            Self::Sqlite(database) => database.page(asked),
        }
    }

    /// Where it stands.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn standing(&self) -> Result<Standing, Refusal> {
        match self {
            Self::File(file) => file.standing(),
            Self::Sqlite(database) => database.standing(),
        }
    }
}
