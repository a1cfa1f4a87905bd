//! Brings the tables up to date.
//!
//! The database says which version its tables have. A release knows the statements that make each version of the one before, and
//! runs those that are missing: all of them in one transaction under a lock, so of consoles that start together one does it.
//! A console that runs goes on with tables of the next version: a migration only adds, what the release before does not name has
//! a default, and what is no longer used goes a release later. One that starts refuses tables of a newer release.
//!
//! Released migrations never change, comments included: a database with other migrations is rejected.

use std::borrow::Cow;

use sqlx::migrate::{AppliedMigration, Migrate as _, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::{Store, StoreError, Transaction};

/// The lock of PostgreSQL that whoever changes tables holds: "trilane" in hexadecimal.
const LOCK: i64 = 0x0074_7269_6c61_6e65;

/// The table in which `sqlx` records applied migrations.
const TABLE: &str = "_sqlx_migrations";

/// A version of the tables: the statements that make it of the version before.
#[derive(Debug, Clone, Copy)]
pub struct TableVersion {
    /// Its number.
    pub number: i64,
    /// Its name.
    pub name: &'static str,
    /// The statements of SQLite, which come first.
    pub sqlite: &'static str,
    /// The statements of PostgreSQL, which come first.
    pub postgres: &'static str,
    /// Those of both, with words of their own.
    pub both: &'static str,
}

/// The versions that this release knows. Add the next one at the end.
pub const VERSIONS: &[TableVersion] = &[TableVersion {
    number: 1,
    name: "console",
    sqlite: include_str!("sqlite.sql"),
    postgres: include_str!("postgres.sql"),
    both: include_str!("tables.sql"),
}];

/// The words of the statements that both engines have, in SQLite and in PostgreSQL. Those of a released version never change.
const WORDS: [(&str, &str, &str); 8] = [
    ("{sums}", SUMS, SUMS),
    ("{text}", "TEXT", "TEXT COLLATE \"C\""),
    ("{number}", "INTEGER", "BIGINT GENERATED ALWAYS AS IDENTITY"),
    (
        "{random}",
        "lower(hex(randomblob(16)))",
        "replace(gen_random_uuid()::text, '-', '')",
    ),
    ("{by key}", "WITHOUT ROWID", ""),
    ("{with room}", "", "WITH (fillfactor = 70)"),
    (
        "{by key, with room}",
        "WITHOUT ROWID",
        "WITH (fillfactor = 70)",
    ),
    ("{by key, roomy}", "WITHOUT ROWID", "WITH (fillfactor = 50)"),
];

/// The columns of sums of usage.
const SUMS: &str = include_str!("sums.sql");

/// Does what is left to do up to the last of these versions.
///
/// # Errors
/// The tables are of a newer release, a migration fails, or one that was done is another one by now; then they are as they were.
pub async fn run(store: &Store, versions: &[TableVersion]) -> Result<(), StoreError> {
    if is_done(store, versions).await? {
        return Ok(());
    }
    let mut transaction = store.begin().await?;
    let migrator = migrator(versions, &transaction);
    match &mut transaction {
        Transaction::Sqlite(inner, _) => {
            migrator.run_direct(None, &mut **inner, false).await?;
        }
        Transaction::Postgres(inner) => {
            // It takes as long as it takes.
            sqlx::raw_sql("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
                .execute(&mut **inner)
                .await?;
            let encoding: String = sqlx::query_scalar("SHOW server_encoding")
                .fetch_one(&mut **inner)
                .await?;
            if encoding != "UTF8" {
                let why = format!("its encoding is {encoding}, and must be UTF8");
                return Err(StoreError::Tables(why));
            }
            sqlx::query("SELECT pg_advisory_xact_lock($1)")
                .bind(LOCK)
                .execute(&mut **inner)
                .await?;
            migrator.run_direct(None, &mut **inner, false).await?;
        }
    }
    transaction.commit().await
}

/// Whether all is done already. It waits for nobody: another console's change may take long.
async fn is_done(store: &Store, versions: &[TableVersion]) -> Result<bool, StoreError> {
    let mut transaction = store.read().await?;
    let migrator = migrator(versions, &transaction);
    let done = match &mut transaction {
        Transaction::Sqlite(inner, _) => inner.list_applied_migrations(TABLE).await,
        Transaction::Postgres(inner) => inner.list_applied_migrations(TABLE).await,
    };
    transaction.rollback().await;
    // Without the table nothing is.
    let done = done.unwrap_or_default();
    let is_known = |version| migrator.iter().any(|known| known.version == version);
    let mut newest = done.iter().map(|done| done.version).rev();
    if let Some(newer) = newest.find(|version| !is_known(*version)) {
        return Err(StoreError::Newer(newer));
    }
    let is_done = |migration: &Migration| {
        let same = |other: &AppliedMigration| {
            other.version == migration.version && other.checksum == migration.checksum
        };
        done.iter().any(same)
    };
    Ok(migrator.iter().all(is_done))
}

fn migrator(versions: &[TableVersion], transaction: &Transaction) -> Migrator {
    let migrations = versions.iter().map(|version| {
        let own = |sqlite, postgres| match transaction {
            Transaction::Sqlite(..) => sqlite,
            Transaction::Postgres(_) => postgres,
        };
        let mut sql = format!("{}{}", own(version.sqlite, version.postgres), version.both);
        for (word, sqlite, postgres) in WORDS {
            sql = sql.replace(word, own(sqlite, postgres));
        }
        let name = Cow::Borrowed(version.name);
        let sql = AssertSqlSafe(sql).into_sql_str();
        Migration::new(version.number, name, MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.set_locking(false);
    migrator
}
