//! The database: SQLite for one machine, PostgreSQL for a fleet.
//!
//! A [`Store`] is opened at a [`DatabaseAddress`], which brings its tables up to date (`migration.rs`). All else happens in a
//! [`Transaction`]. Each concept has a file with its statements, which are the same for both engines wherever they can be: both
//! number their parameters `$1`, and `on_either!` runs a statement on whichever there is.
//!
//! What every table relies on:
//!
//! - Writers of SQLite take turns from the beginning of their transactions. Those of PostgreSQL lock what they are about to
//!   read, in one order everywhere: ids that are erased, the file of the ledger, then sums by their primary keys.
//! - Rows that people change are changed and removed as a [`LockedRow`] alone: no change is made over another one.
//! - [`in_transaction!`](crate::in_transaction) does a change again that lost against another one; so a change has no effect
//!   outside its transaction.
//! - Money never passes through a number of SQLite, whose only fractions are floats.

pub mod account_tests;
pub mod address;
pub mod api_tokens;
mod attempts;
pub mod audit;
pub mod backup;
mod conditions;
pub mod credentials;
pub mod disk_use;
pub mod documents;
pub mod drafts;
pub mod envoys;
pub mod erasures;
mod error;
pub mod fleet;
pub mod hour_counts;
pub mod idempotency;
pub mod key_feed;
pub mod key_grams;
pub mod key_lists;
pub mod key_search;
pub mod key_spend;
pub mod keys;
pub mod ledger_files;
pub mod lines_aside;
mod locked_row;
pub mod memberships;
mod migration;
pub mod nearly_spent;
pub mod old_rows;
pub mod passwords;
pub mod people;
pub mod requests;
pub mod sessions;
pub mod sign_in_devices;
pub mod sign_in_failures;
pub mod sign_in_links;
pub mod spend;
pub mod spend_feed;
mod sqlite_rows;
pub mod teams;
mod transaction;
pub mod usage_before_teams;
pub mod usage_days;
pub mod usage_hours;
mod usage_parts;
pub mod usage_rows;
pub mod usage_top;
mod usage_windows;
pub mod webhooks;

use core::fmt;
use core::str::FromStr as _;
use core::sync::atomic::AtomicI32;
use core::time::Duration;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use sqlx::Executor as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tokio::sync::Mutex;

pub use address::DatabaseAddress;
pub use attempts::{AsStoreError, TransactionAttempts};
pub use error::StoreError;
pub use locked_row::LockedRow;
pub use transaction::Transaction;
pub(crate) use transaction::on_either;

/// How long to wait for a connection, or for another writer of SQLite.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most connections.
const CONNECTIONS: u32 = 10;

/// What the connection that writes may keep of SQLite's database, in KiB as SQLite takes it: the pages that a batch of the ledger
/// changes. With less they are written before the transaction ends, and read again.
const WRITER_CACHE: &str = "-65536";
/// After how many pages of its log SQLite brings them into the database (64 MiB): a page that many batches change is written once.
/// A commit waits for the disk all the same.
const CHECKPOINT: &str = "16384";

/// A console whose host is gone leaves its transaction open, with its locks, until TCP notices, which takes hours: PostgreSQL is
/// to end it sooner.
const GONE: &str = "SET idle_in_transaction_session_timeout = '30s'";

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Store {
    engine: Engine,
}

#[derive(Clone)]
enum Engine {
    Sqlite {
        directory: Arc<Path>,
        readers: SqlitePool,
        /// The one connection that writes.
        writer: SqlitePool,
        /// Held by whoever writes: SQLite itself makes others ask again and again.
        turn: Arc<Mutex<()>>,
    },
    Postgres {
        pool: PgPool,
        /// The latest day (as a Julian day) for which there is room for lines of the ledger.
        room: Arc<AtomicI32>,
    },
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.engine {
            Engine::Sqlite { .. } => "Store(SQLite)",
            Engine::Postgres { .. } => "Store(PostgreSQL)",
        })
    }
}

impl Store {
    /// Opens the database, makes it where there is none (SQLite), and brings its tables up to date.
    ///
    /// # Errors
    /// It cannot be reached, or its tables are of another release.
    pub async fn open(address: &DatabaseAddress) -> Result<Self, StoreError> {
        let engine = match address {
            DatabaseAddress::Directory(directory) => {
                let file = directory.join("console.db");
                make_private(&file);
                let options = SqliteConnectOptions::new()
                    .filename(file)
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Full)
                    .foreign_keys(true)
                    .busy_timeout(PATIENCE);
                let pool = |connections| {
                    SqlitePoolOptions::new()
                        .max_connections(connections)
                        .acquire_timeout(PATIENCE)
                };
                let writing = options
                    .clone()
                    .pragma("cache_size", WRITER_CACHE)
                    .pragma("wal_autocheckpoint", CHECKPOINT);
                Engine::Sqlite {
                    directory: directory.as_path().into(),
                    writer: pool(1).connect_with(writing).await?,
                    readers: pool(CONNECTIONS).connect_with(options).await?,
                    turn: Arc::default(),
                }
            }
            DatabaseAddress::Postgres(url) => {
                let options = PgConnectOptions::from_str(url.reveal())
                    .map_err(|_| StoreError::Address)?
                    .application_name("trilane-console");
                let pool = PgPoolOptions::new()
                    .max_connections(CONNECTIONS)
                    .acquire_timeout(PATIENCE)
                    .after_connect(|connection, _| {
                        Box::pin(async move { connection.execute(GONE).await.map(drop) })
                    });
                Engine::Postgres {
                    pool: pool.connect_with(options).await?,
                    room: Arc::new(AtomicI32::new(i32::MIN)),
                }
            }
        };
        let store = Self { engine };
        migration::run(&store).await?;
        Ok(store)
    }

    /// Begins a transaction that changes something.
    ///
    /// # Errors
    /// The database is not there.
    pub async fn begin(&self) -> Result<Transaction, StoreError> {
        Ok(match &self.engine {
            Engine::Sqlite { writer, turn, .. } => {
                let turn = Arc::clone(turn).lock_owned().await;
                let inner = writer.begin_with("BEGIN IMMEDIATE").await?;
                Transaction::Sqlite(inner, Some(turn))
            }
            Engine::Postgres { pool, .. } => Transaction::Postgres(pool.begin().await?),
        })
    }

    /// Begins a transaction that only reads, all of one state of the database.
    ///
    /// # Errors
    /// The database is not there.
    pub async fn read(&self) -> Result<Transaction, StoreError> {
        Ok(match &self.engine {
            Engine::Sqlite { readers, .. } => Transaction::Sqlite(readers.begin().await?, None),
            Engine::Postgres { pool, .. } => {
                let begin = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Transaction::Postgres(pool.begin_with(begin).await?)
            }
        })
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite {
                readers, writer, ..
            } => {
                // The last connection that is closed brings the log into the database.
                readers.close().await;
                writer.close().await;
            }
            Engine::Postgres { pool, .. } => pool.close().await,
        }
    }
}

/// Makes a file that only its owner reads, if there is none. SQLite gives the files beside it the same mode. If it cannot be
/// made, SQLite says why.
fn make_private(file: &Path) {
    let mut options = File::options();
    let _ = options.write(true).create_new(true).mode(0o600).open(file);
}
