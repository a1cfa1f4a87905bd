//! The database: SQLite for one machine, PostgreSQL for a fleet.
//!
//! A [`Store`] is opened at a [`DatabaseAddress`], which brings its tables up to date (`migration.rs`). All else happens in a
//! [`Transaction`]. Each concept has a file with its statements, which are the same for both engines wherever they can be: both
//! number their parameters `$1`, and `on_either!` runs a statement on whichever there is.
//!
//! Rules that every table relies on:
//!
//! - Writers of SQLite take turns from the beginning of their transactions. Those of PostgreSQL lock what they are about to
//!   read, in one order everywhere: ids that are erased, the file of the ledger, then sums by their primary keys.
//! - Rows that people change are changed and removed as a [`LockedRow`] alone: no change is made over another one.
//! - [`in_transaction!`](crate::in_transaction) does a change again that lost against another one; so a change has no effect
//!   outside its transaction.
//! - Money is stored in whole numbers, which one statement adds up exactly on both engines ([`Sum::COLUMNS`](crate::ledger::Sum::COLUMNS)).

pub mod account_answers;
pub mod account_tests;
pub mod address;
pub mod api_tokens;
mod attempts;
pub mod audit;
pub mod audit_export;
pub mod authorization_requests;
pub mod backup;
pub mod budgeted;
pub mod client_settings;
pub mod client_sign_ins;
mod conditions;
pub mod credentials;
pub mod device_grants;
pub mod disk_use;
pub mod documents;
pub mod drafts;
pub mod enrolment_secrets;
pub mod envoys;
pub mod erasures;
mod error;
pub mod fleet;
pub mod group_keys;
pub mod hour_counts;
pub mod idempotency;
pub mod identities;
pub mod identity_providers;
pub mod key_feed;
pub mod key_grams;
pub mod key_lists;
pub mod key_owners;
pub mod key_search;
pub mod key_spend;
pub mod keys;
pub mod ledger_files;
pub mod lines_aside;
mod locked_row;
pub mod memberships;
mod migration;
pub mod name_search;
pub mod names;
pub mod nearly_spent;
pub mod old_rows;
pub mod ordered_keys;
pub mod own_terms;
pub mod owner_notices;
pub mod passwords;
pub mod people;
mod pools;
pub mod request_ids;
pub mod requests;
pub mod sessions;
pub mod sign_in_devices;
pub mod sign_in_failures;
pub mod sign_in_links;
pub mod spend;
pub mod spend_feed;
mod sqlite_rows;
pub mod stopped_keys;
mod sum_table;
pub mod teams;
mod transaction;
pub mod usage_days;
pub mod usage_dimensions;
pub mod usage_hours;
mod usage_parts;
pub mod usage_rows;
pub mod usage_top;
mod usage_windows;
pub mod voids;
pub mod webhooks;
mod write_probe;

use core::fmt;
use core::str::FromStr as _;
use core::sync::atomic::AtomicI32;
use core::time::Duration;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, Postgres, Sqlite};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

pub use crate::workload::Workload;
pub use address::DatabaseAddress;
pub use attempts::{AsStoreError, TransactionAttempts};
pub use error::StoreError;
pub use locked_row::LockedRow;
pub use migration::{TableVersion, VERSIONS};
pub use pools::PoolStanding;
use pools::{Pools, postgres_pool};
pub use sum_table::SumChange;
pub use transaction::Transaction;
pub(crate) use transaction::{execute, fetch, on_either};
use write_probe::ProbeResult;

use crate::counted::counted;

/// The longest wait for another writer of SQLite, or for another program that writes to it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause before a database is opened again that another program was opening.
const OPENED_AGAIN: Duration = Duration::from_millis(50);

/// The cache size of SQLite's writing connection, in KiB (negative, as SQLite takes it): room for the pages that a batch of the ledger
/// changes. With less they are written before the transaction ends, and read again.
const WRITER_CACHE: &str = "-65536";
/// After how many pages of its log SQLite brings them into the database (64 MiB): a page that many batches change is written once.
/// A commit waits for the disk all the same.
const CHECKPOINT: &str = "16384";

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Store {
    engine: Engine,
    /// The workload, where that is not the one of the request that is handled.
    workload: Option<Workload>,
    /// Whether a change could be made, the last time that somebody asked.
    probed: Arc<Mutex<Option<ProbeResult>>>,
}

#[derive(Clone)]
enum Engine {
    Sqlite {
        directory: Arc<Path>,
        readers: Pools<Sqlite>,
        /// The one connection that writes.
        writer: SqlitePool,
        /// Held by whoever writes: SQLite itself makes others ask again and again.
        turn: Arc<Mutex<()>>,
        /// Held by whoever takes lines of the ledger in, before the turn: one of them at most is before a revocation.
        intake: Arc<Mutex<()>>,
    },
    Postgres {
        pools: Pools<Postgres>,
        /// The latest day (as a Julian day) for which there is room for lines of the ledger.
        room: Arc<AtomicI32>,
    },
}

