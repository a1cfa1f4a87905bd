//! The keys of the console on this machine: a database of `trilane serve`, which its feed is served from.
//!
//! The gateway reads this feed and not the console's. So its keys are there after a restart too, with the console away, and
//! whatever happens to the console's feed (another identity, an older backup) is settled here.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::key_page::{KeyChange, KeyFeedPage};
use crate::serve::OpenDatabase;

/// What a copy has beside the tables of a feed: where it goes on, and which keys a full sync has named so far.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS agent_feed (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- NULL: a full sync is due, or was under way.
  cursor   TEXT,
  -- Whether all keys were here once.
  complete INTEGER NOT NULL
);
INSERT OR IGNORE INTO agent_feed (one, cursor, complete) VALUES (1, NULL, 0);
CREATE TABLE IF NOT EXISTS agent_listed (sha256 TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
";

/// The keys of the console on this machine.
#[derive(Debug)]
pub struct KeyCopy {
    connection: Connection,
    /// Where the next page begins; `None`: with a full sync.
    cursor: Option<String>,
    /// Whether the pages are those of a full sync.
    listing: bool,
    complete: bool,
}

impl KeyCopy {
    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(file: &Path) -> Result<Self, String> {
        let connection = OpenDatabase::new(file)?.connection;
        let standing = || {
            connection.execute_batch(TABLES)?;
            let select = "SELECT cursor, complete FROM agent_feed";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            connection.query_row(select, [], row).optional()
        };
        let found: Option<(Option<String>, bool)> =
            standing().map_err(|error| error.to_string())?;
        let (cursor, complete) = found.unwrap_or_default();
        Ok(Self {
            connection,
            cursor,
            listing: false,
            complete,
        })
    }

    /// Where the next page begins; `None`: with a full sync.
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
    /// Why not.
    pub fn take(&mut self, page: &KeyFeedPage) -> Result<(), String> {
        let begins = self.cursor.is_none();
        let listing = begins || self.listing;
        let ends = listing && !page.more;
        let mut taken = || -> rusqlite::Result<()> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            if begins {
                transaction.execute("DELETE FROM agent_listed", [])?;
            }
            page.changes
                .iter()
                .try_for_each(|change| apply(&transaction, change, listing))?;
            if ends {
                let gone = "DELETE FROM keys WHERE sha256 NOT IN (SELECT sha256 FROM agent_listed)";
                transaction.execute(gone, [])?;
                transaction.execute("DELETE FROM agent_listed", [])?;
            }
            // A full sync that is cut short begins anew.
            let cursor = (ends || !listing).then_some(&page.cursor);
            transaction.execute(
                "UPDATE agent_feed SET cursor = ?1, complete = complete OR ?2",
                params![cursor, ends],
            )?;
            transaction.commit()
        };
        taken().map_err(|error| format!("keys cannot be written: {error}"))?;
        self.cursor = Some(page.cursor.clone());
        self.listing = listing && !ends;
        self.complete |= ends;
        Ok(())
    }
}

fn apply(transaction: &Transaction<'_>, change: &KeyChange, listing: bool) -> rusqlite::Result<()> {
    let sha256 = &change.sha256;
    let run = |sql: &str, parameters: &[&dyn rusqlite::ToSql]| {
        transaction
            .prepare_cached(sql)?
            .execute(parameters)
            .map(drop)
    };
    if change.removed {
        run("DELETE FROM keys WHERE sha256 = ?1", &[sha256])?;
        if listing {
            run("DELETE FROM agent_listed WHERE sha256 = ?1", &[sha256])?;
        }
        return Ok(());
    }
    // Its id may have been another key's, whose removal has not come yet.
    run(
        "DELETE FROM keys WHERE id = ?1 AND sha256 <> ?2",
        &[&change.id, sha256],
    )?;
    let limits = change.limits.as_ref().map(|limits| limits.get());
    let models = change.models.as_ref().map(|models| models.get());
    run(
        "INSERT INTO keys (sha256, id, group_id, owner, team, models, multiplier, expires_at, disabled, limits) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
         ON CONFLICT (sha256) DO UPDATE SET id = excluded.id, group_id = excluded.group_id, owner = excluded.owner, \
           team = excluded.team, models = excluded.models, multiplier = excluded.multiplier, expires_at = excluded.expires_at, disabled = excluded.disabled, limits = excluded.limits",
        &[
            sha256,
            &change.id,
            &change.group,
            &change.owner,
            &change.team,
            &models,
            &change.multiplier,
            &change.expires_at,
            &change.disabled,
            &limits,
        ],
    )?;
    if listing {
        run(
            "INSERT OR IGNORE INTO agent_listed (sha256) VALUES (?1)",
            &[sha256],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page(cursor: &str, more: bool, changes: &Value) -> KeyFeedPage {
        let page = json!({"version": 9, "cursor": cursor, "more": more, "changes": changes});
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
    fn kept(copy: &KeyCopy) -> (Vec<(String, String)>, u64) {
        let select = "SELECT id, group_id FROM keys ORDER BY id";
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

    #[test]
    fn an_id_goes_over_to_another_digest() {
        let place = tempfile::tempdir().unwrap();
        let mut copy = KeyCopy::open(&place.path().join("keys.db")).unwrap();
        copy.take(&page("c.1", false, &json!([key("a", "g"), key("b", "g")])))
            .unwrap();
        let mut exchanged = key("new digest", "g");
        exchanged["id"] = json!("a");
        // In the order of digests the removal may come later, or not at all.
        copy.begin_anew();
        copy.take(&page("c.2", false, &json!([exchanged, key("b", "g")])))
            .unwrap();
        assert_eq!(names(&copy), "a:g b:g");
        let digest = "SELECT sha256 FROM keys WHERE id = 'a'";
        let digest = copy
            .connection
            .query_row(digest, [], |row| row.get::<_, String>(0));
        assert_eq!(digest.unwrap(), sha256("new digest"));
    }

    #[test]
    fn a_bad_page_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let mut copy = KeyCopy::open(&place.path().join("keys.db")).unwrap();
        copy.take(&page("c.1", false, &json!([key("a", "g")])))
            .unwrap();
        let mut bad = key("b", "g");
        bad["limits"] = json!({"requests_per_minute": -1});
        let failed = copy.take(&page("c.2", false, &json!([key("c", "g"), bad])));
        assert!(failed.unwrap_err().contains("keys.limits"));
        assert_eq!((copy.cursor(), names(&copy).as_str()), (Some("c.1"), "a:g"));
        assert!(KeyFeedPage::parse(br#"{"version": 1, "cursor": "c", "more": false, "changes": [{"version": 1, "sha256": "x", "later": 1}]}"#).is_err());
    }
}
