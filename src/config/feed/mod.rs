//! The feed: account keys that an HTTP service gives, in pages of changes.
//!
//! A loader reads it ([`reading`]): first every key there is (a *full reading*), then what changes.
//! Each key has a record of its own ([`record`]) in the shared data ([`bucket`]); nothing else of it is kept. How far
//! the reading is stands in shared data too ([`state`]), so that any loader can go on with it.
//!
//! Nothing is good or lost by an accident of the way, because of two numbers in each record. Its
//! *version* is the feed's own: what the feed said at a greater version wins, in whatever order it
//! comes. Its *epoch* is that of the full reading that wrote or confirmed it: when a full reading is
//! complete, records of an older epoch are void ([`Gate::floor`]), and not one moment before.

mod apply;
pub mod bucket;
mod judge;
mod key;
mod outcome;
mod pace;
pub mod page;
pub mod reading;
pub mod record;
pub mod state;
mod take_up;

use serde::{Deserialize, Serialize};

pub use super::policy::FeedSource;
pub use key::Meaning;
pub use outcome::{Event, Outcome, Reason};
pub use pace::Pace;
pub use reading::{Answer, Reading};

/// The header by which a loader announces to a feed which members of a page it knows.
pub const FORMAT_HEADER: &str = "x-trilane-feed-format";
/// What this release announces: `owner` is known. A loader that announces nothing is of 0.1, and its format is 1.
pub const FORMAT: &str = "2";

/// How far the full readings of the feed that the policy names have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// None is complete since a feed was named: nothing can be said of an unknown key.
    #[default]
    Nothing,
    /// One of another source is, whose keys stay good. Nothing can be said of an unknown key.
    Former,
    /// One of this source is: an unknown key is none.
    Whole,
}

/// What a filter must know to judge the records of a feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Records of an older epoch are void.
    pub floor: u64,
    /// Whether an unknown key is none.
    pub coverage: Coverage,
    /// Whether the document names no keys itself, so that no record of such a one need be looked for.
    #[serde(default)]
    pub alone: bool,
}
