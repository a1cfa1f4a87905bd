//! The feed of keys, as the database's triggers write it.
//!
//! Versions become visible in their order. SQLite has one writer at a time, whose triggers give them. In PostgreSQL changes get them
//! after they were committed, revocations first, from [`give_versions`]: so nobody waits for a long transaction that changes keys.

use core::time::Duration;

use serde::de::DeserializeOwned;
use sqlx::AssertSqlSafe;
use time::OffsetDateTime;
use trilane::feed::page::KeyChange;
use trilane::keys::AddressList;

use super::audit::{self, Actor};
use super::{Engine, Store, StoreError, Transaction, execute, fetch, on_either};
use crate::feed::{FeedVersions, PageBuilder, PageError, PageRange, PageRequest, is_owner};
use crate::in_transaction;
use crate::secret;

const COLUMNS: &str = "version, sha256, id, group_id, expires_at, disabled, limits, owner, team, models, multiplier, max_multiplier, counts_as, addresses, \
                       owner_addresses";
/// The most addresses and ranges of a key, and of a person.
pub(crate) const MOST_ADDRESSES: usize = AddressList::MAX / 2;
/// The most removals that are forgotten, and changes that get their versions, in one transaction.
const BATCH: i64 = 5000;

/// A change: version, digest, id, group, expiry, disabled, limits, owner, team, models, multiplier, greatest multiplier, counters,
/// addresses, addresses of the owner; a removal has only the first two.
type KeyChangeRow = (
    i64,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<bool>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// The versions of the feed.
///
/// # Errors
/// Those of the database.
pub async fn versions(transaction: &mut Transaction) -> Result<FeedVersions, StoreError> {
    let (feed, head, compacted): (String, i64, i64) = fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT feed, head, compacted FROM key_feed",
        ()
    );
    Ok(FeedVersions {
        feed,
        head: number(head)?,
        compacted: number(compacted)?,
    })
}

/// The version of the latest change of the key with this digest; `None`: it has none yet.
///
/// # Errors
/// Those of the database.
pub async fn version_of(
    transaction: &mut Transaction,
    sha256: &str,
) -> Result<Option<u64>, StoreError> {
    let version: Option<Option<i64>> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT version FROM key_changes WHERE sha256 = $1",
        (sha256)
    );
    version.flatten().map(number).transpose()
}

/// Begins another sequence of versions, after a backup was restored: gateways read all keys anew, instead of what has changed
/// since a version that this database does not know.
///
/// # Errors
/// Those of the database, or the system gives no randomness.
pub async fn begin_anew(store: &Store, now: i64) -> Result<(), StoreError> {
    let feed = secret::new_id().map_err(StoreError::Other)?;
    let actor = Actor {
        id: audit::COMMAND.to_owned(),
        address: String::new(),
    };
    in_transaction!(store, transaction => {
        execute!(transaction, "UPDATE key_feed SET feed = $1", (&feed))?;
        audit::insert(transaction, &actor.entry(now, "database.restored", "")).await
    })
}

/// Gives changes that were committed their versions, a bounded number of them. Whether there may be more.
///
/// # Errors
/// Those of the database; they have none then.
pub async fn give_versions(store: &Store) -> Result<bool, StoreError> {
    if matches!(store.engine, Engine::Sqlite { .. }) {
        return Ok(false);
    }
    let given: Result<i64, StoreError> = in_transaction!(store, transaction => {
        let Transaction::Postgres(inner) = transaction else {
            return Ok(0);
        };
        let given = sqlx::query_scalar("SELECT trilane_give_versions($1)").bind(BATCH);
        Ok(given.fetch_one(&mut **inner).await?)
    });
    Ok(given? >= BATCH)
}

/// A page, as JSON.
///
/// # Errors
/// The reason that there is no page.
pub async fn page(store: &Store, asked: &PageRequest) -> Result<Vec<u8>, PageError> {
    // Changes whose versions cannot be given now come later. All others do not wait for them.
    let _ = give_versions(store).await;
    // One state of the database for all queries.
    let mut transaction = store.read().await?;
    let versions = versions(&mut transaction).await?;
    let range = versions.range(asked.cursor.as_ref())?;
    // One more than fits, so that the page says whether there are more.
    let limit = i64::from(asked.limit).saturating_add(1);
    let mut page = PageBuilder::new(asked);
    if let PageRange::Listing { after, .. } = &range {
        let rows = listing(&mut transaction, after, limit).await?;
        page.fill(rows.into_iter().map(change))?;
    }
    let range = page.after_listing(range);
    if let PageRange::Changes { after } = range {
        let rows = changes(&mut transaction, after, limit).await?;
        page.fill(rows.into_iter().map(change))?;
    }
    transaction.rollback().await;
    Ok(page.finish(&versions, range))
}

async fn listing(
    transaction: &mut Transaction,
    after: &str,
    limit: i64,
) -> Result<Vec<KeyChangeRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM key_changes WHERE sha256 > $1 AND removed_at IS NULL AND version IS NOT NULL \
         ORDER BY sha256 LIMIT $2"
    );
    on_either!(transaction, connection => {
        Ok(sqlx::query_as(AssertSqlSafe(sql))
            .bind(after)
            .bind(limit)
            .fetch_all(connection)
            .await?)
    })
}

