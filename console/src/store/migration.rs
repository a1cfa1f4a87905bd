//! Brings the tables up to date.
//!
//! All of it is one transaction under a lock, so of consoles that start together one does it. A console of the release before
//! goes on with tables of this one: a migration only adds, what the release before does not name has a default, and what is no
//! longer used goes a release later.
//!
//! What a release has, stays as it is, comments included: a database whose migrations were others is refused.

use std::borrow::Cow;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{AppliedMigration, Migrate as _, Migration, MigrationType, Migrator};

use super::{Store, StoreError, Transaction};
use crate::feed::sqlite::{ACCESS, KEYS, LIMITS, OWNER};

/// The lock of PostgreSQL that whoever changes tables holds: "trilane" in hexadecimal.
const LOCK: i64 = 0x0074_7269_6c61_6e65;

/// What was done: `sqlx` has it there.
const TABLE: &str = "_sqlx_migrations";

/// A migration: its number, what it is, its statements.
type MigrationStep = (i64, &'static str, &'static str);

/// The same for both.
const ERASURE: &str = include_str!("erasure.sql");
const KEY_LISTS: &str = include_str!("key_lists.sql");
const RETENTION: &str = include_str!("retention.sql");
const TEAMS: &str = include_str!("teams.sql");
const SIGN_IN_DEVICES: &str = include_str!("sign_in_devices.sql");
const APPROVAL: &str = include_str!("approval.sql");
const OVERVIEW_NEEDS: &str = include_str!("overview_needs.sql");
const WRITE_PROBE: &str = include_str!("write_probe.sql");
const ENVOY_CLOCKS: &str = include_str!("envoy_clocks.sql");
const VOID_RANGES: &str = include_str!("void_ranges.sql");
const KEY_IMPORT: &str = include_str!("key_import.sql");

const SQLITE: &[MigrationStep] = &[
    (1, "keys", KEYS),
    (2, "limits of keys", LIMITS),
    (3, "owners of keys", OWNER),
    (4, "console", include_str!("sqlite/console.sql")),
    (6, "envoys", include_str!("sqlite/envoys.sql")),
    (7, "sessions", include_str!("sqlite/sessions.sql")),
    (8, "keys' own models and multipliers", ACCESS),
    (9, "spend feed", include_str!("sqlite/spend_feed.sql")),
    (10, "lists of keys", KEY_LISTS),
    (11, "credentials", include_str!("sqlite/credentials.sql")),
    (12, "webhooks", include_str!("sqlite/webhooks.sql")),
    (13, "retention", RETENTION),
    (14, "teams", TEAMS),
    (15, "requests", include_str!("sqlite/requests.sql")),
    (16, "usage", include_str!("sqlite/usage.sql")),
    (17, "overview needs", OVERVIEW_NEEDS),
    (18, "search of keys", include_str!("sqlite/key_search.sql")),
    (19, "erasures", ERASURE),
    (
        21,
        "places of requests",
        include_str!("sqlite/request_places.sql"),
    ),
    (22, "write probe", WRITE_PROBE),
    (23, "clocks of Envoys", ENVOY_CLOCKS),
    (24, "devices", SIGN_IN_DEVICES),
    (26, "approval of agents", APPROVAL),
    (27, "void lines", VOID_RANGES),
    (28, "import of keys", KEY_IMPORT),
];
const POSTGRES: &[MigrationStep] = &[
    (3, "keys", include_str!("postgres/keys.sql")),
    (4, "console", include_str!("postgres/console.sql")),
    (6, "envoys", include_str!("postgres/envoys.sql")),
    (7, "sessions", include_str!("postgres/sessions.sql")),
    (
        8,
        "keys' own models and multipliers",
        include_str!("postgres/access.sql"),
    ),
    (9, "spend feed", include_str!("postgres/spend_feed.sql")),
    (10, "lists of keys", KEY_LISTS),
    (11, "credentials", include_str!("postgres/credentials.sql")),
    (12, "webhooks", include_str!("postgres/webhooks.sql")),
    (13, "retention", RETENTION),
    (14, "teams", TEAMS),
    (15, "requests", include_str!("postgres/requests.sql")),
    (16, "usage", include_str!("postgres/usage.sql")),
    (17, "overview needs", OVERVIEW_NEEDS),
    (
        18,
        "search of keys",
        include_str!("postgres/key_search.sql"),
    ),
    (19, "erasures", ERASURE),
    (
        20,
        "many keys at once",
        include_str!("postgres/keys_many.sql"),
    ),
    (
        21,
        "places of requests",
        include_str!("postgres/request_places.sql"),
    ),
    (22, "write probe", WRITE_PROBE),
    (23, "clocks of Envoys", ENVOY_CLOCKS),
    (24, "devices", SIGN_IN_DEVICES),
    (26, "approval of agents", APPROVAL),
    (27, "void lines", VOID_RANGES),
    (28, "import of keys", KEY_IMPORT),
];

/// Does what is left to do.
///
/// # Errors
/// A migration fails, or one that was done is another one by now; then the tables are as they were.
pub async fn run(store: &Store) -> Result<(), StoreError> {
    if is_done(store).await? {
        return Ok(());
    }
    let mut transaction = store.begin().await?;
    match &mut transaction {
        Transaction::Sqlite(inner, _) => {
            migrator(SQLITE)
                .run_direct(None, &mut **inner, false)
                .await?;
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
            migrator(POSTGRES)
                .run_direct(None, &mut **inner, false)
                .await?;
        }
    }
    transaction.commit().await
}

/// Whether all is done already. It waits for nobody: another console's change may take long.
async fn is_done(store: &Store) -> Result<bool, StoreError> {
    let mut transaction = store.read().await?;
    let (steps, done) = match &mut transaction {
        Transaction::Sqlite(inner, _) => (SQLITE, inner.list_applied_migrations(TABLE).await),
        Transaction::Postgres(inner) => (POSTGRES, inner.list_applied_migrations(TABLE).await),
    };
    transaction.rollback().await;
    // Without the table nothing is.
    let done = done.unwrap_or_default();
    let migrator = migrator(steps);
    let is_done = |migration: &Migration| {
        let same = |other: &AppliedMigration| {
            other.version == migration.version && other.checksum == migration.checksum
        };
        done.iter().any(same)
    };
    Ok(migrator.iter().all(is_done))
}

fn migrator(steps: &'static [MigrationStep]) -> Migrator {
    let migrations = steps.iter().map(|(version, what, sql)| {
        let sql = sql.into_sql_str();
        Migration::new(
            *version,
            Cow::Borrowed(*what),
            MigrationType::Simple,
            sql,
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // Tables of the next release are good for this one.
    migrator.set_ignore_missing(true).set_locking(false);
    migrator
}
