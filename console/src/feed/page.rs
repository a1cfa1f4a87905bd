//! One page of the feed, as JSON.

use serde::Serialize;

use super::cursor::{FeedVersions, PageEnd, PageRange};
use super::key::FeedKey;
use super::request::PageRequest;

#[derive(Serialize)]
struct PageHead<'a> {
    feed: &'a str,
    version: u64,
    cursor: &'a str,
    more: bool,
}

/// A page being written.
#[derive(Debug)]
pub struct PageWriter {
    changes: Vec<u8>,
    given: u32,
    limit: u32,
    last_version: u64,
    last_sha256: String,
    more: bool,
}

impl PageWriter {
    /// An empty page for a request.
    pub fn new(asked: &PageRequest) -> Self {
        Self {
            changes: Vec::new(),
            given: 0,
            limit: asked.limit,
            last_version: 0,
            last_sha256: String::new(),
            more: false,
        }
    }

    /// Whether another key or change fits. If not, the page says that there are more.
    pub fn has_room(&mut self) -> bool {
        self.more = self.given >= self.limit;
        !self.more
    }

    /// Goes on with the changes after a listing, if the page has the rest of it.
    pub fn after_listing(&mut self, range: PageRange) -> PageRange {
        if self.more {
            return range;
        }
        let range = range.after_listing();
        // Where not even the first change fits the next page begins with it, and not after the last key listed.
        if let PageRange::Changes { after } = range {
            self.last_version = after;
        }
        range
    }

    /// Adds a key with its version.
    pub fn key(&mut self, version: u64, key: FeedKey<'_>) {
        self.begin(version, key.sha256);
        self.member("id", key.id);
        self.member("group", key.group);
        if let Some(owner) = key.owner {
            self.member("owner", owner);
        }
        if let Some(team) = key.team {
            self.member("team", team);
        }
        if let Some(counts_as) = key.counts_as {
            self.member("counts_as", counts_as);
        }
        if let Some(models) = key.models {
            self.put(",\"models\":");
            self.put(models);
        }
        if let Some(multiplier) = key.multiplier {
            self.member("multiplier", multiplier);
        }
        if let Some(expires_at) = key.expires_at {
            self.member("expires_at", expires_at);
        }
        if let Some(limits) = key.limits {
            self.put(",\"limits\":");
            self.put(limits);
        }
        self.put(if key.disabled {
            r#","disabled":true}"#
        } else {
            "}"
        });
    }

    /// Adds a removal with its version.
    pub fn removed(&mut self, version: u64, sha256: &str) {
        self.begin(version, sha256);
        self.put(r#","removed":true}"#);
    }

    /// Adds a change that another feed has told, a JSON object with members and without a version.
    pub fn told(&mut self, version: u64, sha256: &str, told: &str) {
        self.open(version, sha256);
        self.put(",");
        self.put(told.strip_prefix('{').unwrap_or(told));
    }

    fn begin(&mut self, version: u64, sha256: &str) {
        self.open(version, sha256);
        self.member("sha256", sha256);
    }

    fn open(&mut self, version: u64, sha256: &str) {
        self.put(if self.given == 0 { "\n" } else { ",\n" });
        self.put(r#"{"version":"#);
        json(&mut self.changes, &version);
        self.given = self.given.saturating_add(1);
        self.last_version = version;
        self.last_sha256.clear();
        self.last_sha256.push_str(sha256);
    }

    fn member(&mut self, name: &str, value: &str) {
        for part in [",\"", name, "\":"] {
            self.put(part);
        }
        json(&mut self.changes, value);
    }

    fn put(&mut self, text: &str) {
        self.changes.extend_from_slice(text.as_bytes());
    }

    /// The page's bytes.
    pub fn finish(self, standing: &FeedVersions, range: PageRange) -> Vec<u8> {
        let last = PageEnd {
            version: self.last_version,
            sha256: &self.last_sha256,
        };
        let cursor = standing.next(range, self.more.then_some(last));
        let head = PageHead {
            feed: &standing.feed,
            version: standing.head,
            cursor: &cursor.to_string(),
            more: self.more,
        };
        let mut page = Vec::with_capacity(self.changes.len().saturating_add(400));
        json(&mut page, &head);
        page.pop();
        page.extend_from_slice(br#","changes":["#);
        page.extend_from_slice(&self.changes);
        page.extend_from_slice(b"]}\n");
        page
    }
}

/// Writes a value. Serializing text and numbers to memory cannot fail.
fn json<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) {
    let _ = serde_json::to_writer(to, value);
}
