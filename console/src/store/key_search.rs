//! Looks for keys that have a text in their id, owner, label or hint, however many keys there are.
//!
//! Text that many keys have is found soon among the next ones. Text that few have is found by the index (`key_grams.rs`). Text that is between
//! the two, or is asked for with other conditions that few keys meet, may take more than one page.

use sqlx::AssertSqlSafe;

use super::key_grams::question;
use super::key_lists::{self, KeyFilter, KeyRange};
use super::keys::StoredKey;
use super::{StoreError, Transaction, fetch};

/// The keys of one page that are looked at without the index.
pub const LOOKED_AT: usize = 10_000;
/// The most keys of the index that are looked at for one page, and the most that may be due before the index is of no use.
const INDEXED: usize = 5000;
/// The number of keys that one statement looks at.
const STEP: usize = 500;

/// Keys that were found.
#[derive(Debug)]
pub struct FoundKeys {
    /// In the order of their ids.
    pub keys: Vec<StoredKey>,
    /// The id where the search ended before all keys had been looked at: it goes on behind it.
    pub searched_to: Option<String>,
}

/// The keys of a filter, [`KeyFilter::limit`] of them at most.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    filter: &KeyFilter<'_>,
) -> Result<FoundKeys, StoreError> {
    let mut found = FoundKeys {
        keys: Vec::new(),
        searched_to: None,
    };
    let end = match filter.search {
        Some(_) => key_lists::nth(transaction, filter, LOOKED_AT).await?,
        None => None,
    };
    let next = end.as_deref().map_or(KeyRange::All, KeyRange::UpTo);
    found.keys = key_lists::list(transaction, filter, next).await?;
    let (Some(search), Some(end)) = (filter.search, end) else {
        return Ok(found);
    };
    let left = |keys: &[StoredKey]| {
        let found = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        filter.limit.saturating_sub(found)
    };
    let behind = |limit| KeyFilter {
        after: &end,
        limit,
        ..filter.clone()
    };
    if left(&found.keys) <= 0 {
        return Ok(found);
    }
    if count(transaction, "SELECT 1 FROM key_search_due", None).await? > INDEXED {
        // The index is not made yet.
        let rest = behind(left(&found.keys));
        let rest = key_lists::list(transaction, &rest, KeyRange::All).await?;
        found.keys.extend(rest);
        return Ok(found);
    }
    let Some(ids) = indexed(transaction, search, &end).await? else {
        found.searched_to = Some(end);
        return Ok(found);
    };
    for some in ids.chunks(STEP) {
        let rest = behind(left(&found.keys));
        if rest.limit <= 0 {
            break;
        }
        let rest = key_lists::list(transaction, &rest, KeyRange::Among(some)).await?;
        found.keys.extend(rest);
    }
    Ok(found)
}

/// The ids behind one of all keys that may have a text, in their order; `None`: they are too many.
async fn indexed(
    transaction: &mut Transaction,
    search: &str,
    after: &str,
) -> Result<Option<Vec<String>>, StoreError> {
    let Some(question) = question(transaction, search) else {
        return Ok(None);
    };
    let matches = match transaction {
        Transaction::Sqlite(..) => {
            "SELECT id FROM key_grams CROSS JOIN key_search ON number = key_grams.rowid WHERE key_grams MATCH $1"
        }
        Transaction::Postgres(_) => "SELECT id FROM key_search WHERE grams @@ $1::tsquery",
    };
    if count(transaction, matches, Some(&question)).await? > INDEXED {
        return Ok(None);
    }
    let sql = format!(
        "SELECT id FROM ({matches} UNION SELECT id FROM key_search_due) AS may_have_it WHERE id > $2 ORDER BY id"
    );
    let ids = fetch!(
        transaction,
        query_scalar.fetch_all,
        AssertSqlSafe(sql),
        (&question, after)
    );
    Ok(Some(ids))
}

/// Counts the rows of a statement, until there are more than are looked at.
async fn count(
    transaction: &mut Transaction,
    rows: &str,
    value: Option<&str>,
) -> Result<usize, StoreError> {
    let most = INDEXED.saturating_add(1);
    let sql = format!("SELECT count(*) FROM ({rows} LIMIT {most}) AS counted");
    let count: i64 = fetch!(
        transaction,
        query_scalar.fetch_one,
        AssertSqlSafe(sql),
        [..value.into_iter()]
    );
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}
