//! The keys of a group, by the models and the multipliers that they have of their own.

use super::{StoreError, Transaction, fetch};

/// Keys of a group with the same models and the same multipliers of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKeys {
    /// The models of the group that they may use, a JSON list; `None`: all.
    pub models: Option<String>,
    /// The final multiplier of their requests, whichever source serves them; `None`: that of the source.
    pub multiplier: Option<String>,
    /// The greatest final multiplier that they pay; `None`: any.
    pub max_multiplier: Option<String>,
    /// The number of these keys.
    pub count: u64,
    /// The ids of some of them, in order.
    pub named: Vec<String>,
}

/// Models, multiplier and greatest multiplier, with the number of keys that have them.
type CountedTerms = (Option<String>, Option<String>, Option<String>, i64);
/// The id of a key, with its models, multiplier and greatest multiplier.
type KeyTerms = (String, Option<String>, Option<String>, Option<String>);

/// The most terms, and the most names, that are looked at.
const MOST: i64 = 1000;

/// The keys of a group.
///
/// # Errors
/// Those of the database.
pub async fn of(transaction: &mut Transaction, group: &str) -> Result<Vec<GroupKeys>, StoreError> {
    let counts: Vec<CountedTerms> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT models, multiplier, max_multiplier, COUNT(*) FROM keys WHERE group_id = $1 \
         GROUP BY models, multiplier, max_multiplier ORDER BY models, multiplier, max_multiplier LIMIT $2",
        (group, MOST)
    );
    let names: Vec<KeyTerms> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, models, multiplier, max_multiplier FROM keys WHERE group_id = $1 ORDER BY id LIMIT $2",
        (group, MOST)
    );
    let keys = counts
        .into_iter()
        .map(|(models, multiplier, max_multiplier, count)| {
            let named = names.iter().filter(|(_, own, factor, most)| {
                *own == models && *factor == multiplier && *most == max_multiplier
            });
            GroupKeys {
                named: named.map(|(id, ..)| id.clone()).collect(),
                count: count.try_into().unwrap_or_default(),
                models,
                multiplier,
                max_multiplier,
            }
        });
    Ok(keys.collect())
}
