//! The disk use of the database, by statements whose cost has a bound however many rows there are.
//!
//! PostgreSQL knows the size of each table. SQLite has to walk its pages to know it, so a table or an index is walked for 20 MB at
//! most. What is greater than that takes what is left of the file, which is exact as long as one kind of data is so great.

use std::collections::BTreeMap;
use std::path::Path;

use time::Date;
use time::format_description::well_known::Iso8601;

use super::{Engine, Store, StoreError, Transaction};

/// The most pages of one table or index of SQLite that are walked (20 MB).
const PAGES: i64 = 5000;

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

/// The disk use of each kind of data, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataUse {
    /// Bytes by kind, indexes included; `None`: it is among [`Self::unmeasured`].
    pub kinds: BTreeMap<DataKind, Option<i64>>,
    /// The number of bytes of those kinds together that are too large to be walked, if there are several.
    pub unmeasured: i64,
    /// The day on which the oldest lines of the ledger were taken in that are still there.
    pub oldest: Option<Date>,
}

/// A kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataKind {
    /// Lines of the ledger.
    Requests,
    /// Sums by hour.
    Hours,
    /// Sums by day.
    Days,
    /// The spend counted against budgets.
    Spend,
    /// Keys, their feed and what their search needs.
    Keys,
    /// The audit.
    Audit,
    /// Documents and drafts.
    Documents,
    /// All else.
    Other,
}

impl DataKind {
    const ALL: [Self; 8] = [
        Self::Requests,
        Self::Hours,
        Self::Days,
        Self::Spend,
        Self::Keys,
        Self::Audit,
        Self::Documents,
        Self::Other,
    ];

    fn of_table(table: &str) -> Self {
        match table {
            "usage_by_hour" | "usage_of_all_by_hour" | "first_byte_hours" | "attempt_hours" => {
                Self::Hours
            }
            "usage_by_day" | "usage_of_all_by_day" | "usage_by_day_to" => Self::Days,
            "spend" | "spend_feed" | "spend_shares" | "spend_subjects" => Self::Spend,
            "keys" | "key_feed" | "key_changes" | "key_use" | "key_search" | "key_search_due" => {
                Self::Keys
            }
            // What SQLite keeps of key_grams.
            _ if table.starts_with("key_grams_") => Self::Keys,
            "audit" => Self::Audit,
            "documents" | "drafts" => Self::Documents,
            // A partition has its day in its name.
            _ if table == "requests" || table.starts_with("requests_") => Self::Requests,
            _ => Self::Other,
        }
    }
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

/// Measures the disk use of each kind of data.
///
/// # Errors
/// Those of the database.
pub async fn by_kind(store: &Store, whole: DiskUse) -> Result<DataUse, StoreError> {
    let mut transaction = store.read().await?;
    let read = match &mut transaction {
        Transaction::Sqlite(..) => of_sqlite(&mut transaction).await,
        Transaction::Postgres(..) => of_postgres(&mut transaction).await,
    };
    transaction.rollback().await;
    let mut found = read?;
    let measured = found
        .kinds
        .values()
        .flatten()
        .fold(0_i64, |all, bytes| all.saturating_add(*bytes));
    let elsewhere = [whole.log, whole.free]
        .into_iter()
        .flatten()
        .fold(measured, i64::saturating_add);
    let left = whole.bytes.saturating_sub(elsewhere).max(0);
    let mut great = found.kinds.iter_mut().filter(|(_, bytes)| bytes.is_none());
    match (great.next(), great.next()) {
        (Some((_, bytes)), None) => *bytes = Some(left),
        (Some(_), Some(_)) => found.unmeasured = left,
        (None, _) => {
            // What the engine keeps for itself, such as PostgreSQL's catalogue.
            if let Some(Some(other)) = found.kinds.get_mut(&DataKind::Other) {
                *other = other.saturating_add(left);
            }
        }
    }
    Ok(found)
}

fn none_yet() -> BTreeMap<DataKind, Option<i64>> {
    DataKind::ALL.map(|kind| (kind, Some(0))).into()
}

fn add(kinds: &mut BTreeMap<DataKind, Option<i64>>, kind: DataKind, bytes: i64) {
    if let Some(Some(all)) = kinds.get_mut(&kind) {
        *all = all.saturating_add(bytes);
    }
}

async fn of_sqlite(transaction: &mut Transaction) -> Result<DataUse, StoreError> {
    let Transaction::Sqlite(inner, _) = transaction else {
        return Ok(DataUse::default());
    };
    let trees: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, tbl_name FROM sqlite_schema WHERE rootpage > 0 UNION ALL SELECT 'sqlite_schema', 'sqlite_schema'",
    )
    .fetch_all(&mut **inner)
    .await?;
    let mut kinds = none_yet();
    for (name, table) in trees {
        let kind = DataKind::of_table(&table);
        if kinds.get(&kind) == Some(&None) {
            continue;
        }
        let (pages, bytes): (i64, i64) = sqlx::query_as(
            "SELECT COUNT(*), COALESCE(SUM(pgsize), 0) FROM (SELECT pgsize FROM dbstat WHERE name = $1 LIMIT $2)",
        )
        .bind(name)
        .bind(PAGES)
        .fetch_one(&mut **inner)
        .await?;
        if pages < PAGES {
            add(&mut kinds, kind, bytes);
        } else {
            kinds.insert(kind, None);
        }
    }
    let oldest: Option<String> = sqlx::query_scalar("SELECT MIN(taken_on) FROM requests")
        .fetch_one(&mut **inner)
        .await?;
    Ok(DataUse {
        kinds,
        unmeasured: 0,
        oldest: oldest.and_then(|day| date(&day)),
    })
}

async fn of_postgres(transaction: &mut Transaction) -> Result<DataUse, StoreError> {
    let Transaction::Postgres(inner) = transaction else {
        return Ok(DataUse::default());
    };
    // A table that is dropped meanwhile has no size.
    let tables: Vec<(String, i64)> = sqlx::query_as(
        "SELECT relname::text, COALESCE(pg_total_relation_size(oid), 0) FROM pg_class \
         WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
    )
    .fetch_all(&mut **inner)
    .await?;
    let mut kinds = none_yet();
    for (table, bytes) in &tables {
        add(&mut kinds, DataKind::of_table(table), *bytes);
    }
    let oldest: Option<String> = sqlx::query_scalar(
        "SELECT MIN(relid::text COLLATE \"C\") FROM pg_partition_tree('requests') WHERE isleaf AND pg_relation_size(relid) > 0",
    )
    .fetch_one(&mut **inner)
    .await?;
    let day = oldest
        .as_deref()
        .and_then(|name| name.strip_prefix("requests_"));
    Ok(DataUse {
        kinds,
        unmeasured: 0,
        oldest: day.and_then(|day| date(&day.replace('_', "-"))),
    })
}

fn date(text: &str) -> Option<Date> {
    Date::parse(text, &Iso8601::DATE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_of_its_table() {
        for (table, want) in [
            ("requests", DataKind::Requests),
            ("requests_2026_11_24", DataKind::Requests),
            ("request", DataKind::Other),
            ("usage_by_day", DataKind::Days),
            ("usage_of_all_by_hour", DataKind::Hours),
            ("usage_of_all_by_day", DataKind::Days),
            ("people", DataKind::Other),
            ("key_grams_data", DataKind::Keys),
        ] {
            assert_eq!(DataKind::of_table(table), want, "{table}");
        }
    }
}
