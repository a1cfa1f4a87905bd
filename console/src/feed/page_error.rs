//! The reason that the feed gives no page.

use super::cursor::Gone;

/// The reason that the feed gives no page.
#[derive(Debug, PartialEq, Eq)]
pub enum PageError {
    /// 400: what is wrong with the query.
    Bad(&'static str),
    /// 410: the reader has to begin without a cursor.
    Gone(Gone),
    /// 503: the database is not reachable, or a key in it is invalid.
    Unready(String),
}

impl From<Gone> for PageError {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}
