//! Keys: what is known of each. The feed, and what is due for the search, follow by the database's triggers.

use sqlx::{AssertSqlSafe, ColumnIndex, Decode, FromRow, Row, Type};

use super::erasures::Pseudonyms;
use super::locked_row::{LockedRow, for_update};
use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch};

/// A key. Only its digest is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredKey {
    /// The digest, 64 hexadecimal digits.
    pub sha256: String,
    /// The id of the key.
    pub id: String,
    /// The id of its group.
    pub group_id: String,
    /// The id of its owner.
    pub owner: Option<String>,
    /// The team that it belongs to.
    pub team: Option<String>,
    /// The id of the key in whose counters its limits count; `None`: its own.
    pub counts_as: Option<String>,
    /// The models of its group that it may use, a JSON list.
    pub models: Option<String>,
    /// The final multiplier of its requests.
    pub multiplier: Option<String>,
    /// The greatest final multiplier that it pays; a key with a multiplier of its own has none.
    pub max_multiplier: Option<String>,
    /// The addresses from which it may be used, a JSON list.
    pub addresses: Option<String>,
    /// The issuer's name for it.
    pub label: Option<String>,
    /// The time at which the key expires, as RFC 3339: `2027-01-01T00:00:00Z`.
    pub expires_at: Option<String>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// The limits of the key: a JSON object as in a document.
    pub limits: Option<String>,
    /// The time at which the key was created, in the same form.
    pub created_at: Option<String>,
    /// The id of the person who created it.
    pub created_by: Option<String>,
    /// The last four characters of the key's value.
    pub hint: Option<String>,
    /// The person with whom the key was disabled: it is enabled again with that person.
    pub disabled_with: Option<String>,
}

impl StoredKey {
    /// The id of the key in whose counters its limits count.
    pub fn counters(&self) -> &str {
        self.counts_as.as_deref().unwrap_or(&self.id)
    }
}

/// The columns of [`StoredKey`].
pub(super) const COLUMNS: &str = "sha256, id, group_id, owner, team, models, multiplier, max_multiplier, addresses, label, expires_at, \
                                  disabled, limits, created_at, created_by, hint, counts_as, disabled_with";

impl<'r, R: Row> FromRow<'r, R> for StoredKey
where
    &'static str: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Ok(Self {
            sha256: row.try_get("sha256")?,
            id: row.try_get("id")?,
            group_id: row.try_get("group_id")?,
            owner: row.try_get("owner")?,
            team: row.try_get("team")?,
            counts_as: row.try_get("counts_as")?,
            models: row.try_get("models")?,
            multiplier: row.try_get("multiplier")?,
            max_multiplier: row.try_get("max_multiplier")?,
            addresses: row.try_get("addresses")?,
            label: row.try_get("label")?,
            expires_at: row.try_get("expires_at")?,
            disabled: row.try_get("disabled")?,
            limits: row.try_get("limits")?,
            created_at: row.try_get("created_at")?,
            created_by: row.try_get("created_by")?,
            hint: row.try_get("hint")?,
            disabled_with: row.try_get("disabled_with")?,
        })
    }
}

fn by_id() -> String {
    format!("SELECT {COLUMNS} FROM keys WHERE id = $1")
}

/// In which groups keys of an owner or a team (`column`) are, and with which models of their own, each once.
///
/// # Errors
/// Those of the database.
pub async fn groups_of(
    transaction: &mut Transaction,
    column: &'static str,
    id: &str,
) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let sql = format!("SELECT DISTINCT group_id, models FROM keys WHERE {column} = $1");
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (id)
    ))
}

/// In which groups keys of an owner in a team are, and with which models of their own, each once.
///
/// # Errors
/// Those of the database.
pub async fn groups_of_member(
    transaction: &mut Transaction,
    owner: &str,
    team: &str,
) -> Result<Vec<(String, Option<String>)>, StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT DISTINCT group_id, models FROM keys WHERE team = $1 AND owner = $2",
        (team, owner)
    ))
}

/// Counts the keys of an owner in a team that have not expired by `now`, but for those of sign-ins of clients.
///
/// # Errors
/// Those of the database.
pub async fn count_of(
    transaction: &mut Transaction,
    team: &str,
    owner: &str,
    now: &str,
) -> Result<i64, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT count(*) FROM keys WHERE team = $1 AND owner = $2 AND (expires_at IS NULL OR expires_at > $3) \
         AND coalesce(counts_as, id) NOT IN (SELECT id FROM client_sign_ins)",
        (team, owner, now)
    ))
}

/// Whether a key has this id, or one had it that was used.
///
/// # Errors
/// Those of the database.
pub async fn is_known(transaction: &mut Transaction, id: &str) -> Result<bool, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT EXISTS (SELECT 1 FROM keys WHERE id = $1) OR EXISTS (SELECT 1 FROM key_use WHERE key_id = $1)",
        (id)
    ))
}

/// The key of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<StoredKey>, StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_optional,
        AssertSqlSafe(by_id()),
        (id)
    ))
}

/// The key of this id, to be changed or removed.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<LockedRow<StoredKey>>, StoreError> {
    take_turn(transaction).await?;
    let sql = for_update(transaction, &by_id()).await?;
    let key: Option<StoredKey> = fetch!(transaction, query_as.fetch_optional, sql, (id));
    Ok(key.map(LockedRow::new))
}

