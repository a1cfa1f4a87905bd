//! The spend of a key, and its last use, under its present owner. An id may have been another one's key before.

use trilane::limits::{Period, SubjectKind};

use super::usage_hours::{self, UsageQuery};
use super::{StoreError, Transaction, fetch, spend};
use crate::ledger::Sum;

/// Gives the spend of a key in a period under an owner (`None`: none), by currency.
///
/// # Errors
/// Those of the database.
pub async fn of(
    transaction: &mut Transaction,
    key: &str,
    owner: Option<&str>,
    period: Period,
) -> Result<Vec<(String, Sum)>, StoreError> {
    let owner = owner.unwrap_or_default();
    let (first, after) = (period.first_day(), period.plus(1).first_day());
    // A request that began the day before may have ended in the period, and counts there.
    let since = first.previous_day().unwrap_or(first).to_string();
    let (key, until) = (key.to_owned(), after.to_string());
    let others: Option<i32> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT 1 FROM usage_by_hour WHERE key_id = $1 AND hour >= $2 AND hour < $3 AND owner <> $4 LIMIT 1",
        (&key, &since, &until, owner)
    );
    if others.is_none() {
        return spend::of(transaction, SubjectKind::Key, &key, &period.to_string()).await;
    }
    let asked = UsageQuery {
        since: Some(format!("{first}T00")),
        until: Some(format!("{after}T00")),
        key: Some(key),
        owner: Some(owner.to_owned()),
        limit: i64::MAX,
        ..UsageQuery::default()
    };
    let sums = usage_hours::sums(transaction, &asked).await?;
    let spent = sums.into_iter().filter(|of| of.charge != Sum::default());
    Ok(spent.map(|of| (of.currency, of.charge)).collect())
}

/// Finds the time of a key's latest use, in microseconds since 1970; `None` if the key had another owner then.
///
/// # Errors
/// Those of the database.
pub async fn last_use(
    transaction: &mut Transaction,
    key: &str,
    owner: Option<&str>,
) -> Result<Option<i64>, StoreError> {
    let owner = owner.unwrap_or_default();
    let user: Option<String> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT owner FROM usage_by_hour WHERE key_id = $1 ORDER BY hour DESC, CASE WHEN owner = $2 THEN 0 ELSE 1 END LIMIT 1",
        (key, owner)
    );
    if user.is_some_and(|user| user != owner) {
        return Ok(None);
    }
    spend::last_use(transaction, key).await
}
