//! The feed from a SQLite database: its triggers (`trilane_console::feed::sqlite`) give each change of a
//! key its version, whoever makes it.
//!
//! The database has the whole state of the feed, so several processes may serve it, and a restart resumes it.

mod database;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::types::{FromSqlError, ToSql};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use trilane_console::feed::sqlite::{CHANGES, LISTING};
use trilane_console::feed::{
    FeedKey, FeedVersions, Gone, PageError, PageRange, PageRequest, PageWriter, StoredTerms,
    is_owner,
};

pub use self::database::OpenDatabase;

/// The most removals in one compaction: other writers wait for it.
const BATCH: u32 = 5000;

/// The database.
#[derive(Debug)]
pub struct Database {
    file: PathBuf,
    open: Mutex<Option<OpenDatabase>>,
}

impl Database {
    /// Opens the database, and creates it if it is missing.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do.
    pub fn open(file: PathBuf) -> Result<Self, String> {
        let open = OpenDatabase::new(&file)?;
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
        let mut open = OpenDatabase::new(&self.file)?;
        while compact(&mut open.connection, seconds).map_err(|error| error.to_string())? {}
        Ok(())
    }

    /// Uses the present database file.
    fn with<T>(
        &self,
        what: impl FnOnce(&mut Connection) -> Result<T, ReadError>,
    ) -> Result<T, PageError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_none_or(|open| open.is_old(&self.file)) {
            *open = None;
            // A missing one is not created here: an operator is replacing it.
            if !self.file.exists() {
                return Err(PageError::Unready("the database is not there".to_owned()));
            }
            let text = |problem| PageError::Unready(format!("the database {problem}"));
            *open = Some(OpenDatabase::new(&self.file).map_err(text)?);
        }
        match &mut *open {
            Some(open) => what(&mut open.connection).map_err(|ReadError(error)| error),
            None => Err(PageError::Unready("the database is not open".to_owned())),
        }
    }
}

/// Why the database gives no page.
struct ReadError(PageError);

impl From<PageError> for ReadError {
    fn from(error: PageError) -> Self {
        Self(error)
    }
}

impl From<Gone> for ReadError {
    fn from(gone: Gone) -> Self {
        Self(gone.into())
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
    query: &str,
    bounds: &[&dyn ToSql],
) -> Result<(), ReadError> {
    let mut statement = transaction.prepare_cached(query)?;
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
                // An invalid owner, written past the triggers, is left out.
                let owner = row.get_ref(7)?.as_str_or_null().ok().flatten();
                let key = FeedKey {
                    sha256,
                    id,
                    group,
                    owner: owner.filter(|owner| is_owner(owner)),
                    team: row.get_ref(8)?.as_str_or_null()?,
                    models: row.get_ref(9)?.as_str_or_null()?,
                    multiplier: row.get_ref(10)?.as_str_or_null()?,
                    expires_at: row.get_ref(4)?.as_str_or_null()?,
                    disabled: row.get(5)?,
                    limits: row.get_ref(6)?.as_str_or_null()?,
                };
                let terms = StoredTerms::of(&key)?;
                page.key(version, terms.put(key));
            }
        }
    }
    Ok(())
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self(PageError::Unready(format!(
            "the database cannot be read: {error}"
        )))
    }
}

impl From<FromSqlError> for ReadError {
    fn from(error: FromSqlError) -> Self {
        rusqlite::Error::from(error).into()
    }
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
