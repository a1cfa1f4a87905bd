//! Notes of budgets that are nearly spent in a day or a month, so that no page has to look at all budgets.

use super::old_rows::OldRows;
use super::{StoreError, Transaction, on_either};

/// A note: period, kind and subject, in the order of the primary key.
pub type NearlySpentKey = (String, String, String);

/// Notes that a subject's budget of a period is nearly spent.
///
/// # Errors
/// Those of the database.
pub async fn note(
    transaction: &mut Transaction,
    period: &str,
    kind: &str,
    subject: &str,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("INSERT INTO nearly_spent (period, kind, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(period)
            .bind(kind)
            .bind(subject)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Takes a note back.
///
/// # Errors
/// Those of the database.
pub async fn clear(
    transaction: &mut Transaction,
    period: &str,
    kind: &str,
    subject: &str,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("DELETE FROM nearly_spent WHERE period = $1 AND kind = $2 AND subject = $3")
            .bind(period)
            .bind(kind)
            .bind(subject)
            .execute(connection)
            .await?;
    });
    Ok(())
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
    Ok(on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT period, kind, subject FROM nearly_spent \
             WHERE period IN ($1, $2) AND (period, kind, subject) > ($3, $4, $5) ORDER BY period, kind, subject LIMIT $6",
        )
        .bind(&periods[0])
        .bind(&periods[1])
        .bind(&after.0)
        .bind(&after.1)
        .bind(&after.2)
        .bind(limit)
        .fetch_all(connection)
        .await?
    }))
}

/// Notes of periods before a day.
pub const OVER: OldRows = OldRows {
    table: "nearly_spent",
    key: "period, kind, subject",
    condition: "period < $1",
    lock: None,
};
