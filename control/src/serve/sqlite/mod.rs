//! The feed from a SQLite database: its triggers (`schema.sql`, `limits.sql`, `owner.sql`) give each change of a key its version, whoever makes it.
//!
//! The database has the whole state of the feed, so several processes may serve it, and a restart resumes it.

mod database;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::types::{FromSqlError, ToSql};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::config::key::CheckedKey;

use self::database::Open;
use super::cursor::{FeedVersions, PageRange};
use super::feed_error::PageError;
use super::feed_key::FeedKey;
use super::page::PageWriter;
use super::page_request::PageRequest;

/// The most removals in one compaction: other writers wait for it.
const BATCH: u32 = 5000;

/// The keys of a listing, after a digest.
const LISTING: &str = "sha256 > ?1 AND removed_at IS NULL ORDER BY sha256";
/// Changes after a version, removals only after another one.
const CHANGES: &str = "version > ?1 AND (removed_at IS NULL OR version > ?2) ORDER BY version";

/// The database.
#[derive(Debug)]
pub struct Database {
    file: PathBuf,
    open: Mutex<Option<Open>>,
}

impl Database {
    /// Opens the database, and creates it if it is missing.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do.
    pub fn open(file: PathBuf) -> Result<Self, String> {
        let open = Open::new(&file)?;
        let open = Mutex::new(Some(open));
        Ok(Self { file, open })
    }

    /// A page.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page(&self, asked: &PageRequest) -> Result<Vec<u8>, PageError> {
        self.with(|connection| {
            // Both queries in one transaction: they see one state of the database.
            let transaction = connection.transaction()?;
            let standing = standing(&transaction)?;
            let range = standing.range(asked.cursor.as_ref())?;
            let mut page = PageWriter::new(asked);
            if let PageRange::Listing { after, .. } = &range {
                fill(&mut page, &transaction, LISTING, &[after])?;
            }
            let range = page.after_listing(range);
            if let PageRange::Changes {
                after,
                removals_after,
            } = &range
            {
                fill(&mut page, &transaction, CHANGES, &[after, removals_after])?;
            }
            Ok(page.finish(&standing, range))
        })
    }

    /// Its versions.
    ///
    /// # Errors
    /// Why they are not available.
    pub fn standing(&self) -> Result<FeedVersions, PageError> {
        self.with(|connection| Ok(standing(connection)?))
    }

    /// Compacts removals that are older than `age`, on a connection of its own: it may wait for another writer, and readers
    /// must not wait with it.
    ///
    /// # Errors
    /// Why it failed.
    pub fn compact(&self, age: Duration) -> Result<(), String> {
        let seconds = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        if !self.file.exists() {
            return Ok(());
        }
        let mut open = Open::new(&self.file)?;
        while compact(&mut open.connection, seconds).map_err(|error| error.to_string())? {}
        Ok(())
    }

    /// Uses the present database file.
    fn with<T>(
        &self,
        what: impl FnOnce(&mut Connection) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_none_or(|open| open.is_old(&self.file)) {
            *open = None;
            // A missing one is not created here: an operator is replacing it.
            if !self.file.exists() {
                return Err(PageError::Unready("the database is not there".to_owned()));
            }
            let text = |problem| PageError::Unready(format!("the database {problem}"));
            *open = Some(Open::new(&self.file).map_err(text)?);
        }
        match &mut *open {
            Some(open) => what(&mut open.connection),
            None => Err(PageError::Unready("the database is not open".to_owned())),
        }
    }
}

impl From<rusqlite::Error> for PageError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unready(format!("the database cannot be read: {error}"))
    }
}

fn standing(connection: &Connection) -> rusqlite::Result<FeedVersions> {
    let mut statement = connection.prepare_cached("SELECT feed, head, compacted FROM key_feed")?;
    statement.query_row([], |row| {
        Ok(FeedVersions {
            feed: row.get(0)?,
            head: row.get(1)?,
            compacted: row.get(2)?,
        })
    })
}

fn fill(
    page: &mut PageWriter,
    transaction: &Transaction<'_>,
    which: &str,
    bounds: &[&dyn ToSql],
) -> Result<(), PageError> {
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT version, sha256, id, group_id, expires_at, disabled, limits, owner FROM key_changes WHERE {which}"
    ))?;
    let mut rows = statement.query(bounds)?;
    while let Some(row) = rows.next()? {
        if !page.has_room() {
            break;
        }
        let version = row.get(0)?;
        let sha256 = row.get_ref(1)?.as_str()?;
        match row.get_ref(2)?.as_str_or_null()? {
            None => page.removed(version, sha256),
            Some(id) => {
                let group = row.get_ref(3)?.as_str()?;
                let limits = match row.get_ref(6)?.as_str_or_null()? {
                    None => None,
                    Some(text) => Some(limits(sha256, id, group, text)?),
                };
                // An invalid owner, written past the triggers, is left out: nothing depends on it.
                let owner = row.get_ref(7)?.as_str_or_null().ok().flatten();
                let key = FeedKey {
                    sha256,
                    id,
                    group,
                    owner: owner.filter(|owner| is_owner(owner)),
                    expires_at: row.get_ref(4)?.as_str_or_null()?,
                    disabled: row.get(5)?,
                    limits: limits.as_deref(),
                };
                page.key(version, key);
            }
        }
    }
    Ok(())
}

impl From<FromSqlError> for PageError {
    fn from(error: FromSqlError) -> Self {
        rusqlite::Error::from(error).into()
    }
}

/// Whether a gateway accepts this as an owner.
fn is_owner(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// A key's limits in the form of a document. The triggers reject others; if they were bypassed, the key must not be served
/// without its limits.
fn limits(sha256: &str, id: &str, group: &str, text: &str) -> Result<String, PageError> {
    let bad = |problem: &str| PageError::Unready(format!("the key {id} is not good: {problem}"));
    let limits: LimitsDocument =
        serde_json::from_str(text).map_err(|_| bad("limits: are not as in a document"))?;
    let written = serde_json::to_string(&limits).unwrap_or_default();
    let key = KeyDocument {
        id: Some(id.to_owned()),
        sha256: Some(sha256.to_owned()),
        group: Some(group.to_owned()),
        limits: Some(limits),
        ..KeyDocument::default()
    };
    CheckedKey::of(&key).map_err(|problems| bad(&problems.to_string()))?;
    Ok(written)
}

/// Compacts one batch; false if there is nothing to compact.
fn compact(connection: &mut Connection, seconds: i64) -> rusqlite::Result<bool> {
    let old = "removed_at IS NOT NULL AND removed_at < CAST(strftime('%s', 'now') AS INTEGER) - ?1";
    let any = format!("SELECT EXISTS (SELECT 1 FROM key_changes WHERE {old})");
    if !connection.query_row(&any, [seconds], |row| row.get(0))? {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let forgotten: Vec<u64> = transaction
        .prepare(&format!(
            "DELETE FROM key_changes WHERE version IN \
             (SELECT version FROM key_changes WHERE {old} ORDER BY removed_at LIMIT ?2) RETURNING version"
        ))?
        .query_map((seconds, BATCH), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if let Some(greatest) = forgotten.iter().max() {
        let sql = "UPDATE key_feed SET compacted = max(compacted, ?1)";
        transaction.execute(sql, [greatest])?;
    }
    transaction.commit()?;
    Ok(true)
}
