//! Notes of budgets that are nearly spent in a day or a month, so that no page has to look at all budgets.

use trilane::limits::SubjectKind;

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// A note: period, kind and subject, in the order of the primary key.
pub type NearlySpentKey = (String, String, String);

/// Notes that a subject's budget of a period is nearly spent.
///
/// # Errors
/// Those of the database.
pub async fn note(
    transaction: &mut Transaction,
    period: &str,
    kind: SubjectKind,
    subject: &str,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO nearly_spent (period, kind, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        (period, kind.name(), subject)
    )
}

/// Takes a note back.
///
/// # Errors
/// Those of the database.
pub async fn clear(
    transaction: &mut Transaction,
    period: &str,
    kind: SubjectKind,
    subject: &str,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM nearly_spent WHERE period = $1 AND kind = $2 AND subject = $3",
        (period, kind.name(), subject)
    )
}

/// Notes of a day and its month after one, in their order.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    periods: &[String; 2],
    after: &NearlySpentKey,
    limit: i64,
) -> Result<Vec<NearlySpentKey>, StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT period, kind, subject FROM nearly_spent \
         WHERE period IN ($1, $2) AND (period, kind, subject) > ($3, $4, $5) ORDER BY period, kind, subject LIMIT $6",
        (
            &periods[0],
            &periods[1],
            &after.0,
            &after.1,
            &after.2,
            limit
        )
    ))
}

/// Notes of periods before a day.
pub const OVER: OldRows = OldRows {
    table: "nearly_spent",
    key: "period, kind, subject",
    condition: "period < $1",
    lock: None,
};