async fn changes(
    transaction: &mut Transaction,
    after: u64,
    limit: i64,
) -> Result<Vec<KeyChangeRow>, StoreError> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let sql =
        format!("SELECT {COLUMNS} FROM key_changes WHERE version > $1 ORDER BY version LIMIT $2");
    on_either!(transaction, connection => {
        Ok(sqlx::query_as(AssertSqlSafe(sql))
            .bind(after)
            .bind(limit)
            .fetch_all(connection)
            .await?)
    })
}

/// A change for a page, checked as a gateway does it: that rejects a whole page for one invalid key.
fn change(row: KeyChangeRow) -> Result<KeyChange<'static>, PageError> {
    let (
        version,
        sha256,
        id,
        group,
        expires_at,
        disabled,
        limits,
        owner,
        team,
        own_models,
        multiplier,
        max_multiplier,
        counts_as,
        addresses,
        owner_addresses,
    ) = row;
    let of_any = KeyChange {
        version: Some(number(version)?),
        sha256: Some(sha256.into()),
        ..KeyChange::default()
    };
    let (Some(id), Some(group)) = (id, group) else {
        return Ok(KeyChange {
            removed: Some(true),
            ..of_any
        });
    };
    let models = |names: Vec<String>| Box::new(names.into_iter().map(Into::into).collect());
    let ranges = |list: AddressList| {
        let texts = list.ranges().iter().map(ToString::to_string);
        Box::new(texts.map(Into::into).collect())
    };
    let invalid = |why: String| PageError::Unready(format!("the key {id} is not good: {why}"));
    let change = KeyChange {
        id: Some(id.clone().into()),
        group: Some(group.into()),
        // An invalid owner, written past the rules, is left out.
        owner: owner.filter(|owner| is_owner(owner)).map(Into::into),
        team: team.map(Into::into),
        counts_as: counts_as.map(Into::into),
        models: json(own_models, "models").map_err(invalid)?.map(models),
        multiplier: multiplier.map(Into::into),
        max_multiplier: max_multiplier.map(Into::into),
        addresses: allowed(addresses.as_deref(), owner_addresses.as_deref()).map(ranges),
        expires_at: expires_at.map(Into::into),
        disabled: disabled.filter(|disabled| *disabled),
        limits: json(limits, "limits").map_err(invalid)?,
        ..of_any
    };
    let checked = change.checked();
    checked.map_err(|problems| invalid(problems.to_string()))?;
    Ok(change)
}

/// The addresses that both the key and its owner allow. What cannot be read, written past the rules, allows nothing.
fn allowed(own: Option<&str>, of_owner: Option<&str>) -> Option<AddressList> {
    let read = |text: &str| {
        let texts: Vec<String> = serde_json::from_str(text).unwrap_or_default();
        let ranges = texts.iter().filter_map(|text| text.parse().ok());
        AddressList::new(ranges.take(MOST_ADDRESSES))
    };
    match (own.map(read), of_owner.map(read)) {
        (Some(own), Some(of_owner)) => Some(own.and(&of_owner)),
        (list, None) | (None, list) => list,
    }
}

/// The terms of a key in a column, as a document has them. The database rejects other forms; if that was bypassed, the key must not be
/// served without them.
fn json<T: DeserializeOwned>(column: Option<String>, name: &str) -> Result<Option<T>, String> {
    let read = column.as_deref().map(serde_json::from_str).transpose();
    read.map_err(|_| format!("{name}: are not as in a document"))
}

/// Forgets removals that are older than `age`.
///
/// # Errors
/// Those of the database; some may be forgotten.
pub async fn compact(store: &Store, age: Duration) -> Result<(), StoreError> {
    // A removal that no gateway was told of is not forgotten.
    while give_versions(store).await? {}
    let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
    let before = OffsetDateTime::now_utc()
        .unix_timestamp()
        .saturating_sub(age);
    loop {
        let forgotten: Result<_, StoreError> =
            in_transaction!(store, transaction => forget(transaction, before).await);
        let forgotten = forgotten?;
        if forgotten < usize::try_from(BATCH).unwrap_or(usize::MAX) {
            return Ok(());
        }
    }
}

async fn forget(transaction: &mut Transaction, before: i64) -> Result<usize, StoreError> {
    on_either!(transaction, connection => {
        // The row of the feed first, as whoever changes a key does.
        sqlx::query("UPDATE key_feed SET compacted = compacted")
            .execute(&mut *connection)
            .await?;
        let versions: Vec<i64> = sqlx::query_scalar(
            "DELETE FROM key_changes WHERE version IN (SELECT version FROM key_changes \
             WHERE removed_at IS NOT NULL AND removed_at < $1 ORDER BY removed_at LIMIT $2) RETURNING version",
        )
        .bind(before)
        .bind(BATCH)
        .fetch_all(&mut *connection)
        .await?;
        if let Some(greatest) = versions.iter().max() {
            sqlx::query("UPDATE key_feed SET compacted = $1 WHERE compacted < $1")
                .bind(greatest)
                .execute(connection)
                .await?;
        }
        Ok(versions.len())
    })
}

fn number(version: i64) -> Result<u64, StoreError> {
    u64::try_from(version).map_err(|_| StoreError::Value("a version of the feed".to_owned()))
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Unready(error.to_string())
    }
}
