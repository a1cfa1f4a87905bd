//! The feed: API keys that an HTTP service gives, in pages of changes.
//!
//! A loader synchronises the [key store](crate::keys) with it ([`sync`]): first a *full sync* of every key there is,
//! then *incremental syncs* of what changes. How far it is stands in shared data too ([`state`]), so that any loader
//! can resume it.
//!
//! Two numbers in each record decide. Its *version* is the feed's own: the greatest version of a key wins, in whatever
//! order pages come. Its *epoch* is that of the full sync that wrote or confirmed it: when a full sync is complete, its
//! epoch becomes the *watermark*, and records of an older epoch are tombstones from then on, not one moment before.

mod apply;
mod merge;
mod outcome;
mod pace;
pub mod page;
mod resume;
pub mod state;
pub mod sync;

pub use outcome::{Reason, SyncEvent, SyncOutcome};
pub use pace::Pace;
pub use sync::{FeedSync, PageAnswer};

/// The header by which a loader announces to a feed which members of a page it knows.
pub const FORMAT_HEADER: &str = "x-trilane-feed-format";
/// What this release announces: `owner` is known. A loader that announces nothing is of 0.1, and its format is 1.
pub const FORMAT: &str = "2";
