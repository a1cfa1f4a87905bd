//! Lists of keys, in the order of their ids.

use sqlx::AssertSqlSafe;

use super::conditions::Conditions;
use super::keys::{COLUMNS, StoredKey};
use super::{StoreError, Transaction, fetch};

/// Whether a key is good.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// It is neither disabled nor expired.
    Active,
    /// It is disabled.
    Disabled,
    /// It has expired, and is not disabled.
    Expired,
}

/// A text that `LIKE` finds anywhere within another one.
pub(super) fn pattern(search: &str) -> String {
    let mut pattern = String::from("%");
    for letter in search.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter.to_ascii_lowercase());
    }
    pattern.push('%');
    pattern
}

/// The filters of a list of keys.
#[derive(Debug, Clone, Default)]
pub struct KeyFilter<'a> {
    /// Of this owner.
    pub owner: Option<&'a str>,
    /// Of this group.
    pub group: Option<&'a str>,
    /// Of this team.
    pub team: Option<&'a str>,
    /// With this in id, owner, label or hint, whatever the case of ASCII letters.
    pub search: Option<&'a str>,
    /// In this state.
    pub state: Option<KeyState>,
    /// The present time, as `expires_at` is written.
    pub now: &'a str,
    /// With an id after this one.
    pub after: &'a str,
    /// At most so many.
    pub limit: i64,
}

/// The subset of a filter's keys that is listed.
#[derive(Debug, Clone, Copy)]
pub enum KeyRange<'a> {
    /// All of them.
    All,
    /// Those with an id up to this one.
    UpTo(&'a str),
    /// Those with one of these ids.
    Among(&'a [String]),
}

impl<'a> KeyFilter<'a> {
    /// The conditions for which there are indexes.
    fn indexed(&self) -> Conditions<'a> {
        Conditions::default()
            .and("id >", Some(self.after))
            .and("owner =", self.owner)
            .and("group_id =", self.group)
            .and("team =", self.team)
    }
}

/// Those of a range, in the order of their ids, [`KeyFilter::limit`] of them at most. A search looks at each of them.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    filter: &KeyFilter<'_>,
    range: KeyRange<'_>,
) -> Result<Vec<StoredKey>, StoreError> {
    let search = filter.search.map(pattern);
    let collation = transaction.collation();
    let has_it = ["hint", "id", "owner", "label"]
        .map(|column| format!("lower({column}{collation}) LIKE {{}} ESCAPE '\\'"))
        .join(" OR ");
    let now_if = |state| (filter.state == Some(state)).then_some(filter.now);
    let (up_to, among) = match range {
        KeyRange::All => (None, None),
        KeyRange::UpTo(last) => (Some(last), None),
        KeyRange::Among(ids) => (None, Some(ids)),
    };
    let asked = filter
        .indexed()
        .and("id <=", up_to)
        .and_among("id", among)
        .and_with(&has_it, search.as_deref())
        .and_if("disabled", filter.state == Some(KeyState::Disabled))
        .and_with(
            "NOT disabled AND expires_at <= {}",
            now_if(KeyState::Expired),
        )
        .and_with(
            "NOT disabled AND (expires_at IS NULL OR expires_at > {})",
            now_if(KeyState::Active),
        );
    let sql = format!(
        "SELECT {COLUMNS} FROM keys {} ORDER BY id LIMIT {}",
        asked.sql(),
        filter.limit,
    );
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        [..asked.values().iter().copied()]
    ))
}

/// The id of the `n`th key after the filter's place, counted from 1, of its owner and group, in whatever state. None: there are
/// fewer.
///
/// # Errors
/// Those of the database.
pub async fn nth(
    transaction: &mut Transaction,
    filter: &KeyFilter<'_>,
    n: usize,
) -> Result<Option<String>, StoreError> {
    let asked = filter.indexed();
    let sql = format!(
        "SELECT id FROM keys {} ORDER BY id LIMIT 1 OFFSET {}",
        asked.sql(),
        n.saturating_sub(1)
    );
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        AssertSqlSafe(sql),
        [..asked.values().iter().copied()]
    ))
}
