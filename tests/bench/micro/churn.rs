//! A feed of short-lived keys: each one is removed when a number of others have come after it.
//!
//! Both the benchmark of the key store and its test that is not timed use it.

use core::fmt::Write;

/// The feed. Version `2n + 1` is the key `n`, version `2n + 2` the removal of the key that came `live` keys before it.
#[derive(Debug, Clone)]
pub struct Churn {
    /// The number of keys that exist at a time.
    pub live: u64,
    /// The greatest version.
    pub version: u64,
}

impl Churn {
    /// The bytes of a key.
    pub fn key(number: u64) -> Vec<u8> {
        format!("sk-churn-{number}").into_bytes()
    }

    /// Adds so many keys, and removes as many.
    pub fn pass(&mut self, keys: u64) {
        self.version += 2 * keys;
    }

    /// The keys that there are.
    pub fn keys(&self) -> core::ops::Range<u64> {
        let end = self.version / 2;
        end.saturating_sub(self.live)..end
    }

    /// The page for a path that ends with the cursor, if there is one. `sha256` gives the 64 hexadecimal digits of a key.
    pub fn page(&self, path: &str, limit: u64, sha256: impl Fn(u64) -> String) -> Vec<u8> {
        let cursor = path.split_once("cursor=").map(|(_, cursor)| cursor);
        let mut changes = String::new();
        let mut listed = |version: u64, number: u64, removed: bool| {
            let comma = if changes.is_empty() { "" } else { "," };
            let digest = sha256(number);
            let _ = if removed {
                write!(
                    changes,
                    r#"{comma}{{"version":{version},"sha256":"{digest}","removed":true}}"#
                )
            } else {
                write!(
                    changes,
                    r#"{comma}{{"version":{version},"sha256":"{digest}","id":"key_{number}","group":"g","expires_at":"2030-01-01T00:00:00Z"}}"#
                )
            };
        };
        // `l<number>_<version>`: the listing goes on with this key, and with what came after this version. Else what came after it.
        let listing = match cursor {
            None => Some((self.keys().start, self.version)),
            Some(cursor) => cursor.strip_prefix('l').and_then(|rest| {
                let (number, version) = rest.split_once('_')?;
                Some((number.parse().ok()?, version.parse().ok()?))
            }),
        };
        let (cursor, more) = if let Some((from, began)) = listing {
            let keys = self.keys();
            let end = keys.end.min(began / 2).min(from + limit);
            (from.max(keys.start)..end).for_each(|number| listed(2 * number + 1, number, false));
            if end < keys.end.min(began / 2) {
                (format!("l{end}_{began}"), true)
            } else {
                (began.to_string(), began < self.version)
            }
        } else {
            let after: u64 = cursor
                .and_then(|cursor| cursor.parse().ok())
                .unwrap_or_default();
            let end = self.version.min(after + limit);
            for version in after + 1..=end {
                let number = (version - 1) / 2;
                match (version % 2, number.checked_sub(self.live)) {
                    (1, _) => listed(version, number, false),
                    (_, Some(number)) => listed(version, number, true),
                    _ => {}
                }
            }
            (end.to_string(), end < self.version)
        };
        let version = self.version;
        format!(
            r#"{{"feed":"churn","version":{version},"cursor":"{cursor}","more":{more},"changes":[{changes}]}}"#
        )
        .into_bytes()
    }
}
