//! The result of an answer, for the caller.

use core::fmt;

use crate::keys::FeedStatus;

/// The result of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncOutcome {
    /// Whether to ask again at once; else at the next tick.
    pub at_once: bool,
    /// The feed's status, where it has changed: to be published.
    pub status: Option<FeedStatus>,
    /// The number of changes that were written.
    pub taken: u64,
    /// The number of changes that were older than what is known.
    pub stale: u64,
    /// The reason why the answer was not used, or not all of it.
    pub refused: Option<(Reason, String)>,
    /// The event that is worth a line in the log.
    pub event: Option<SyncEvent>,
    /// Whether the feed said that there is nothing more.
    pub up_to_date: bool,
}

/// The reason why an answer was not used, or not all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// None came, or one of another status.
    Unreachable,
    /// It is no page, or one with problems.
    Invalid,
    /// It is longer than allowed.
    Oversize,
    /// It tells less than the feed has told before.
    Behind,
    /// The feed does not know the cursor, or has another identity.
    Cursor,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "no page can be had",
            Self::Invalid => "a page is refused",
            Self::Oversize => "a page is too long",
            Self::Behind => "it is behind what it told before",
            Self::Cursor => "it cannot go on where it was",
        })
    }
}

/// An event of the synchronisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncEvent {
    /// A full sync begins.
    Begun(&'static str),
    /// A full sync is complete.
    Complete {
        /// The feed's version.
        version: u64,
        /// The number of keys that are not disabled.
        keys: u64,
    },
    /// A rollback sync is complete, of a service that has lost versions.
    CompleteButBehind {
        /// The version it is at.
        version: u64,
        /// The version it was at.
        head: u64,
    },
}

impl fmt::Display for SyncEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun(why) => write!(f, "a full reading begins: {why}"),
            Self::Complete { version, keys } => {
                write!(
                    f,
                    "a full reading is complete: version {version}, {keys} keys"
                )
            }
            Self::CompleteButBehind { version, head } => write!(
                f,
                "a full reading is complete at version {version}, and no key is dropped for it, because the feed \
                 was at {head} before; it is read once more when it is there again, or has another identity"
            ),
        }
    }
}
