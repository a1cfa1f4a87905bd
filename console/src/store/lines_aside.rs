//! Lines of the ledger that could not be counted, or are void.

use sqlx::AssertSqlSafe;

use super::sqlite_rows::{self, ROWS};
use super::{StoreError, Transaction, fetch};

/// A line that was kept aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsideLine {
    /// The byte offset of the line in its file.
    pub position: i64,
    /// The length of the line, in bytes, without its line feed.
    pub length: i64,
    /// `foreign`, `damaged`, `cut`, `too_long` or `void`.
    pub reason: String,
    /// The fault of the line, in words.
    pub detail: String,
    /// The beginning of the line.
    pub line: String,
}

/// `INSERT INTO` all columns.
const INTO: &str =
    "INSERT INTO lines_aside (envoy_id, file_id, position, length, reason, detail, line, taken_at)";

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
    match transaction {
        Transaction::Sqlite(inner, _) => {
            for lines in lines.chunks(ROWS) {
                let sql = format!("{INTO} {}", sqlite_rows::values(lines.len(), 8));
                let mut insert = sqlx::query(AssertSqlSafe(sql)).persistent(lines.len() == ROWS);
                for line in lines {
                    insert = insert.bind(envoy).bind(file).bind(line.position);
                    insert = insert.bind(line.length).bind(&line.reason);
                    insert = insert.bind(&line.detail).bind(&line.line).bind(now);
                }
                insert.execute(&mut **inner).await?;
            }
        }
        Transaction::Postgres(inner) => {
            let numbers = |of: fn(&AsideLine) -> i64| lines.iter().map(of).collect::<Vec<_>>();
            let texts = |of: fn(&AsideLine) -> &str| lines.iter().map(of).collect::<Vec<_>>();
            sqlx::query(AssertSqlSafe(format!(
                "{INTO} SELECT $1, $2, position, length, reason, detail, line, $3 \
                 FROM unnest($4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[]) \
                   AS new (position, length, reason, detail, line)"
            )))
            .bind(envoy)
            .bind(file)
            .bind(now)
            .bind(numbers(|line| line.position))
            .bind(numbers(|line| line.length))
            .bind(texts(|line| &line.reason))
            .bind(texts(|line| &line.detail))
            .bind(texts(|line| &line.line))
            .execute(&mut **inner)
            .await?;
        }
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
    let rows: Vec<(i64, i64, String, String, String)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT position, length, reason, detail, line FROM lines_aside \
         WHERE envoy_id = $1 AND file_id = $2 AND position > $3 ORDER BY position LIMIT $4",
        (envoy, file, after, limit)
    );
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