/// The turn of whoever writes to SQLite, and to take lines in.
pub type WriteTurn = (OwnedMutexGuard<()>, Option<OwnedMutexGuard<()>>);

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
        Self::open_at(address, migration::VERSIONS).await
    }

    /// Opens the database with these versions of its tables: those of another release, in tests.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub async fn open_at(
        address: &DatabaseAddress,
        versions: &[TableVersion],
    ) -> Result<Self, StoreError> {
        let begun = Instant::now();
        loop {
            match Self::open_once(address, versions).await {
                // Of programs that open a new file together, SQLite tells all but one at once that it is busy: whoever makes it a
                // file with a log waits for nobody.
                Err(StoreError::Conflict) if begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(OPENED_AGAIN).await;
                }
                opened => return opened,
            }
        }
    }

    async fn open_once(
        address: &DatabaseAddress,
        versions: &[TableVersion],
    ) -> Result<Self, StoreError> {
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
                let writing = options
                    .clone()
                    .pragma("cache_size", WRITER_CACHE)
                    .pragma("wal_autocheckpoint", CHECKPOINT);
                let pool = |connections, patience| {
                    SqlitePoolOptions::new()
                        .max_connections(connections)
                        .acquire_timeout(patience)
                        .after_release(|connection, _| {
                            Box::pin(async move {
                                // What a transaction that was dropped has left to do.
                                connection.ping().await?;
                                // After a full disk or an error of one SQLite has ended the transaction by itself, and the
                                // connection waits for an end that never comes: another one takes its place.
                                Ok(!connection.is_in_transaction())
                            })
                        })
                };
                Engine::Sqlite {
                    directory: directory.as_path().into(),
                    writer: pool(1, PATIENCE).connect_with(writing).await?,
                    readers: Pools::new(|of| {
                        pool(of.connections(), of.patience()).connect_lazy_with(options.clone())
                    }),
                    turn: Arc::default(),
                    intake: Arc::default(),
                }
            }
            DatabaseAddress::Postgres(url) => {
                let options = PgConnectOptions::from_str(url.reveal())
                    .map_err(|_| StoreError::Address)?
                    .application_name("trilane-console");
                let pools = Pools::new(|of| postgres_pool(of).connect_lazy_with(options.clone()));
                // Whether it is there is told at once.
                drop(pools.of(Workload::Background).acquire().await?);
                Engine::Postgres {
                    pools,
                    room: Arc::new(AtomicI32::new(i32::MIN)),
                }
            }
        };
        let store = Self {
            engine,
            workload: None,
            probed: Arc::default(),
        };
        migration::run(&store.of(Workload::Background), versions).await?;
        Ok(store)
    }

    /// The same database, for this workload.
    #[must_use]
    pub fn of(&self, workload: Workload) -> Self {
        Self {
            workload: Some(workload),
            ..self.clone()
        }
    }

    fn workload(&self) -> Workload {
        let of = self.workload.or_else(Workload::current);
        of.unwrap_or(Workload::Pages)
    }

    /// Begins a transaction that changes something.
    ///
    /// # Errors
    /// The database is not there, or others take too long.
    pub async fn begin(&self) -> Result<Transaction, StoreError> {
        let (workload, begun) = (self.workload(), Instant::now());
        let transaction = match &self.engine {
            Engine::Sqlite {
                writer,
                turn,
                intake,
                ..
            } => {
                let turn = async {
                    let intake = match workload {
                        Workload::Intake => Some(Arc::clone(intake).lock_owned().await),
                        _ => None,
                    };
                    (Arc::clone(turn).lock_owned().await, intake)
                };
                match timeout(workload.patience(), turn).await {
                    Ok(turn) => {
                        let inner = writer.begin_with("BEGIN IMMEDIATE").await;
                        inner.map(|inner| Transaction::Sqlite(inner, Some(turn)))
                    }
                    Err(_) => Err(sqlx::Error::PoolTimedOut),
                }
            }
            Engine::Postgres { pools, .. } => {
                pools.of(workload).begin().await.map(Transaction::Postgres)
            }
        };
        note_wait(workload, begun, &transaction);
        Ok(transaction?)
    }

    /// Begins a transaction that only reads, all of one state of the database.
    ///
    /// # Errors
    /// The database is not there, or others take too long.
    pub async fn read(&self) -> Result<Transaction, StoreError> {
        let (workload, begun) = (self.workload(), Instant::now());
        let transaction = match &self.engine {
            Engine::Sqlite { readers, .. } => {
                let inner = readers.of(workload).begin().await;
                inner.map(|inner| Transaction::Sqlite(inner, None))
            }
            Engine::Postgres { pools, .. } => {
                let begin = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
                let inner = pools.of(workload).begin_with(begin).await;
                inner.map(Transaction::Postgres)
            }
        };
        note_wait(workload, begun, &transaction);
        Ok(transaction?)
    }

    /// Returns the state of the connection pools.
    pub fn pools(&self) -> Vec<PoolStanding> {
        match &self.engine {
            Engine::Sqlite {
                readers, writer, ..
            } => {
                let mut standing = readers.standing();
                standing.push(PoolStanding::of("writer", writer));
                standing
            }
            Engine::Postgres { pools, .. } => pools.standing(),
        }
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
            Engine::Postgres { pools, .. } => pools.close().await,
        }
    }
}

/// Counts how long somebody waited for a transaction, and whether there was a connection.
fn note_wait<T>(workload: Workload, begun: Instant, transaction: &Result<T, sqlx::Error>) {
    let got = !matches!(transaction, Err(sqlx::Error::PoolTimedOut));
    counted().database_wait(workload, begun.elapsed(), got);
}

/// Makes a file that only its owner reads, if there is none. SQLite gives the files beside it the same mode. If it cannot be
/// made, SQLite says why.
fn make_private(file: &Path) {
    let mut options = File::options();
    let _ = options.write(true).create_new(true).mode(0o600).open(file);
}
