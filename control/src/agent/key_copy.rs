//! The keys of the console on this machine, in a database that the gateway's feed is served from.
//!
//! The gateway reads this feed and not the console's. So its keys are there after a restart too, with the console away, and
//! whatever happens to the console's feed (another identity, an older backup) is settled here: versions are this copy's own, and
//! only what is different gets a new one.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use time::OffsetDateTime;

use super::database;
use super::key_page::{KeyChange, KeyFeedPage};

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

    /// Whether all keys were here once. Before that no key is known not to exist.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether its keys are those of a whole feed, and no full sync is under way.
    pub const fn is_followed(&self) -> bool {
        self.complete && !self.listing && self.cursor.is_some()
    }

    /// The greatest version of this copy's own sequence; 0 where it cannot be read.
    pub fn head(&self) -> u64 {
        let select = "SELECT head FROM key_feed";
        let head = self.connection.query_row(select, [], |row| row.get(0));
        head.unwrap_or_default()
    }

    /// Begins a full sync with the next page. Keys stay as they are until it is complete.
    pub fn begin_anew(&mut self) {
        self.cursor = None;
    }

    /// Takes a page, all of it or nothing.
    ///
    /// # Errors
    /// The reason that the page was not taken.
    pub fn take(&mut self, page: &KeyFeedPage) -> Result<(), String> {
        let begins = self.cursor.is_none();
        let listing = begins || self.listing;
        let ends = listing && !page.more;
        let mut taken = || -> rusqlite::Result<()> {
            let mut write = KeyWrite::begin(&mut self.connection, begins)?;
            for change in &page.changes {
                write.apply(change)?;
            }
            if ends {
                write.remove_unnamed()?;
            }
            // A full sync that is cut short begins anew.
            write.end((ends || !listing).then_some(&page.cursor), ends)
        };
        taken().map_err(|error| format!("keys cannot be written: {error}"))?;
        self.cursor = Some(page.cursor.clone());
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
            let old = "SELECT sha256 FROM keys WHERE removed_at < ?1 ORDER BY removed_at LIMIT ?2";
            let forgotten: Vec<i64> = transaction
                .prepare(&format!(
                    "DELETE FROM keys WHERE sha256 IN ({old}) RETURNING version"
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

/// A transaction that writes changes of keys.
struct KeyWrite<'a> {
    transaction: Transaction<'a>,
    head: i64,
    /// The number of the full sync that names them.
    sync: i64,
}

impl<'a> KeyWrite<'a> {
    fn begin(connection: &'a mut Connection, begins: bool) -> rusqlite::Result<Self> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let next = "UPDATE key_feed SET sync = sync + ?1 RETURNING head, sync";
        let (head, sync) =
            transaction.query_row(next, [begins], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            transaction,
            head,
            sync,
        })
    }

    fn apply(&mut self, change: &KeyChange) -> rusqlite::Result<()> {
        let told = serde_json::Value::Object(change.told()).to_string();
        let removed_at = change.removed.then(seconds);
        self.put(&change.sha256, &told, removed_at)
    }

    /// Writes how a key is. What is the same is no change for gateways.
    fn put(&mut self, sha256: &str, told: &str, removed_at: Option<i64>) -> rusqlite::Result<()> {
        let select = "UPDATE keys SET sync = ?2 WHERE sha256 = ?1 RETURNING told";
        let mut known = self.transaction.prepare_cached(select)?;
        let known: Option<String> = known
            .query_row(params![sha256, self.sync], |row| row.get(0))
            .optional()?;
        let is_unknown_removal = known.is_none() && removed_at.is_some();
        if is_unknown_removal || known.as_deref() == Some(told) {
            return Ok(());
        }
        // Versions follow the clock, so that those which are lost with a file are not given again.
        let this_second = seconds().saturating_mul(1_000_000);
        self.head = self.head.saturating_add(1).max(this_second);
        self.transaction
            .prepare_cached(
                "INSERT INTO keys (sha256, version, told, removed_at, sync) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (sha256) DO UPDATE SET version = excluded.version, told = excluded.told, removed_at = excluded.removed_at",
            )?
            .execute(params![sha256, self.head, told, removed_at, self.sync])?;
        Ok(())
    }

    /// Removes the keys that the full sync has not named.
    fn remove_unnamed(&mut self) -> rusqlite::Result<()> {
        let select = "SELECT sha256 FROM keys WHERE sync <> ?1 AND removed_at IS NULL";
        let gone: Vec<String> = self
            .transaction
            .prepare(select)?
            .query_map([self.sync], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for sha256 in gone {
            let told = serde_json::json!({"sha256": sha256, "removed": true}).to_string();
            self.put(&sha256, &told, Some(seconds()))?;
        }
        Ok(())
    }

    fn end(self, cursor: Option<&String>, completes: bool) -> rusqlite::Result<()> {
        self.transaction.execute(
            "UPDATE key_feed SET head = ?1, cursor = ?2, complete = complete OR ?3",
            params![self.head, cursor, completes],
        )?;
        self.transaction.commit()
    }
}

fn seconds() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page(cursor: &str, more: bool, changes: &Value) -> KeyFeedPage {
        let page =
            json!({"feed": "f", "version": 9, "cursor": cursor, "more": more, "changes": changes});
        KeyFeedPage::parse(page.to_string().as_bytes()).unwrap()
    }

    fn sha256(name: &str) -> String {
        trilane_console::secret::digest(name)
    }

    fn key(name: &str, group: &str) -> Value {
        json!({"version": 1, "sha256": sha256(name), "id": name, "group": group})
    }

    fn gone(name: &str) -> Value {
        json!({"version": 1, "sha256": sha256(name), "removed": true})
    }

    /// The keys, and the version of the feed that is served from them.
    fn kept(copy: &KeyCopy) -> (Vec<(String, String)>, i64) {
        let select = "SELECT told ->> '$.id' AS id, told ->> '$.group' FROM keys WHERE removed_at IS NULL ORDER BY id";
        let mut statement = copy.connection.prepare(select).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let keys = rows.unwrap().map(Result::unwrap).collect();
        let head = "SELECT head FROM key_feed";
        let head = copy.connection.query_row(head, [], |row| row.get(0));
        (keys, head.unwrap())
    }

    fn names(copy: &KeyCopy) -> String {
        let (keys, _) = kept(copy);
        let each = keys.iter().map(|(id, group)| format!("{id}:{group} "));
        each.collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn what_a_copy_has() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("keys.db");
        let mut copy = KeyCopy::open(&file).unwrap();
        assert_eq!((copy.cursor(), copy.is_complete()), (None, false));

        copy.take(&page("l.1", true, &json!([key("a", "g"), key("b", "g")])))
            .unwrap();
        assert!(!copy.is_complete(), "a full sync has begun");
        // Cut short: it begins anew, and what it named is there.
        let mut copy = KeyCopy::open(&file).unwrap();
        assert_eq!(copy.cursor(), None);
        assert_eq!(names(&copy), "a:g b:g");
        copy.take(&page("l.1", true, &json!([key("b", "g")])))
            .unwrap();
        assert_eq!(
            names(&copy),
            "a:g b:g",
            "nothing goes before it is complete"
        );
        copy.take(&page(
            "c.2",
            false,
            &json!([key("c", "g"), key("d", "g"), gone("d")]),
        ))
        .unwrap();
        assert_eq!(names(&copy), "b:g c:g", "what it did not name is gone");
        assert!(copy.is_complete());

        // From now on changes.
        let mut copy = KeyCopy::open(&file).unwrap();
        assert_eq!((copy.cursor(), copy.is_complete()), (Some("c.2"), true));
        let (_, before) = kept(&copy);
        copy.take(&page("c.3", false, &json!([key("c", "g")])))
            .unwrap();
        assert_eq!(
            kept(&copy).1,
            before,
            "what is the same is no change for gateways"
        );
        copy.take(&page("c.4", false, &json!([gone("b"), key("c", "h")])))
            .unwrap();
        assert_eq!(names(&copy), "c:h");
        assert!(kept(&copy).1 > before);

        // Another feed of the console.
        copy.begin_anew();
        copy.take(&page("n.1", true, &json!([key("e", "g")])))
            .unwrap();
        assert_eq!(names(&copy), "c:h e:g");
        assert!(
            copy.is_complete(),
            "the keys of before are served meanwhile"
        );
        copy.take(&page("n.2", false, &json!([]))).unwrap();
        assert_eq!(names(&copy), "e:g");
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
        let both = json!([key("a", "g"), key("b", "g")]);
        copy.take(&page("c.1", false, &both)).unwrap();
        // One that was never here is none of this feed.
        let removals = json!([gone("a"), gone("x")]);
        copy.take(&page("c.2", false, &removals)).unwrap();
        let (_, head) = kept(&copy);
        copy.compact(Duration::from_secs(3600)).unwrap();
        assert_eq!(rows(&copy), (2, 0));
        let older = "UPDATE keys SET removed_at = removed_at - 7200 WHERE removed_at IS NOT NULL";
        copy.connection.execute(older, []).unwrap();
        copy.compact(Duration::from_secs(3600)).unwrap();
        assert_eq!(rows(&copy), (1, head));
        assert_eq!(names(&copy), "b:g");
    }

    /// A page that a gateway would refuse whole is refused here, and the keys stay as they are.
    #[test]
    fn a_bad_page_is_refused() {
        for (case, bad) in [
            ("limits", json!({"limits": {"requests_per_minute": -1}})),
            ("multiplier", json!({"multiplier": "1.23456"})),
            ("a member of a later release", json!({"later": 1})),
            ("a digest that is none", json!({"sha256": "x"})),
        ] {
            let mut change = key("b", "g");
            for (name, value) in bad.as_object().unwrap() {
                change[name] = value.clone();
            }
            let page = json!({"feed": "f", "version": 9, "cursor": "c.2", "more": false, "changes": [key("c", "g"), change]});
            let parsed = KeyFeedPage::parse(page.to_string().as_bytes());
            assert!(parsed.is_err(), "{case}");
        }
    }
}
