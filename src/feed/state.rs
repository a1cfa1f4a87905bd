//! The state of the synchronisation: one value in shared data, so that any loader can resume it.

use serde::{Deserialize, Serialize};

use crate::config::FeedSource;
use crate::keys::{Coverage, FeedStatus, bucket};
use crate::shared_data::SharedData;

/// The name of the state.
pub const STATE: &str = "trilane/feed";

/// The format that this release writes and reads. After a loader of another one a full sync begins.
const FORMAT: u32 = 3;

/// The sync that the next page is part of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// A full sync: the pages list every key there is.
    Full,
    /// The incremental sync: the pages say what has changed.
    #[default]
    Incremental,
    /// A rollback sync: the service has lost versions, and is below `head` for good.
    Rollback {
        /// Whether it has listed everything.
        listed: bool,
    },
}

/// Up to so many tombstones no compaction is worth its while: one a bucket.
pub(super) const TOMBSTONES: u64 = bucket::COUNT as u64;

/// The progress of the compaction, which drops tombstones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compaction {
    /// Tombstones up to this version of the feed may have been dropped.
    pub version: u64,
    /// The bucket that is next.
    pub next: u16,
    /// The number of buckets still to be compacted.
    pub left: u16,
}

impl Compaction {
    /// Begins with all buckets, where every change up to this version is settled.
    pub(super) fn begin(&mut self, version: u64) {
        self.version = version;
        self.left = bucket::COUNT;
    }
}

/// The state of the synchronisation with a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedState {
    pub(super) format: u32,
    /// The feed; `None` where the document names none.
    pub source: Option<FeedSource>,
    /// The feed's identity: which sequence of versions the numbers below are of. `None` until a
    /// first page has told.
    pub feed: Option<String>,
    /// The first epoch of this identity: the versions in older records are those of another.
    pub base: u64,
    /// The epoch of the full sync under way, or of the last one.
    pub epoch: u64,
    /// Records of an older epoch hold no key: they are tombstones.
    #[serde(rename = "floor")]
    pub watermark: u64,
    /// Whether an unknown key is invalid.
    pub coverage: Coverage,
    /// The sync that the next page is part of.
    pub mode: SyncMode,
    /// The position at which the next page begins; `None` for the first one of a full sync.
    pub cursor: Option<String>,
    /// The version of the feed at the first page of the full sync under way, or of the last one.
    pub listed_from: Option<u64>,
    /// The position at which the incremental sync goes on between two pages of a full sync, if it does.
    pub changes_cursor: Option<String>,
    /// The greatest version that this identity has ever told.
    pub head: u64,
    /// Every change up to this version has been given.
    pub settled: u64,
    /// The number of keys that are not disabled. Expired ones count.
    pub keys: u64,
    /// The number of them that the current full sync has given.
    pub given: u64,
    /// The number of keys, disabled ones included.
    pub live: u64,
    /// The number of them that the current full sync has given, disabled ones included.
    pub given_live: u64,
    /// The number of records that have become tombstones since the last compaction began.
    pub tombstones: u64,
    /// The dropping of tombstones.
    pub compaction: Compaction,
}

/// The content of shared data at the place of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredState {
    /// Nothing.
    Absent,
    /// Something that this release cannot read, with the epoch if that much can be read.
    Unreadable(u64),
    /// The state.
    State(Box<FeedState>),
}

impl FeedState {
    /// Reads it.
    pub fn stored(shared: &impl SharedData) -> StoredState {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct EpochHint {
            epoch: u64,
        }
        let bytes = shared.get(STATE).0.unwrap_or_default();
        if bytes.is_empty() {
            return StoredState::Absent;
        }
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(state) if state.format == FORMAT && state.is_sound() => {
                StoredState::State(Box::new(state))
            }
            _ => {
                let hint: EpochHint = serde_json::from_slice(&bytes).unwrap_or_default();
                StoredState::Unreadable(hint.epoch)
            }
        }
    }

    fn is_sound(&self) -> bool {
        self.base <= self.epoch && self.watermark <= self.epoch
    }

    /// Writes it.
    pub fn store(&mut self, shared: &impl SharedData) {
        self.format = FORMAT;
        // A plain struct of strings and numbers: writing it cannot fail, and an empty value would
        // read as none.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let _ = shared.set(STATE, &bytes, None);
    }

    /// Returns the status that filters must know.
    pub fn status(&self) -> FeedStatus {
        FeedStatus {
            watermark: self.watermark,
            coverage: self.coverage,
        }
    }

    /// Whether every key is being listed.
    pub fn is_listing(&self) -> bool {
        matches!(
            self.mode,
            SyncMode::Full | SyncMode::Rollback { listed: false }
        )
    }

    /// Whether the service has lost versions.
    pub fn is_rolled_back(&self) -> bool {
        matches!(self.mode, SyncMode::Rollback { .. })
    }

    /// Begins to list everything there is, in an epoch of its own.
    ///
    /// Epochs grow with the clock, so that one is above all that were before it even where the state
    /// is lost.
    pub fn begin(&mut self, now_ms: u64) {
        self.epoch = self.epoch.max(self.watermark).saturating_add(1).max(now_ms);
        self.mode = if self.is_rolled_back() {
            SyncMode::Rollback { listed: false }
        } else {
            SyncMode::Full
        };
        self.cursor = None;
        self.changes_cursor = None;
        self.listed_from = None;
        self.given = 0;
        self.given_live = 0;
    }

    /// The numbers from here on are of another sequence of versions.
    pub fn adopt(&mut self, feed: Option<&str>) {
        self.feed = feed.map(str::to_owned);
        self.base = self.epoch;
        self.head = 0;
        self.settled = 0;
        self.mode = SyncMode::Full;
        self.changes_cursor = None;
        self.compaction.version = 0;
    }

    /// No record below this epoch holds a key any more.
    pub fn raise_watermark(&mut self) {
        self.watermark = self.epoch;
        let dropped = self.live.saturating_sub(self.given_live);
        self.tombstones = self.tombstones.saturating_add(dropped);
        self.keys = self.given;
        self.live = self.given_live;
    }
}
