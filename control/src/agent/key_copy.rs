//! The keys of the console on this machine, in a database that the gateway's feed is served from.
//!
//! The gateway reads this feed and not the console's, so its keys are there after a restart too, with the console away. Versions are
//! those of the console's feed. A full sync of it (at first, of another identity, after a long time away) is served once it is complete,
//! under another identity; until then a key that it disables or removes is disabled or removed among those that are served, too.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use time::OffsetDateTime;
use trilane::feed::page::{KeyChange, Page};

use super::database;
use super::unwritten_keys::UnwrittenKeys;

/// The versions of its tables.
pub const TABLES: &[&str] = &[include_str!("keys.sql")];
/// The most removals that are forgotten in one transaction.
const BATCH: u32 = 5000;

/// The keys of the console on this machine.
#[derive(Debug)]
pub struct KeyCopy {
    connection: Connection,
    /// The place at which the next page begins; `None`: a full sync is due.
    cursor: Option<String>,
    /// Whether the pages are those of a full sync.
    listing: bool,
    complete: bool,
}

impl KeyCopy {
    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// The reason that the copy cannot be used.
    pub fn open(file: &Path) -> Result<Self, String> {
        let connection = database::open(file, TABLES)?;
        let select = "SELECT cursor, complete FROM key_feed";
        let standing = connection.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let (cursor, complete) = standing.map_err(|error| error.to_string())?;
        Ok(Self {
            connection,
            cursor,
            listing: false,
            complete,
        })
    }

    /// The place at which the next page begins; `None`: a full sync is due.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Whether its keys are those of a whole feed, and no full sync is under way.
    pub const fn is_followed(&self) -> bool {
        self.complete && !self.listing && self.cursor.is_some()
    }

    /// Begins a full sync with the next page. Keys stay as they are until it is complete.
    pub fn begin_anew(&mut self) {
        self.cursor = None;
    }

    /// Takes a page, all of it or nothing. The first of a full sync takes the changes in memory with it: later versions follow theirs.
    ///
    /// # Errors
    /// The reason that the page was not taken.
    pub fn take(&mut self, page: &Page<'_>, unwritten: &UnwrittenKeys) -> Result<(), String> {
        let begins = self.cursor.is_none();
        let listing = begins || self.listing;
        let ends = listing && !page.more;
        let complete = self.complete;
        let mut taken = || -> rusqlite::Result<()> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            let select = "SELECT sync, head FROM key_feed";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, u64>(1)?));
            let (served, mut head) = transaction.query_row(select, [], row)?;
            let sync = served.saturating_add(i64::from(listing));
            if begins {
                transaction.execute("DELETE FROM keys WHERE sync <> ?1", [served])?;
                unwritten.each(|version, change| {
                    head = head.max(version);
                    put(&transaction, served, change)
                })?;
            }
            for change in page.written() {
                put(&transaction, sync, change)?;
                if listing && complete && is_revocation(&transaction, served, change)? {
                    head = head.saturating_add(1);
                    let version = Some(head);
                    let change = KeyChange {
                        version,
                        ..change.clone()
                    };
                    put(&transaction, served, &change)?;
                }
            }
            if ends {
                transaction.execute("DELETE FROM keys WHERE sync <> ?1", [sync])?;
                transaction.execute(
                    "UPDATE key_feed SET sync = ?1, feed = lower(hex(randomblob(16))), compacted = 0, complete = 1",
                    [sync],
                )?;
            }
            if !page.more {
                head = page.version;
            } else if let (false, Some(last)) = (listing, page.written().last()) {
                head = last.version.unwrap_or(head);
            }
            // A full sync that is cut short begins anew.
            let cursor = (ends || !listing).then_some(&*page.cursor);
            let update = "UPDATE key_feed SET head = ?1, cursor = ?2";
            transaction.execute(update, params![head, cursor])?;
            transaction.commit()
        };
        taken().map_err(|error| format!("keys cannot be written: {error}"))?;
        self.cursor = Some(page.cursor.to_string());
        self.listing = listing && !ends;
        self.complete |= ends;
        Ok(())
    }

    /// Forgets removals that are older than this. A gateway that was away for longer reads all keys anew.
    ///
    /// # Errors
    /// That cannot be written; some may be forgotten.
    pub fn compact(&mut self, age: Duration) -> Result<(), String> {
        let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        let before = seconds().saturating_sub(age);
        let mut forget = || -> rusqlite::Result<usize> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            let old =
                "SELECT sync, sha256 FROM keys WHERE removed_at < ?1 ORDER BY removed_at LIMIT ?2";
            let forgotten: Vec<i64> = transaction
                .prepare(&format!(
                    "DELETE FROM keys WHERE (sync, sha256) IN ({old}) RETURNING version"
                ))?
                .query_map(params![before, BATCH], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            if let Some(greatest) = forgotten.iter().max() {
                let sql = "UPDATE key_feed SET compacted = max(compacted, ?1)";
                transaction.execute(sql, [greatest])?;
            }
            transaction.commit()?;
            Ok(forgotten.len())
        };
        let most = usize::try_from(BATCH).unwrap_or(usize::MAX);
        while forget().map_err(|error| format!("old removals stay for now: {error}"))? >= most {}
        Ok(())
    }
}

