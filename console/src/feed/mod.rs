//! The feed of keys: the protocol that docs/keys-feed.md describes, without the source of its changes.
//!
//! A reader sends a [`PageRequest`], perhaps with a [`FeedCursor`]. The source of the feed knows its [`FeedVersions`], gets from
//! them the [`PageRange`] that the page covers, and fills a [`PageBuilder`] with it: with what is left of a listing, then with
//! changes in the order of versions.

mod cursor;
mod owner;
mod page;
mod page_error;
mod request;

pub use cursor::{CursorError, FeedCursor, FeedVersions, PageEnd, PageRange};
pub use owner::is_owner;
pub use page::PageBuilder;
pub use page_error::PageError;
pub use request::PageRequest;
