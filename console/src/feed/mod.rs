//! The feed of keys: the protocol that docs/keys-feed.md describes, without the source of its changes.
//!
//! A reader sends a [`PageRequest`], perhaps with a [`FeedCursor`]. The source of the feed knows its [`FeedVersions`], gets from
//! them the [`PageRange`] that the page covers, and fills a [`PageWriter`] with it: with what is left of a listing, then with
//! changes in the order of versions.

mod cursor;
mod key;
mod page;
mod page_error;
mod request;
mod stored;

pub use cursor::{CursorError, FeedCursor, FeedVersions, PageEnd, PageRange};
pub use key::FeedKey;
pub use page::PageWriter;
pub use page_error::PageError;
pub use request::PageRequest;
pub use stored::{StoredTerms, is_owner};
