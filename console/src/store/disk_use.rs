//! The disk use of the database.

use std::path::Path;

use super::{Engine, Store, StoreError, Transaction};

/// The disk use of the database, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUse {
    /// All of it, with SQLite's log.
    pub bytes: i64,
    /// SQLite's log of changes that are not in the file yet; `None`: PostgreSQL's is that of a whole server.
    pub log: Option<i64>,
    /// Room in SQLite's file that is used again before the file grows; `None`: PostgreSQL does not say.
    pub free: Option<i64>,
    /// Room for more on the file system of SQLite's file; `None`: PostgreSQL's is elsewhere.
    pub disk_free: Option<i64>,
}

/// Reads the disk use of the database.
///
/// # Errors
/// Those of the database.
pub async fn read(store: &Store) -> Result<DiskUse, StoreError> {
    let mut transaction = store.read().await?;
    let read = match &mut transaction {
        Transaction::Sqlite(inner, _) => sqlx::query_as::<_, (i64, i64)>(
            "SELECT page_count * page_size, freelist_count * page_size FROM pragma_page_count, pragma_page_size, pragma_freelist_count",
        )
        .fetch_one(&mut **inner)
        .await
        .map(|(bytes, free)| (bytes, Some(free))),
        Transaction::Postgres(inner) => sqlx::query_scalar("SELECT pg_database_size(current_database())")
            .fetch_one(&mut **inner)
            .await
            .map(|bytes| (bytes, None)),
    };
    transaction.rollback().await;
    let (file, free) = read?;
    let (log, disk_free) = match &store.engine {
        Engine::Sqlite { directory, .. } => (
            // Without a log there is nothing in it.
            Some(
                std::fs::metadata(directory.join("console.db-wal")).map_or(0, |of| whole(of.len())),
            ),
            disk_free(directory),
        ),
        Engine::Postgres { .. } => (None, None),
    };
    Ok(DiskUse {
        bytes: file.saturating_add(log.unwrap_or(0)),
        log,
        free,
        disk_free,
    })
}

/// Returns the number of free bytes on the file system that the console's user may still use.
fn disk_free(directory: &Path) -> Option<i64> {
    let of = rustix::fs::statvfs(directory).ok()?;
    Some(whole(of.f_bavail.saturating_mul(of.f_frsize)))
}

fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
