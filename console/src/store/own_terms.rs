//! The terms of a person's keys: each once.

use super::keys::StoredKey;
use super::{StoreError, Transaction, fetch};

/// Keys of a person with the same group, models and multipliers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnTerms {
    /// The id of the group.
    pub group: String,
    /// The models of the group that they may use, a JSON list; `None`: all.
    pub models: Option<String>,
    /// The final multiplier of their requests; `None`: the group's.
    pub multiplier: Option<String>,
    /// The greatest final multiplier that they pay; `None`: any.
    pub max_multiplier: Option<String>,
    /// The id of the first of them.
    pub key: String,
}

impl From<&StoredKey> for OwnTerms {
    fn from(key: &StoredKey) -> Self {
        Self {
            group: key.group_id.clone(),
            models: key.models.clone(),
            multiplier: key.multiplier.clone(),
            max_multiplier: key.max_multiplier.clone(),
            key: key.id.clone(),
        }
    }
}

/// The most terms that are looked at.
const MOST: i64 = 200;

/// The columns in the order of [`OwnTerms`].
type TermsRow = (
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
);

/// The terms of the keys of an owner that are neither disabled nor expired by `now`.
///
/// # Errors
/// Those of the database.
pub async fn of(
    transaction: &mut Transaction,
    owner: &str,
    now: &str,
) -> Result<Vec<OwnTerms>, StoreError> {
    let rows: Vec<TermsRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT group_id, models, multiplier, max_multiplier, MIN(id) AS first FROM keys \
         WHERE owner = $1 AND NOT disabled AND (expires_at IS NULL OR expires_at > $2) \
         GROUP BY group_id, models, multiplier, max_multiplier ORDER BY first LIMIT $3",
        (owner, now, MOST)
    );
    let terms = rows.into_iter().map(
        |(group, models, multiplier, max_multiplier, key)| OwnTerms {
            group,
            models,
            multiplier,
            max_multiplier,
            key,
        },
    );
    Ok(terms.collect())
}