/// Waits until no console changes keys; until the transaction ends none does. So it comes before keys are read, or counted, to change
/// some: ids that are erased before all, as everywhere, then the row of the feed. Other programs' statements are not waited for.
///
/// # Errors
/// Those of the database.
pub async fn take_turn(transaction: &mut Transaction) -> Result<(), StoreError> {
    Pseudonyms::share(transaction).await?;
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("SELECT 1 FROM key_feed FOR UPDATE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// The limits of those of these keys that have some, by their ids.
///
/// # Errors
/// Those of the database.
pub async fn limits_of(
    transaction: &mut Transaction,
    ids: &[&str],
) -> Result<Vec<(String, String)>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (1..=ids.len()).map(|place| format!("${place}")).collect();
    let sql = format!(
        "SELECT id, limits FROM keys WHERE limits IS NOT NULL AND id IN ({})",
        places.join(", ")
    );
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        [..ids.iter().copied()]
    ))
}

/// The ids of the keys that have these digests, with their digests.
///
/// # Errors
/// Those of the database.
pub async fn with_digests(
    transaction: &mut Transaction,
    digests: &[&str],
) -> Result<Vec<(String, String)>, StoreError> {
    let mut found = Vec::new();
    for part in digests.chunks(500) {
        let places: Vec<String> = (1..=part.len()).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT sha256, id FROM keys WHERE sha256 IN ({})",
            places.join(", ")
        );
        let rows: Vec<(String, String)> = fetch!(
            transaction,
            query_as.fetch_all,
            AssertSqlSafe(sql),
            [..part.iter().copied()]
        );
        found.extend(rows);
    }
    Ok(found)
}

/// The key with this digest.
///
/// # Errors
/// Those of the database.
pub async fn find_by_digest(
    transaction: &mut Transaction,
    sha256: &str,
) -> Result<Option<StoredKey>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM keys WHERE sha256 = $1");
    Ok(fetch!(
        transaction,
        query_as.fetch_optional,
        AssertSqlSafe(sql),
        (sha256)
    ))
}

/// The ids of the keys that count in the counters of this one and have not expired by `now`: its old values.
///
/// # Errors
/// Those of the database.
pub async fn old_values(
    transaction: &mut Transaction,
    id: &str,
    now: &str,
) -> Result<Vec<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        "SELECT id FROM keys WHERE counts_as = $1 AND id <> $1 AND expires_at > $2 ORDER BY id",
        (id, now)
    ))
}

/// Removes the old values of a key that have expired by `now`.
///
/// # Errors
/// Those of the database.
pub async fn remove_expired_values(
    transaction: &mut Transaction,
    id: &str,
    now: &str,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM keys WHERE counts_as = $1 AND id <> $1 AND expires_at <= $2",
        (id, now)
    )
}

/// Removes a key with all of its old values. The transaction has its turn to change keys.
///
/// # Errors
/// Those of the database.
pub async fn remove_with_values(transaction: &mut Transaction, id: &str) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM keys WHERE id = $1 OR counts_as = $1",
        (id)
    )
}

/// Keys of sign-ins of clients that have ended by a moment, and their old values.
pub const OF_ENDED_SIGN_INS: OldRows = OldRows {
    table: "keys",
    key: "sha256",
    condition: "coalesce(counts_as, id) IN (SELECT id FROM client_sign_ins WHERE expires_at <= $1)",
    // The row of the feed, as whoever changes keys takes it.
    lock: Some("UPDATE key_feed SET compacted = compacted"),
};

/// Adds a key.
///
/// # Errors
/// [`StoreError::Rule`]: its id or digest is another key's too, or a field is invalid.
pub async fn insert(transaction: &mut Transaction, key: &StoredKey) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO keys (sha256, id, group_id, owner, team, models, multiplier, max_multiplier, label, expires_at, disabled, limits, \
         created_at, created_by, hint, counts_as, disabled_with, addresses) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        (
            &key.sha256,
            &key.id,
            &key.group_id,
            &key.owner,
            &key.team,
            &key.models,
            &key.multiplier,
            &key.max_multiplier,
            &key.label,
            &key.expires_at,
            key.disabled,
            &key.limits,
            &key.created_at,
            &key.created_by,
            &key.hint,
            &key.counts_as,
            &key.disabled_with,
            &key.addresses
        )
    )
}

/// Gives the other keys that count in the same counters the limits of a key: one budget has one amount.
///
/// # Errors
/// Those of the database.
pub async fn share_limits(
    transaction: &mut Transaction,
    key: &StoredKey,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE keys SET limits = $3 WHERE (id = $1 OR counts_as = $1) AND id <> $2 AND limits IS DISTINCT FROM $3",
        (key.counters(), &key.id, &key.limits)
    )
}

/// Changes what may change of a key: all but its id, whose counters it has, and who made it when.
///
/// # Errors
/// [`StoreError::Rule`]: a field is invalid.
pub async fn update(
    transaction: &mut Transaction,
    before: &LockedRow<StoredKey>,
    key: &StoredKey,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE keys SET sha256 = $1, group_id = $3, owner = $4, team = $5, models = $6, multiplier = $7, max_multiplier = $8, \
         label = $9, expires_at = $10, disabled = $11, limits = $12, hint = $13, disabled_with = $14, addresses = $15 WHERE id = $2",
        (
            &key.sha256,
            &before.id,
            &key.group_id,
            &key.owner,
            &key.team,
            &key.models,
            &key.multiplier,
            &key.max_multiplier,
            &key.label,
            &key.expires_at,
            key.disabled,
            &key.limits,
            &key.hint,
            &key.disabled_with,
            &key.addresses
        )
    )
}

/// Removes a key.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    key: &LockedRow<StoredKey>,
) -> Result<(), StoreError> {
    execute!(transaction, "DELETE FROM keys WHERE id = $1", (&key.id))
}
