//! Counts of failed sign-ins. They are in the database, so that several consoles agree.

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// Counts an attempt, before it is looked at: attempts at the same moment are all counted. Failures before `since` count no
/// longer. How many there were since then with this one; `None`: no attempt is looked at now.
///
/// # Errors
/// Those of the database.
pub async fn count(
    transaction: &mut Transaction,
    subject: &str,
    now: i64,
    since: i64,
) -> Result<Option<i64>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "INSERT INTO sign_in_failures (subject, failures, at, until) VALUES ($1, 1, $2, 0) \
         ON CONFLICT (subject) DO UPDATE SET at = $2, \
         failures = CASE WHEN sign_in_failures.at < $3 THEN 1 ELSE sign_in_failures.failures + 1 END \
         WHERE sign_in_failures.until <= $2 RETURNING failures",
        (subject, now, since)
    ))
}

/// Looks at no further attempt until then.
///
/// # Errors
/// Those of the database.
pub async fn lock(
    transaction: &mut Transaction,
    subject: &str,
    until: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE sign_in_failures SET until = $2 WHERE subject = $1",
        (subject, until)
    )
}

/// Forgets the failures of a subject: one has signed in.
///
/// # Errors
/// Those of the database.
pub async fn clear(transaction: &mut Transaction, subject: &str) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM sign_in_failures WHERE subject = $1",
        (subject)
    )
}

/// Failures before a moment.
pub const OLD: OldRows = OldRows {
    table: "sign_in_failures",
    key: "subject",
    condition: "at < $1",
    lock: None,
};
