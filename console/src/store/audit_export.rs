//! Up to where the audit was sent to a collector of logs.

use super::{StoreError, Transaction, fetch, on_either};

/// The state of sending the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportState {
    /// The number of the last entry that the collector has taken; 0: none.
    pub sent: i64,
    /// Until when nobody else sends, in microseconds since 1970.
    pub until: i64,
    /// The number of failures since the last success.
    pub failures: i64,
}

/// Reads the state.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction) -> Result<ExportState, StoreError> {
    let (sent, until, failures): (i64, i64, i64) = fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT sent, until, failures FROM audit_export",
        ()
    );
    Ok(ExportState {
        sent,
        until,
        failures,
    })
}

/// Puts a state in the place of another one. False: it is not that one any more.
///
/// # Errors
/// Those of the database.
pub async fn change(
    transaction: &mut Transaction,
    before: &ExportState,
    after: &ExportState,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE audit_export SET sent = $4, until = $5, failures = $6 WHERE sent = $1 AND until = $2 AND failures = $3")
            .bind(before.sent)
            .bind(before.until)
            .bind(before.failures)
            .bind(after.sent)
            .bind(after.until)
            .bind(after.failures)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(changed > 0)
}
