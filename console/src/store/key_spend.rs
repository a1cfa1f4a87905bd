//! The spend of a key, and its last use, under its present owner. An id may have been another one's key before.

use time::macros::format_description;
use time::{Date, Duration};

use super::usage_hours::{self, UsageQuery};
use super::{StoreError, Transaction, on_either, spend};
use crate::ledger::Sum;

/// Gives the spend of a key in a day (`2026-11-24`) or a month (`2026-11`) under an owner (`None`: none), by currency.
///
/// # Errors
/// Those of the database.
pub async fn of(
    transaction: &mut Transaction,
    key: &str,
    owner: Option<&str>,
    period: &str,
) -> Result<Vec<(String, Sum)>, StoreError> {
    let owner = owner.unwrap_or_default();
    let Some((first, after)) = days(period) else {
        return Ok(Vec::new());
    };
    // A request that began the day before may have ended in the period, and counts there.
    let since = first.previous_day().unwrap_or(first).to_string();
    let (key, until) = (key.to_owned(), after.to_string());
    let others: Option<i32> = on_either!(transaction, connection => {
        sqlx::query_scalar(
            "SELECT 1 FROM usage_by_hour WHERE key_id = $1 AND hour >= $2 AND hour < $3 AND owner <> $4 LIMIT 1",
        )
        .bind(&key)
        .bind(&since)
        .bind(&until)
        .bind(owner)
        .fetch_optional(connection)
        .await?
    });
    if others.is_none() {
        return spend::of(transaction, "key", &key, period).await;
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

/// The first day of a period, and the first behind it.
fn days(period: &str) -> Option<(Date, Date)> {
    let day = format_description!("[year]-[month]-[day]");
    if let Ok(day) = Date::parse(period, day) {
        return Some((day, day.next_day()?));
    }
    let first = Date::parse(&format!("{period}-01"), day).ok()?;
    let after = first.checked_add(Duration::days(31))?.replace_day(1).ok()?;
    Some((first, after))
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
    let user: Option<String> = on_either!(transaction, connection => {
        sqlx::query_scalar(
            "SELECT owner FROM usage_by_hour WHERE key_id = $1 ORDER BY hour DESC, CASE WHEN owner = $2 THEN 0 ELSE 1 END LIMIT 1",
        )
        .bind(key)
        .bind(owner)
        .fetch_optional(connection)
        .await?
    });
    if user.is_some_and(|user| user != owner) {
        return Ok(None);
    }
    spend::last_use(transaction, key).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_of_periods() {
        for (period, want) in [
            ("2026-11-24", Some(("2026-11-24", "2026-11-25"))),
            ("2026-12-31", Some(("2026-12-31", "2027-01-01"))),
            ("2026-11", Some(("2026-11-01", "2026-12-01"))),
            ("2026-12", Some(("2026-12-01", "2027-01-01"))),
            ("2028-02", Some(("2028-02-01", "2028-03-01"))),
            ("2026", None),
            ("2026-13", None),
            ("x", None),
        ] {
            let found = days(period).map(|(first, after)| (first.to_string(), after.to_string()));
            let want = want.map(|(first, after)| (first.to_owned(), after.to_owned()));
            assert_eq!(found, want, "{period}");
        }
    }
}
