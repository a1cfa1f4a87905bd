//! A reader that follows the protocol of docs/keys-feed.md, and nothing but that.

use std::collections::BTreeMap;

use serde_json::Value;

/// A key as a change has it, without its version.
pub type Terms = Value;

/// What is known of the feed.
#[derive(Debug, Default)]
pub struct FeedReader {
    feed: Option<String>,
    cursor: Option<String>,
    epoch: u64,
    base: u64,
    floor: u64,
    head: u64,
    full: bool,
    records: BTreeMap<String, (u64, u64, Option<Terms>)>,
    /// How many full readings have begun.
    pub full_readings: u32,
    /// How often the feed was behind what it once gave.
    pub behind: u32,
}

impl FeedReader {
    /// One that knows nothing.
    pub fn new() -> Self {
        let mut reader = Self::default();
        reader.begin();
        reader
    }

    fn begin(&mut self) {
        self.cursor = None;
        self.full = true;
        self.epoch += 1;
        self.full_readings += 1;
    }

    /// Asks for one page; whether there is another one.
    pub fn step(&mut self, limit: u32, ask: impl FnOnce(&str) -> (u16, Vec<u8>)) -> bool {
        let query = match &self.cursor {
            Some(cursor) => format!("limit={limit}&cursor={cursor}"),
            None => format!("limit={limit}"),
        };
        let (status, body) = ask(&query);
        match status {
            200 => {}
            410 => {
                self.begin();
                return true;
            }
            _ => panic!("{status}: {}", String::from_utf8_lossy(&body)),
        }
        // The filter's own eyes see nothing wrong.
        let parsed = trilane::feed::page::Page::parse(&body);
        assert!(
            parsed.is_ok(),
            "{parsed:?}: {}",
            String::from_utf8_lossy(&body)
        );
        let page: Value = serde_json::from_slice(&body).unwrap();
        self.take(&page, limit)
    }

    fn take(&mut self, page: &Value, limit: u32) -> bool {
        let feed = page["feed"].as_str().unwrap();
        if self.feed.as_deref() != Some(feed) {
            let is_first = self.feed.is_none();
            self.feed = Some(feed.to_owned());
            self.head = 0;
            if !is_first {
                self.begin();
                self.base = self.epoch;
                return true;
            }
            self.base = self.epoch;
        }
        let changes = page["changes"].as_array().unwrap();
        assert!(changes.len() <= limit as usize, "{page}");
        for change in changes {
            self.apply(change);
        }
        self.cursor = Some(page["cursor"].as_str().unwrap().to_owned());
        let (more, version) = (
            page["more"].as_bool().unwrap(),
            page["version"].as_u64().unwrap(),
        );
        assert!(!more || !changes.is_empty(), "it would loop: {page}");
        if version < self.head {
            self.behind += 1;
        }
        if self.full && !more {
            self.full = false;
            if version >= self.head {
                self.floor = self.epoch;
            }
        }
        self.head = self.head.max(version);
        more
    }

    fn apply(&mut self, change: &Value) {
        let mut terms = change.clone();
        let members = terms.as_object_mut().unwrap();
        let version = members.remove("version").unwrap().as_u64().unwrap();
        let sha256 = members
            .remove("sha256")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        let terms = (!members.contains_key("removed")).then_some(terms);
        match self.records.get_mut(&sha256) {
            Some((epoch, known, _)) if *epoch >= self.base && *known >= version => {
                *epoch = self.epoch
            }
            _ => {
                self.records.insert(sha256, (self.epoch, version, terms));
            }
        }
    }

    /// Reads until there is nothing more.
    pub fn finish(&mut self, limit: u32, mut ask: impl FnMut(&str) -> (u16, Vec<u8>)) {
        while self.step(limit, &mut ask) {}
    }

    /// The keys that are good by what was read.
    pub fn keys(&self) -> BTreeMap<String, Terms> {
        let good = self
            .records
            .iter()
            .filter(|(_, (epoch, ..))| *epoch >= self.floor);
        good.filter_map(|(sha256, (_, _, terms))| Some((sha256.clone(), terms.clone()?)))
            .collect()
    }

    /// The cursor that it would send next.
    pub fn cursor(&self) -> &str {
        self.cursor.as_deref().unwrap_or_default()
    }
}
