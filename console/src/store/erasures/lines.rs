//! Lines of the ledger.

use crate::ledger::owner_member;
use crate::store::{StoreError, Transaction, execute, fetch};

/// The most lines that one transaction changes.
const MOST: i64 = 200;

/// The position of a ledger line, and the line.
type LedgerLineRow = (String, String, String, i64, String);

/// Gives some lines to the pseudonym. Whether there were any.
pub(super) async fn erase(
    transaction: &mut Transaction,
    (person, pseudonym): (&str, &str),
) -> Result<bool, StoreError> {
    let rows: Vec<LedgerLineRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT taken_on, envoy_id, file_id, position, line FROM requests WHERE owner = $1 LIMIT $2",
        (person, MOST)
    );
    for (taken_on, envoy, file, position, line) in &rows {
        let line = owner_member::replaced(line, pseudonym);
        execute!(
            transaction,
            "UPDATE requests SET owner = $1, line = $2 WHERE taken_on = $3 AND envoy_id = $4 AND file_id = $5 AND position = $6",
            (pseudonym, line, taken_on, envoy, file, position)
        )?;
    }
    Ok(!rows.is_empty())
}
