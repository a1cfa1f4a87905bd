//! The reason that the feed gives no page.

use super::cursor::CursorError;

/// The reason that the feed gives no page.
#[derive(Debug, PartialEq, Eq)]
pub enum PageError {
    /// 400: what is wrong with the query.
    Bad(&'static str),
    /// 410: the reader has to begin without a cursor.
    Cursor(CursorError),
    /// 503: the database is not reachable, or a key in it is invalid.
    Unready(String),
}

impl From<CursorError> for PageError {
    fn from(gone: CursorError) -> Self {
        Self::Cursor(gone)
    }
}
