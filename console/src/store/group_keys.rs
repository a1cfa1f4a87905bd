//! The keys of a group, by the models that they have of their own.

use super::{StoreError, Transaction, fetch};

/// Keys of a group with the same models of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKeys {
    /// The models of the group that they may use, a JSON list; `None`: all.
    pub models: Option<String>,
    /// The number of these keys.
    pub count: u64,
    /// The ids of some of them, in order.
    pub named: Vec<String>,
}

/// The most lists of models, and the most names, that are looked at.
const MOST: i64 = 1000;

/// The keys of a group.
///
/// # Errors
/// Those of the database.
pub async fn of(transaction: &mut Transaction, group: &str) -> Result<Vec<GroupKeys>, StoreError> {
    let counts: Vec<(Option<String>, i64)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT models, COUNT(*) FROM keys WHERE group_id = $1 GROUP BY models ORDER BY models LIMIT $2",
        (group, MOST)
    );
    let names: Vec<(String, Option<String>)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, models FROM keys WHERE group_id = $1 ORDER BY id LIMIT $2",
        (group, MOST)
    );
    let keys = counts.into_iter().map(|(models, count)| {
        let named = names.iter().filter(|(_, own)| *own == models);
        GroupKeys {
            named: named.map(|(id, _)| id.clone()).collect(),
            count: count.try_into().unwrap_or_default(),
            models,
        }
    });
    Ok(keys.collect())
}
