//! The feed of keys that a gateway reads from its agent.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, ToSql, Transaction};
use trilane::feed::page::KeyChange;
use trilane_console::feed::{
    FeedCursor, FeedVersions, PageBuilder, PageError, PageRange, PageRequest,
};

use super::database;
use super::feed_reads::FeedReads;
use super::key_copy::TABLES;
use super::unwritten_keys::UnwrittenKeys;

const LISTING: &str = "SELECT change FROM keys WHERE sync = (SELECT sync FROM key_feed) \
     AND sha256 > ?1 AND removed_at IS NULL ORDER BY sha256 LIMIT ?2";
const CHANGES: &str = "SELECT change FROM keys WHERE sync = (SELECT sync FROM key_feed) \
     AND version > ?1 ORDER BY version LIMIT ?2";

/// The feed of keys that a gateway reads from its agent, once all keys of the console were there: before, a missing key may be one
/// that has not come yet.
#[derive(Debug)]
pub struct ServedKeys {
    /// A connection of its own: readers do not wait for writers.
    copy: Mutex<Connection>,
    reads: Arc<FeedReads>,
    /// Changes that the copy could not be given.
    unwritten: Arc<UnwrittenKeys>,
}

impl ServedKeys {
    /// Serves the copy in this file.
    ///
    /// # Errors
    /// The reason that the copy cannot be used.
    pub fn open(file: &Path, unwritten: Arc<UnwrittenKeys>) -> Result<Self, String> {
        Ok(Self {
            copy: Mutex::new(database::open(file, TABLES)?),
            reads: Arc::default(),
            unwritten,
        })
    }

    /// Returns the time at which the gateway read it last.
    pub fn reads(&self) -> Arc<FeedReads> {
        Arc::clone(&self.reads)
    }

    /// A page for the gateway that asks with this query, as JSON.
    ///
    /// # Errors
    /// The reason that there is no page.
    pub fn page(&self, query: &str) -> Result<Vec<u8>, PageError> {
        let asked = PageRequest::parse(query)?;
        let cursor = asked.cursor.as_ref();
        self.reads.note(cursor.and_then(FeedCursor::version));
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        let unready = |error: rusqlite::Error| {
            PageError::Unready(format!("the copy of keys cannot be read: {error}"))
        };
        // All queries in one transaction: they see one state of the copy.
        let transaction = copy.transaction().map_err(unready)?;
        let Some(written) = versions(&transaction).map_err(unready)? else {
            let why = "not all keys of the console have come yet";
            return Err(PageError::Unready(why.to_owned()));
        };
        let versions = FeedVersions {
            head: written.head.max(self.unwritten.head()),
            ..written.clone()
        };
        // What is only in memory comes behind a listing.
        let range = match &asked.cursor {
            None => written.range(None)?,
            cursor => versions.range(cursor.as_ref())?,
        };
        let (listed, changed, unwritten);
        let mut page = PageBuilder::new(&asked);
        if let PageRange::Listing { after, .. } = &range {
            listed = rows(&transaction, LISTING, after, asked.limit).map_err(unready)?;
            page.fill(listed.iter().map(|text| read(text)))?;
        }
        let range = page.after_listing(range);
        if let PageRange::Changes { after } = range {
            changed = rows(&transaction, CHANGES, &after, asked.limit).map_err(unready)?;
            page.fill(changed.iter().map(|text| read(text)))?;
            unwritten = self.unwritten.after(after.max(written.head), asked.limit);
            page.fill(unwritten.iter().map(|text| read(text)))?;
        }
        Ok(page.finish(&versions, range))
    }
}

/// The versions of the feed; `None`: not all keys were here yet.
fn versions(transaction: &Transaction<'_>) -> rusqlite::Result<Option<FeedVersions>> {
    let select = "SELECT feed, head, compacted, complete FROM key_feed";
    transaction.query_row(select, [], |row| {
        let versions = FeedVersions {
            feed: row.get(0)?,
            head: row.get(1)?,
            compacted: row.get(2)?,
        };
        Ok(row.get::<_, bool>(3)?.then_some(versions))
    })
}

/// The changes of a query, one more than fits.
fn rows(
    transaction: &Transaction<'_>,
    query: &str,
    after: &dyn ToSql,
    limit: u32,
) -> rusqlite::Result<Vec<String>> {
    let mut statement = transaction.prepare_cached(query)?;
    let most = limit.saturating_add(1);
    let rows = statement.query_map([after, &most], |row| row.get(0))?;
    rows.collect()
}

