//! The outcomes of the latest tests of upstream accounts.

use super::{StoreError, Transaction, execute, fetch};

/// The outcome of the latest test of an account's stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestAccountTest {
    /// The id of the account's group.
    pub group: String,
    /// The account's id.
    pub account: String,
    /// The time of the test, in microseconds since 1970.
    pub at: i64,
    /// `works`, or what was wrong.
    pub outcome: String,
}

/// Keeps what a test said, in the place of the one before.
///
/// # Errors
/// Those of the database.
pub async fn note(
    transaction: &mut Transaction,
    latest: &LatestAccountTest,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO account_tests (group_id, account, at, outcome) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (group_id, account) DO UPDATE SET at = excluded.at, outcome = excluded.outcome",
        (&latest.group, &latest.account, latest.at, &latest.outcome)
    )
}

/// All of them: of accounts that were ever tested, which are those of documents.
///
/// # Errors
/// Those of the database.
pub async fn all(transaction: &mut Transaction) -> Result<Vec<LatestAccountTest>, StoreError> {
    let rows: Vec<(String, String, i64, String)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT group_id, account, at, outcome FROM account_tests ORDER BY group_id, account",
        ()
    );
    let test = |(group, account, at, outcome)| LatestAccountTest {
        group,
        account,
        at,
        outcome,
    };
    Ok(rows.into_iter().map(test).collect())
}
