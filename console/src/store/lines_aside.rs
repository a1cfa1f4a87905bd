//! Lines of the ledger that could not be counted.

use super::{StoreError, Transaction, on_either};

/// A line that was kept aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsideLine {
    /// Where it begins in its file.
    pub position: i64,
    /// Its bytes, without its line feed.
    pub length: i64,
    /// `foreign`, `damaged`, `cut` or `too_long`.
    pub reason: String,
    /// What is wrong with it.
    pub detail: String,
    /// Its beginning.
    pub line: String,
}

/// Keeps lines aside.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    envoy: &str,
    file: &str,
    lines: &[AsideLine],
    now: i64,
) -> Result<(), StoreError> {
    for line in lines {
        on_either!(transaction, connection => {
            sqlx::query(
                "INSERT INTO lines_aside (envoy_id, file_id, position, length, reason, detail, line, taken_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(envoy)
            .bind(file)
            .bind(line.position)
            .bind(line.length)
            .bind(&line.reason)
            .bind(&line.detail)
            .bind(&line.line)
            .bind(now)
            .execute(connection)
            .await?;
        });
    }
    Ok(())
}

/// The lines that were kept aside of a file, from its beginning.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    envoy: &str,
    file: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<AsideLine>, StoreError> {
    let rows: Vec<(i64, i64, String, String, String)> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT position, length, reason, detail, line FROM lines_aside \
             WHERE envoy_id = $1 AND file_id = $2 AND position > $3 ORDER BY position LIMIT $4",
        )
        .bind(envoy)
        .bind(file)
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?
    });
    let lines = rows
        .into_iter()
        .map(|(position, length, reason, detail, line)| AsideLine {
            position,
            length,
            reason,
            detail,
            line,
        });
    Ok(lines.collect())
}
