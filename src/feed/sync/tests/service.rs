//! A service with a feed, as the protocol has it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::gateway::digest;

/// The statement of a service on a key: its group, and whether it is switched off; `None` where it is removed.
pub(super) type Says = Option<(&'static str, bool)>;

/// A service.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) identity: String,
    pub(super) version: u64,
    pub(super) keys: BTreeMap<u8, (u64, Says)>,
    /// Every change there was, also those that others came after.
    pub(super) log: Vec<(u64, u8, Says)>,
    /// Removals up to this version are forgotten.
    pub(super) compacted: u64,
    /// Whether it gives every change, or the last one of each key.
    pub(super) gives_log: bool,
    /// Whether it knows that a cursor is past its versions.
    pub(super) knows_ahead: bool,
    /// Whether it begins a full sync with what exists, in the order of digests, and ends it with what has changed since.
    pub(super) lists_by_digest: bool,
}

impl Service {
    pub(super) fn new(identity: &str) -> Self {
        Self {
            identity: identity.to_owned(),
            version: 0,
            keys: BTreeMap::new(),
            log: Vec::new(),
            compacted: 0,
            gives_log: false,
            knows_ahead: true,
            lists_by_digest: false,
        }
    }

    pub(super) fn say(&mut self, key: u8, says: Says) {
        self.version += 1;
        self.keys.insert(key, (self.version, says));
        self.log.push((self.version, key, says));
    }

    /// Returns the statement on a key; `None` where there is none.
    pub(super) fn says(&self, key: u8) -> Says {
        self.keys.get(&key).and_then(|(_, says)| *says)
    }

    /// The group of a key that may be used.
    pub(super) fn good(&self, key: u8) -> Option<&'static str> {
        self.says(key)
            .filter(|(_, off)| !off)
            .map(|(group, _)| group)
    }

    /// Counts anew under another identity: nobody knows of removals.
    pub(super) fn begin_anew(&mut self, identity: &str) {
        let there: Vec<_> = self
            .keys
            .iter()
            .map(|(key, (_, says))| (*key, *says))
            .collect();
        self.forget_all();
        self.identity = identity.to_owned();
        for (key, says) in there.into_iter().filter(|(_, says)| says.is_some()) {
            self.say(key, says);
        }
    }

    /// Has nothing any more, and does not say so.
    pub(super) fn forget_all(&mut self) {
        *self = Self {
            gives_log: self.gives_log,
            knows_ahead: self.knows_ahead,
            lists_by_digest: self.lists_by_digest,
            ..Self::new(&self.identity)
        };
    }

    /// Forgets removals.
    pub(super) fn compact(&mut self) {
        self.keys.retain(|_, (_, says)| says.is_some());
        let keys = &self.keys;
        self.log.retain(|(_, key, _)| keys.contains_key(key));
        self.compacted = self.version;
    }

    /// The answer to a question: the status and the page.
    pub(super) fn answer(&self, cursor: Option<&str>, limit: usize) -> (&'static str, Value) {
        if self.lists_by_digest && cursor.is_none_or(|cursor| cursor.contains('#')) {
            let listed = self.list(cursor.unwrap_or_default(), limit);
            return listed.map_or(("410", Value::Null), |page| ("200", page));
        }
        let Some((after, since)) = self.range(cursor) else {
            return ("410", Value::Null);
        };
        let counts =
            |version: u64, says: &Says| version > after && (says.is_some() || version > since);
        let mut found: Vec<(u64, u8, Says)> =
            if self.gives_log && cursor.is_some_and(|c| !c.contains('+')) {
                self.log.clone()
            } else {
                let last = self.keys.iter();
                last.map(|(key, (version, says))| (*version, *key, *says))
                    .collect()
            };
        found.retain(|(version, _, says)| counts(*version, says));
        found.sort_by_key(|(version, ..)| *version);
        let more = found.len() > limit;
        found.truncate(limit);
        let at = match found.last() {
            Some((version, ..)) if more => *version,
            _ => self.version.max(after),
        };
        let mut cursor = format!("{}/{at}", self.identity);
        if since > at {
            cursor = format!("{cursor}+{since}");
        }
        let changes: Vec<Value> = found.iter().map(|change| written(*change)).collect();
        let page = json!({
            "feed": self.identity, "version": self.version, "cursor": cursor, "more": more, "changes": changes,
        });
        ("200", page)
    }

    /// A page of what exists; `None` where the cursor leads nowhere.
    fn list(&self, cursor: &str, limit: usize) -> Option<Value> {
        let at = cursor
            .strip_suffix('#')
            .and_then(|cursor| cursor.split_once('~'));
        let (_, since) = self.range(at.map(|(at, _)| at))?;
        let after = at.map_or("", |(_, digest)| digest);
        let exists = self.keys.iter().filter(|(_, (_, says))| says.is_some());
        let mut found: Vec<(String, Value)> = exists
            .map(|(key, (version, says))| (hex(*key), written((*version, *key, *says))))
            .filter(|(digest, _)| digest.as_str() > after)
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let rest = found.len() > limit;
        found.truncate(limit);
        let at = format!("{}/{since}", self.identity);
        let cursor = match found.last() {
            Some((digest, _)) if rest => format!("{at}~{digest}#"),
            _ => at,
        };
        let changes: Vec<Value> = found.into_iter().map(|(_, change)| change).collect();
        Some(json!({
            "feed": self.identity, "version": self.version, "cursor": cursor, "more": rest || since < self.version,
            "changes": changes,
        }))
    }

    /// After which version, and after which one removals too; `None` where the cursor leads nowhere.
    fn range(&self, cursor: Option<&str>) -> Option<(u64, u64)> {
        let Some(cursor) = cursor else {
            return Some((0, self.version));
        };
        let (identity, rest) = cursor.split_once('/')?;
        let (at, since) = rest.split_once('+').unwrap_or((rest, rest));
        let (at, since) = (at.parse().ok()?, since.parse().ok()?);
        let ahead = since > self.version && self.knows_ahead;
        let known = identity == self.identity && !ahead && since >= self.compacted;
        known.then_some((at, since))
    }
}

fn hex(key: u8) -> String {
    hex::encode(digest(key).bytes())
}

fn written((version, key, says): (u64, u8, Says)) -> Value {
    let sha256 = hex(key);
    match says {
        None => json!({"version": version, "sha256": sha256, "removed": true}),
        Some((group, off)) => {
            json!({"version": version, "sha256": sha256, "id": format!("k{key}"), "group": group, "disabled": off})
        }
    }
}