/// Reads a change as it is kept.
fn read(text: &str) -> Result<KeyChange<'_>, PageError> {
    let read = serde_json::from_str(text);
    read.map_err(|error| PageError::Unready(format!("the copy of keys cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trilane::feed::page::Page;

    use super::*;
    use crate::agent::key_copy::KeyCopy;

    fn page_of(version: u64, more: bool, changes: &Value) -> String {
        json!({"feed": "f", "version": version, "cursor": "c", "more": more, "changes": changes})
            .to_string()
    }

    fn key(version: u64, name: &str) -> Value {
        let sha256 = trilane_console::secret::digest(name);
        json!({"version": version, "sha256": sha256, "id": name, "group": "g"})
    }

    fn revoked(version: u64, name: &str, how: &str) -> Value {
        let mut key = key(version, name);
        if how == "removed" {
            key = json!({"version": version, "sha256": key["sha256"]});
        }
        key[how] = true.into();
        key
    }

    /// The ids on a page, its version, its cursor and whether there are more.
    fn read(served: &ServedKeys, query: &str) -> (Vec<String>, u64, String, bool) {
        let page: Value = serde_json::from_slice(&served.page(query).unwrap()).unwrap();
        let ids = page["changes"].as_array().unwrap().iter();
        let ids = ids.map(|change| change["id"].as_str().unwrap().to_owned());
        (
            ids.collect(),
            page["version"].as_u64().unwrap(),
            page["cursor"].as_str().unwrap().to_owned(),
            page["more"].as_bool().unwrap(),
        )
    }

    fn take(copy: &mut KeyCopy, page: &str, unwritten: &UnwrittenKeys) {
        let page = Page::parse(page.as_bytes()).unwrap();
        copy.take(&page, unwritten).unwrap();
    }

    /// A full sync that takes long keeps no revoked key good, and what was told from memory stays told.
    #[test]
    fn revocations_of_a_full_sync_under_way() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("keys.db");
        let mut copy = KeyCopy::open(&file).unwrap();
        let unwritten = Arc::<UnwrittenKeys>::default();
        let served = ServedKeys::open(&file, Arc::clone(&unwritten)).unwrap();
        let all: Vec<_> = (1..)
            .zip(["a", "b", "c", "d"])
            .map(|(version, name)| key(version, name))
            .collect();
        take(&mut copy, &page_of(4, false, &json!(all)), &unwritten);
        let (_, _, cursor, _) = read(&served, "");
        let in_memory = page_of(9, false, &json!([revoked(9, "d", "disabled")]));
        let in_memory = Page::parse(in_memory.as_bytes()).unwrap();
        unwritten.add(in_memory.written()).unwrap();

        copy.begin_anew();
        let listed = json!([
            key(1, "a"),
            revoked(2, "b", "disabled"),
            revoked(2, "d", "disabled"),
            revoked(3, "x", "disabled")
        ]);
        take(&mut copy, &page_of(3, true, &listed), &unwritten);
        let told = |cursor: &str| -> Value {
            let page = served.page(&format!("cursor={cursor}")).unwrap();
            let page: Value = serde_json::from_slice(&page).unwrap();
            json!([page["changes"], page["cursor"]])
        };
        let first = told(&cursor);
        assert_eq!(
            first[0],
            json!([revoked(9, "d", "disabled"), revoked(10, "b", "disabled")]),
            "each once, behind those in memory; a key that is not served is not told"
        );
        unwritten.clear();
        assert_eq!(told(&cursor), first, "the copy has them");

        take(
            &mut copy,
            &page_of(4, true, &json!([revoked(4, "c", "removed")])),
            &unwritten,
        );
        let cursor = first[1].as_str().unwrap();
        assert_eq!(told(cursor)[0], json!([revoked(11, "c", "removed")]));
        // The agent starts again.
        let mut copy = KeyCopy::open(&file).unwrap();
        take(&mut copy, &page_of(4, true, &listed), &unwritten);
        assert_eq!(told(cursor)[0], json!([revoked(11, "c", "removed")]));
    }

    #[test]
    fn changes_in_memory_stand_behind_those_of_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("keys.db");
        let mut copy = KeyCopy::open(&file).unwrap();
        let unwritten = Arc::<UnwrittenKeys>::default();
        let served = ServedKeys::open(&file, Arc::clone(&unwritten)).unwrap();
        assert!(matches!(served.page(""), Err(PageError::Unready(_))));
        let page = page_of(2, false, &json!([key(1, "a"), key(2, "b")]));
        take(&mut copy, &page, &unwritten);
        let (mut ids, version, cursor, more) = read(&served, "");
        ids.sort();
        assert_eq!(
            (ids, version, more),
            (vec!["a".into(), "b".into()], 2, false)
        );

        let in_memory = page_of(5, false, &json!([key(3, "c"), key(4, "d"), key(5, "e")]));
        let in_memory = Page::parse(in_memory.as_bytes()).unwrap();
        unwritten.add(in_memory.written()).unwrap();
        unwritten.add(in_memory.written()).unwrap();
        let (ids, version, next, more) = read(&served, &format!("limit=2&cursor={cursor}"));
        assert_eq!(
            (ids, version, more),
            (vec!["c".into(), "d".into()], 5, true)
        );
        let (ids, _, last, more) = read(&served, &format!("limit=2&cursor={next}"));
        assert_eq!((ids, more), (vec!["e".into()], false));
        let (ids, ..) = read(&served, "");
        assert_eq!(ids.len(), 5, "a full sync has them, too");

        // The copy has caught up with some, then with all.
        let page = page_of(5, true, &json!([key(3, "c")]));
        take(&mut copy, &page, &unwritten);
        let (ids, ..) = read(&served, &format!("cursor={cursor}"));
        assert_eq!(ids, ["c", "d", "e"]);
        copy.take(&in_memory, &unwritten).unwrap();
        unwritten.clear();
        assert_eq!(read(&served, &format!("cursor={last}")).0, [""; 0]);
        let (ids, ..) = read(&served, &format!("cursor={cursor}"));
        assert_eq!(ids, ["c", "d", "e"]);
    }

    #[test]
    fn memory_is_bounded() {
        let changes = (1..=100_001).map(|version| KeyChange {
            version: Some(version),
            ..KeyChange::default()
        });
        let unwritten = UnwrittenKeys::default();
        let changes: Vec<_> = changes.collect();
        let (most, _) = changes.split_at(100_000);
        unwritten.add(most).unwrap();
        assert!(unwritten.add(&changes).is_err());
    }
}
