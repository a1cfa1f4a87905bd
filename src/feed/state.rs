//! The state of the synchronisation: one value in shared data, so that any loader can resume it.

use serde::{Deserialize, Serialize};

use crate::config::FeedSource;
use crate::keys::{Coverage, FeedStatus};
use crate::shared_data::SharedData;

/// The name of the state.
pub const STATE: &str = "trilane/feed";

/// The format that this release writes and reads: that of the pages that were asked for. What a loader of 0.1 has
/// read (format 1) may lack what that one does not know, so a full sync begins.
const FORMAT: u32 = 2;

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
    /// Records of an older epoch hold no key.
    #[serde(rename = "floor")]
    pub watermark: u64,
    /// Whether an unknown key is none.
    pub coverage: Coverage,
    /// Whether a full sync is under way.
    pub full: bool,
    /// Where the next page begins; `None` for the first one of a full sync.
    pub cursor: Option<String>,
    /// The greatest version that this identity has ever told.
    pub head: u64,
    /// Every change up to this version has been given.
    pub settled: u64,
    /// Whether the service has lost some of its versions: it goes on below `head` for good.
    #[serde(rename = "set_back")]
    pub rolled_back: bool,
    /// How many keys there are that are not disabled; of expired ones nobody keeps account.
    pub keys: u64,
    /// How many of them the full sync under way has given.
    pub given: u64,
}

/// What stands where the state should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredState {
    /// Nothing.
    Absent,
    /// Something that this release cannot read, with the epoch if that much can be read.
    Unreadable(u64),
    /// The state.
    State(FeedState),
}

impl FeedState {
    /// Reads it.
    pub fn stored(shared: &impl SharedData) -> StoredState {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Hint {
            epoch: u64,
        }
        let bytes = shared.get(STATE).0.unwrap_or_default();
        if bytes.is_empty() {
            return StoredState::Absent;
        }
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(state) if state.format == FORMAT && state.is_sound() => StoredState::State(state),
            _ => {
                let hint: Hint = serde_json::from_slice(&bytes).unwrap_or_default();
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

    /// What filters must know of it.
    pub fn status(&self) -> FeedStatus {
        FeedStatus {
            watermark: self.watermark,
            coverage: self.coverage,
            feed_only: false,
        }
    }

    /// Begins to read everything there is, in an epoch of its own.
    ///
    /// Epochs grow with the clock, so that one is above all that were before it even where the state
    /// is lost.
    pub fn begin(&mut self, now_ms: u64) {
        self.epoch = self.epoch.max(self.watermark).saturating_add(1).max(now_ms);
        self.full = true;
        self.cursor = None;
        self.given = 0;
    }

    /// The numbers from here on are of another sequence of versions.
    pub fn adopt(&mut self, feed: Option<&str>) {
        self.feed = feed.map(str::to_owned);
        self.base = self.epoch;
        self.head = 0;
        self.settled = 0;
        self.rolled_back = false;
    }
}