/// Writes how a key is. A removal of one that is not here is none of this feed.
fn put(transaction: &Transaction<'_>, sync: i64, change: &KeyChange<'_>) -> rusqlite::Result<()> {
    let text = serde_json::to_string(change).unwrap_or_default();
    let removed_at = change.is_removal().then(seconds);
    let statement = if change.is_removal() {
        "UPDATE keys SET version = ?3, change = ?4, removed_at = ?5 WHERE sync = ?1 AND sha256 = ?2 AND version < ?3"
    } else {
        "INSERT INTO keys (sync, sha256, version, change, removed_at) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (sync, sha256) DO UPDATE SET version = excluded.version, change = excluded.change, removed_at = excluded.removed_at \
         WHERE keys.version < excluded.version"
    };
    let values = params![sync, change.sha256(), change.version, text, removed_at];
    let mut statement = transaction.prepare_cached(statement)?;
    statement.execute(values).map(drop)
}

/// Whether it disables or removes a key that is good among those that are served.
fn is_revocation(
    transaction: &Transaction<'_>,
    served: i64,
    change: &KeyChange<'_>,
) -> rusqlite::Result<bool> {
    if !change.is_removal() && change.disabled != Some(true) {
        return Ok(false);
    }
    let good = "SELECT 1 FROM keys WHERE sync = ?1 AND sha256 = ?2 AND removed_at IS NULL \
         AND NOT coalesce(change ->> '$.disabled', 0)";
    let mut good = transaction.prepare_cached(good)?;
    good.exists(params![served, change.sha256()])
}

