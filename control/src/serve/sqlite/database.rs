//! Opens or creates the database file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};
use trilane_console::feed::sqlite::{ACCESS, KEYS, LIMITS, OWNER};

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection, and the identity of its file.
#[derive(Debug)]
pub struct OpenDatabase {
    /// The connection.
    pub connection: Connection,
    inode: Option<(u64, u64)>,
}

impl OpenDatabase {
    /// Opens the database, and creates it if it is missing.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do.
    pub fn new(file: &Path) -> Result<Self, String> {
        // SQLite gives empty names and URIs another meaning than a file.
        let absolute = std::path::absolute(file).map_err(|error| error.to_string())?;
        let mut connection = Connection::open(&absolute).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => {
                format!("{error}; its directory must exist and be writable, for SQLite keeps files beside it")
            }
            _ => error.to_string(),
        })?;
        prepare(&mut connection).map_err(|problem| match problem {
            OpenProblem::Sqlite(error)
                if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) =>
            {
                "is not a SQLite database; name another file, which will be made".to_owned()
            }
            OpenProblem::Sqlite(error) => error.to_string(),
            OpenProblem::Other(text) => text.to_owned(),
        })?;
        let inode = inode(&absolute);
        Ok(Self { connection, inode })
    }

    /// Whether the file was replaced, such as by a restored backup.
    pub fn is_old(&self, file: &Path) -> bool {
        inode(file) != self.inode
    }
}

fn inode(file: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(file).ok()?;
    Some((found.dev(), found.ino()))
}

enum OpenProblem {
    Sqlite(rusqlite::Error),
    Other(&'static str),
}

impl From<rusqlite::Error> for OpenProblem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn prepare(connection: &mut Connection) -> Result<(), OpenProblem> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    if write_ahead(connection)? != "wal" {
        return Err(OpenProblem::Other(
            "SQLite cannot keep a write-ahead log there; put the database on a disk of this machine",
        ));
    }
    // Without a lock at first: another writer may take long. In one transaction: it may be making these tables.
    if form(&*connection.transaction()?)? != SchemaForm::Current {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match form(&transaction)? {
            SchemaForm::None => {
                transaction.execute_batch(&[KEYS, LIMITS, OWNER, ACCESS].concat())?;
            }
            SchemaForm::WithoutLimits => {
                transaction.execute_batch(&[LIMITS, OWNER, ACCESS].concat())?;
            }
            SchemaForm::WithoutOwner => transaction.execute_batch(&[OWNER, ACCESS].concat())?,
            SchemaForm::WithoutAccess => transaction.execute_batch(ACCESS)?,
            SchemaForm::Current => {}
        }
        transaction.commit()?;
    }
    Ok(())
}

/// The format of the feed's tables in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaForm {
    /// None; they can be created.
    None,
    /// Format 1: keys have no limits.
    WithoutLimits,
    /// Format 2: keys have no owner.
    WithoutOwner,
    /// Format 3: keys have no models and no multiplier of their own.
    WithoutAccess,
    /// Format 4.
    Current,
}

fn form(connection: &Connection) -> Result<SchemaForm, OpenProblem> {
    let table = "SELECT 1 FROM sqlite_master WHERE name = ?1";
    let has = |name: &str| connection.query_row(table, [name], |_| Ok(())).optional();
    if has("key_feed")?.is_none() {
        return match has("keys")? {
            None => Ok(SchemaForm::None),
            Some(()) => Err(OpenProblem::Other(
                "has a table keys that is no feed's; name another file, which will be made, and copy the keys into its table keys",
            )),
        };
    }
    match connection.query_row("SELECT format FROM key_feed", [], |row| {
        row.get::<_, i64>(0)
    })? {
        1 => Ok(SchemaForm::WithoutLimits),
        2 => Ok(SchemaForm::WithoutOwner),
        3 => Ok(SchemaForm::WithoutAccess),
        4 => Ok(SchemaForm::Current),
        _ => Err(OpenProblem::Other(
            "was made by another release of trilane, which this one cannot read",
        )),
    }
}

/// Turns the write-ahead log on. SQLite does not wait by itself while another process does the same.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let mut left = PATIENCE;
    let pause = Duration::from_millis(20);
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && !left.is_zero() =>
            {
                sleep(pause);
                left = left.saturating_sub(pause);
            }
            mode => return mode,
        }
    }
}
