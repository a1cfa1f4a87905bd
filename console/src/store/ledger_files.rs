//! The positions up to which the ledger files of each Envoy were taken in.

use super::{StoreError, Transaction, execute, fetch};

/// The position up to which a ledger file was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilePosition {
    /// The bytes taken from its beginning.
    pub position: i64,
    /// Whether that is within a line that is too long.
    pub skipping: bool,
    /// Lines that were counted.
    pub lines: i64,
    /// Lines that were kept aside.
    pub aside: i64,
}

type LedgerFileRow = (i64, bool, i64, i64);

/// The position of a file, locked until the transaction ends. A file that is new begins at 0.
///
/// # Errors
/// Those of the database.
pub async fn lock(
    transaction: &mut Transaction,
    envoy: &str,
    file: &str,
) -> Result<FilePosition, StoreError> {
    execute!(
        transaction,
        "INSERT INTO ledger_files (envoy_id, file_id, position, skipping, lines, aside, taken_at) \
         VALUES ($1, $2, 0, false, 0, 0, 0) ON CONFLICT DO NOTHING",
        (envoy, file)
    )?;
    let columns = "SELECT position, skipping, lines, aside FROM ledger_files WHERE envoy_id = $1 AND file_id = $2";
    let row: LedgerFileRow = match transaction {
        // Who writes is alone already.
        Transaction::Sqlite(inner, _) => {
            let query = sqlx::query_as(columns).bind(envoy).bind(file);
            query.fetch_one(&mut **inner).await?
        }
        Transaction::Postgres(inner) => {
            let query = sqlx::query_as(
                "SELECT position, skipping, lines, aside FROM ledger_files WHERE envoy_id = $1 AND file_id = $2 FOR UPDATE",
            );
            query.bind(envoy).bind(file).fetch_one(&mut **inner).await?
        }
    };
    Ok(of(row))
}

/// The position of a file; `None`: nothing of it was taken.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    envoy: &str,
    file: &str,
) -> Result<Option<FilePosition>, StoreError> {
    let row: Option<LedgerFileRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT position, skipping, lines, aside FROM ledger_files WHERE envoy_id = $1 AND file_id = $2",
        (envoy, file)
    );
    Ok(row.map(of))
}

fn of((position, skipping, lines, aside): LedgerFileRow) -> FilePosition {
    FilePosition {
        position,
        skipping,
        lines,
        aside,
    }
}

/// Notes that lines of a file which were counted are kept aside now.
///
/// # Errors
/// Those of the database.
pub async fn note_void(
    transaction: &mut Transaction,
    envoy: &str,
    file: &str,
    lines: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE ledger_files SET lines = lines - $3, aside = aside + $3 WHERE envoy_id = $1 AND file_id = $2",
        (envoy, file, lines)
    )
}

/// Sets the position of a file that is locked.
///
/// # Errors
/// Those of the database.
pub async fn set(
    transaction: &mut Transaction,
    envoy: &str,
    file: &str,
    to: FilePosition,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE ledger_files SET position = $3, skipping = $4, lines = $5, aside = $6, taken_at = $7 \
         WHERE envoy_id = $1 AND file_id = $2",
        (
            envoy,
            file,
            to.position,
            to.skipping,
            to.lines,
            to.aside,
            now
        )
    )
}