fn seconds() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn take(copy: &mut KeyCopy, version: u64, cursor: &str, more: bool, changes: &Value) {
        let page = json!({"feed": "f", "version": version, "cursor": cursor, "more": more, "changes": changes});
        let page = page.to_string();
        let unwritten = UnwrittenKeys::default();
        copy.take(&Page::parse(page.as_bytes()).unwrap(), &unwritten)
            .unwrap();
    }

    fn sha256(name: &str) -> String {
        trilane_console::secret::digest(name)
    }

    fn key(version: u64, name: &str, group: &str) -> Value {
        json!({"version": version, "sha256": sha256(name), "id": name, "group": group})
    }

    fn gone(version: u64, name: &str) -> Value {
        json!({"version": version, "sha256": sha256(name), "removed": true})
    }

    /// The keys that are served.
    fn names(copy: &KeyCopy) -> String {
        let select = "SELECT change ->> '$.id' AS id, change ->> '$.group' FROM keys \
             WHERE sync = (SELECT sync FROM key_feed) AND removed_at IS NULL ORDER BY id";
        let mut statement = copy.connection.prepare(select).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        let each = rows.unwrap().map(Result::unwrap);
        let each = each.map(|(id, group)| format!("{id}:{group} "));
        each.collect::<String>().trim_end().to_owned()
    }

    /// The name of the feed that is served, and its greatest version.
    fn feed(copy: &KeyCopy) -> (String, u64) {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let select = "SELECT feed, head FROM key_feed";
        copy.connection.query_row(select, [], row).unwrap()
    }

    #[test]
    fn keys_of_a_copy() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("keys.db");
        let mut copy = KeyCopy::open(&file).unwrap();
        assert_eq!((copy.cursor(), copy.complete), (None, false));

        let both = json!([key(1, "a", "g"), key(2, "b", "g")]);
        take(&mut copy, 2, "l.1", true, &both);
        assert!(!copy.complete, "a full sync has begun");
        // Cut short: it begins anew.
        let mut copy = KeyCopy::open(&file).unwrap();
        assert_eq!(copy.cursor(), None);
        take(&mut copy, 3, "l.1", true, &json!([key(2, "b", "g")]));
        assert_eq!(names(&copy), "", "nothing is served before it is complete");
        let rest = json!([
            key(3, "c", "g"),
            key(4, "d", "g"),
            gone(5, "d"),
            gone(6, "x")
        ]);
        take(&mut copy, 6, "c.2", false, &rest);
        assert_eq!(names(&copy), "b:g c:g", "what it did not name is gone");
        assert!(copy.is_followed());
        let (first, head) = feed(&copy);
        assert_eq!(head, 6);

        // From now on changes.
        let mut copy = KeyCopy::open(&file).unwrap();
        assert_eq!((copy.cursor(), copy.is_followed()), (Some("c.2"), true));
        take(&mut copy, 9, "c.3", true, &json!([key(7, "c", "h")]));
        assert_eq!(feed(&copy), (first.clone(), 7), "there are more");
        take(&mut copy, 9, "c.4", false, &json!([gone(8, "b")]));
        assert_eq!(names(&copy), "c:h");
        take(&mut copy, 9, "c.4", false, &json!([key(3, "c", "g")]));
        assert_eq!(names(&copy), "c:h", "the greatest version counts");
        assert_eq!(feed(&copy), (first.clone(), 9));

        // Another feed of the console.
        copy.begin_anew();
        take(&mut copy, 2, "n.1", true, &json!([key(1, "e", "g")]));
        assert!(!copy.is_followed());
        assert_eq!(
            (names(&copy), feed(&copy)),
            ("c:h".to_owned(), (first.clone(), 9)),
            "the keys of before are served meanwhile"
        );
        take(&mut copy, 2, "n.2", false, &json!([]));
        assert_eq!(names(&copy), "e:g");
        let (other, head) = feed(&copy);
        assert!(other != first && head == 2, "a gateway reads all of it");
    }

    /// Removals are told for a time, and then a gateway that may have missed one reads all keys anew.
    #[test]
    fn removals_are_told_for_a_time() {
        let place = tempfile::tempdir().unwrap();
        let mut copy = KeyCopy::open(&place.path().join("keys.db")).unwrap();
        let rows = |copy: &KeyCopy| -> (i64, i64) {
            let select = "SELECT (SELECT count(*) FROM keys), compacted FROM key_feed";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            copy.connection.query_row(select, [], row).unwrap()
        };
        let both = json!([key(1, "a", "g"), key(2, "b", "g")]);
        take(&mut copy, 2, "c.1", false, &both);
        // One that was never here is none of this feed.
        let removals = json!([gone(3, "a"), gone(4, "x")]);
        take(&mut copy, 4, "c.2", false, &removals);
        copy.compact(Duration::from_secs(3600)).unwrap();
        assert_eq!(rows(&copy), (2, 0));
        let older = "UPDATE keys SET removed_at = removed_at - 7200 WHERE removed_at IS NOT NULL";
        copy.connection.execute(older, []).unwrap();
        copy.compact(Duration::from_secs(3600)).unwrap();
        assert_eq!(rows(&copy), (1, 3));
        assert_eq!(names(&copy), "b:g");
    }
}
