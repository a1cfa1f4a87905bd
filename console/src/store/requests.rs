//! Recent lines of the ledger.

use core::fmt;
use core::sync::atomic::Ordering;

use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Postgres};
use time::{Date, Duration};

use super::old_rows::{Cutoff, OldRows};
use super::sqlite_rows::{self, ROWS};
use super::{Engine, Store, StoreError, Transaction, fetch, on_either};
use crate::in_transaction;

/// The digests of the ids of a line, in the order of `request_ids`; `None` where it has none.
pub type IdDigests = [Option<i64>; 4];

/// A line, and what it is looked for by. Texts are empty where it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredRequest {
    /// The Envoy that wrote it.
    pub envoy_id: String,
    /// The file in which it stands.
    pub file_id: String,
    /// The byte offset of the line in its file.
    pub position: i64,
    /// The time at which the request began, in microseconds since 1970.
    pub at: i64,
    /// The key's id.
    pub key_id: String,
    /// The id of the key's owner.
    pub owner: String,
    /// The team that the key belongs to.
    pub team: String,
    /// The key's group.
    pub group_id: String,
    /// The upstream account that responded, or was asked last.
    pub account: String,
    /// The model.
    pub model: String,
    /// The status of the response; `0`: none was sent.
    pub status: String,
    /// The outcome of the request, in the ledger's words.
    pub outcome: String,
    /// The digests of its ids, by which a line is found; not read back.
    pub ids: IdDigests,
    /// The line.
    pub line: String,
}

/// The lock of PostgreSQL that whoever makes or drops a partition holds.
const LOCK: i64 = 0x0074_7269_6c61_6e66;

/// Makes room for lines that are taken on this day and the next.
///
/// # Errors
/// Those of the database.
pub async fn make_room(store: &Store, today: Date) -> Result<(), StoreError> {
    let Engine::Postgres { room, .. } = &store.engine else {
        return Ok(());
    };
    if room.load(Ordering::Relaxed) == today.to_julian_day() {
        return Ok(());
    }
    let made: Result<(), StoreError> =
        in_transaction!(store, transaction => make_partitions(transaction, today).await);
    made?;
    room.store(today.to_julian_day(), Ordering::Relaxed);
    Ok(())
}

async fn make_partitions(transaction: &mut Transaction, today: Date) -> Result<(), StoreError> {
    let Transaction::Postgres(inner) = transaction else {
        return Ok(());
    };
    lock_partitions(inner).await?;
    let days = [Some(today), today.checked_add(Duration::DAY)];
    for day in days.into_iter().flatten() {
        let name = partition(day);
        let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(&name)
            .fetch_one(&mut **inner)
            .await?;
        if exists {
            continue;
        }
        // Made by itself and then attached: that waits for nobody who reads or writes lines, and nobody waits for it.
        for statement in [
            format!("CREATE TABLE {name} (LIKE requests INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"),
            format!("ALTER TABLE requests ATTACH PARTITION {name} FOR VALUES IN ('{day}')"),
        ] {
            sqlx::query(AssertSqlSafe(statement))
                .execute(&mut **inner)
                .await?;
        }
    }
    Ok(())
}

/// One console after the other makes partitions and drops them.
async fn lock_partitions(
    inner: &mut sqlx::Transaction<'static, Postgres>,
) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut **inner)
        .await?;
    Ok(())
}

/// The name of a day's partition.
fn partition(day: Date) -> String {
    format!("requests_{}", day.to_string().replace('-', "_"))
}

/// Adds lines.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    today: Date,
    lines: &[StoredRequest],
) -> Result<(), StoreError> {
    let day = today.to_string();
    match transaction {
        Transaction::Sqlite(inner, _) => {
            for lines in lines.chunks(ROWS) {
                let sql = format!(
                    "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, team, group_id, account, model, status, outcome, request_digest, response_digest, upstream_digest, session_digest, line) {}",
                    sqlite_rows::values(lines.len(), 18),
                );
                let mut insert = sqlx::query(AssertSqlSafe(sql)).persistent(lines.len() == ROWS);
                for line in lines {
                    insert = insert
                        .bind(&day)
                        .bind(&line.envoy_id)
                        .bind(&line.file_id)
                        .bind(line.position)
                        .bind(line.at)
                        .bind(&line.key_id)
                        .bind(&line.owner)
                        .bind(&line.team)
                        .bind(&line.group_id)
                        .bind(&line.account)
                        .bind(&line.model)
                        .bind(&line.status)
                        .bind(&line.outcome)
                        .bind(line.ids[0])
                        .bind(line.ids[1])
                        .bind(line.ids[2])
                        .bind(line.ids[3])
                        .bind(&line.line);
                }
                insert.execute(&mut **inner).await?;
            }
        }
        Transaction::Postgres(inner) => {
            let texts = |of: fn(&StoredRequest) -> &str| lines.iter().map(of).collect::<Vec<_>>();
            let digests = |of: fn(IdDigests) -> Option<i64>| {
                lines.iter().map(|line| of(line.ids)).collect::<Vec<_>>()
            };
            sqlx::query(
                "INSERT INTO requests (taken_on, envoy_id, file_id, position, at, key_id, owner, team, group_id, account, model, status, outcome, request_digest, response_digest, upstream_digest, session_digest, line) \
                 SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], \
                   $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::text[])",
            )
            .bind(&day)
            .bind(texts(|line| &line.envoy_id))
            .bind(texts(|line| &line.file_id))
            .bind(lines.iter().map(|line| line.position).collect::<Vec<_>>())
            .bind(lines.iter().map(|line| line.at).collect::<Vec<_>>())
            .bind(texts(|line| &line.key_id))
            .bind(texts(|line| &line.owner))
            .bind(texts(|line| &line.team))
            .bind(texts(|line| &line.group_id))
            .bind(texts(|line| &line.account))
            .bind(texts(|line| &line.model))
            .bind(texts(|line| &line.status))
            .bind(texts(|line| &line.outcome))
            .bind(digests(|[id, _, _, _]| id))
            .bind(digests(|[_, id, _, _]| id))
            .bind(digests(|[_, _, id, _]| id))
            .bind(digests(|[_, _, _, id]| id))
            .bind(texts(|line| &line.line))
            .execute(&mut **inner)
            .await?;
        }
    }
    Ok(())
}

/// Takes lines of an Envoy that began in a time out of those that are kept, from the earliest on.
///
/// # Errors
/// Those of the database.
pub async fn take(
    transaction: &mut Transaction,
    envoy: &str,
    (from, to): (i64, i64),
    most: i64,
) -> Result<Vec<StoredRequest>, StoreError> {
    let key = "taken_on, envoy_id, file_id, position";
    let sql = format!(
        "DELETE FROM requests WHERE ({key}) IN \
           (SELECT {key} FROM requests WHERE envoy_id = $1 AND at >= $2 AND at < $3 ORDER BY at, position LIMIT $4) \
         RETURNING {COLUMNS}, line"
    );
    let rows: Vec<RequestColumns> = on_either!(transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(envoy).bind(from).bind(to);
        query.bind(most).fetch_all(connection).await?
    });
    Ok(rows.into_iter().filter_map(wanted).collect())
}

/// The position of a line among all: the time its request began, its offset in the file, its Envoy and its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlace(i64, i64, String, String);

/// The separator between the parts of an id: no name contains it.
const BETWEEN: char = '~';

impl RequestPlace {
    /// The place that an id stands for.
    pub fn parse(id: &str) -> Option<Self> {
        let mut parts = id.splitn(4, BETWEEN);
        let mut number = || parts.next()?.parse::<i64>().ok();
        let (at, position) = (number()?, number()?);
        let (envoy, file) = (parts.next()?, parts.next()?);
        let place = Self(at, position, envoy.to_owned(), file.to_owned());
        // One spelling for each, and nothing that a database would not take.
        (place.to_string() == id && !id.contains('\0')).then_some(place)
    }
}

/// The id of a request.
impl fmt::Display for RequestPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(at, position, envoy, file) = self;
        write!(f, "{at}{BETWEEN}{position}{BETWEEN}{envoy}{BETWEEN}{file}")
    }
}

impl StoredRequest {
    /// Returns its position among all lines.
    pub fn place(&self) -> RequestPlace {
        RequestPlace(
            self.at,
            self.position,
            self.envoy_id.clone(),
            self.file_id.clone(),
        )
    }
}

/// The filters of a query for lines.
#[derive(Debug, Clone, Default)]
pub struct RequestQuery<'a> {
    /// Of this key only.
    pub key: Option<&'a str>,
    /// Of this owner only.
    pub owner: Option<&'a str>,
    /// From this moment on, in microseconds since 1970.
    pub since: Option<i64>,
    /// Before this moment.
    pub until: Option<i64>,
    /// With these values only.
    pub with: Vec<(RequestColumn, &'a str)>,
    /// Before this place.
    pub before: Option<&'a RequestPlace>,
    /// At most so many.
    pub limit: i64,
}

/// The columns without an index that lines can be filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestColumn {
    /// The Envoy that wrote it.
    Envoy,
    /// The key's team.
    Team,
    /// The key's group.
    Group,
    /// The upstream account.
    Account,
    /// The model.
    Model,
    /// The outcome of the request, in the ledger's words.
    Outcome,
    /// The status.
    Status,
    /// The first digit of the status.
    StatusClass,
}

impl RequestColumn {
    fn expression(self) -> &'static str {
        match self {
            Self::Envoy => "envoy_id",
            Self::Team => "team",
            Self::Group => "group_id",
            Self::Account => "account",
            Self::Model => "model",
            Self::Outcome => "outcome",
            Self::Status => "status",
            Self::StatusClass => "substr(status, 1, 1)",
        }
    }
}

/// Lines that were found.
#[derive(Debug)]
pub struct FoundRequests {
    /// The lines, the latest first.
    pub lines: Vec<StoredRequest>,
    /// The position at which the search ended before all lines had been looked at: it continues from there.
    pub searched_to: Option<RequestPlace>,
}

/// The most lines that one query looks at: what has no index is looked for among these.
pub const SEARCHED: i64 = 10_000;

/// The columns of a line, in the order of [`RequestColumns`].
pub(super) const COLUMNS: &str = "envoy_id, file_id, position, at, key_id, owner, team, group_id, account, model, status, outcome";

/// A line, as it is read; without its text where it is not asked for.
pub(super) type RequestColumns = (
    String,
    String,
    i64,
    i64,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    Option<String>,
);

/// The line of a row, if it is one that is asked for.
pub(super) fn wanted(row: RequestColumns) -> Option<StoredRequest> {
    Some(StoredRequest {
        line: row.12?,
        envoy_id: row.0,
        file_id: row.1,
        position: row.2,
        at: row.3,
        key_id: row.4,
        owner: row.5,
        team: row.6,
        group_id: row.7,
        account: row.8,
        model: row.9,
        status: row.10,
        outcome: row.11,
        ids: IdDigests::default(),
    })
}

/// The latest lines, by one query. It walks back in time, over all lines or those of a key or an owner, and looks at
/// [`SEARCHED`] at most, however rare what is asked for is.
///
/// # Errors
/// Those of the database.
pub async fn recent(
    transaction: &mut Transaction,
    asked: &RequestQuery<'_>,
) -> Result<FoundRequests, StoreError> {
    let first = RequestPlace(i64::MAX, 0, String::new(), String::new());
    let before = asked.before.unwrap_or(&first);
    // Only the conditions that are asked for: a database uses no index for one that may be off.
    let mut place = 4_u32;
    let mut next = || {
        place = place.saturating_add(1);
        place
    };
    let mut walked = String::new();
    let of = [("key_id", asked.key), ("owner", asked.owner)];
    for (column, _) in of.iter().filter(|(_, value)| value.is_some()) {
        walked.push_str(&format!(" AND {column} = ${}", next()));
    }
    for (comparison, _) in [("at >=", asked.since), ("at <", asked.until)]
        .iter()
        .filter(|(_, moment)| moment.is_some())
    {
        walked.push_str(&format!(" AND {comparison} ${}", next()));
    }
    let conditions: Vec<String> = asked
        .with
        .iter()
        .map(|(column, _)| format!("{} = ${}", column.expression(), next()))
        .collect();
    // Lines that are not asked for stay where they are.
    let (line, limit) = if conditions.is_empty() {
        ("line".to_owned(), asked.limit)
    } else {
        let of_those = conditions.join(" AND ");
        (
            format!("CASE WHEN {of_those} THEN line END AS line"),
            SEARCHED,
        )
    };
    let sql = format!(
        "SELECT {COLUMNS}, {line} FROM requests WHERE (at, position, envoy_id, file_id) < ($1, $2, $3, $4){walked} \
         ORDER BY at DESC, position DESC, envoy_id DESC, file_id DESC LIMIT {limit}",
    );
    let most = usize::try_from(asked.limit).unwrap_or_default();
    let (lines, seen, last) = on_either!(transaction, connection => {
        let mut query = sqlx::query_as::<_, RequestColumns>(AssertSqlSafe(sql));
        query = query.bind(before.0).bind(before.1).bind(&before.2).bind(&before.3);
        for value in of.iter().filter_map(|(_, value)| *value) {
            query = query.bind(value);
        }
        for moment in [asked.since, asked.until].into_iter().flatten() {
            query = query.bind(moment);
        }
        for (_, value) in &asked.with {
            query = query.bind(*value);
        }
        let mut rows = query.fetch(connection);
        let mut lines = Vec::new();
        let (mut seen, mut last) = (0_i64, None);
        while lines.len() < most {
            let Some(row) = rows.try_next().await? else {
                break;
            };
            seen = seen.saturating_add(1);
            last = Some(RequestPlace(row.3, row.2, row.0.clone(), row.1.clone()));
            lines.extend(wanted(row));
        }
        (lines, seen, last)
    });
    let is_cut = !conditions.is_empty() && lines.len() < most && seen == SEARCHED;
    Ok(FoundRequests {
        lines,
        searched_to: last.filter(|_| is_cut),
    })
}

/// The line at a place.
///
/// # Errors
/// Those of the database.
pub async fn at(
    transaction: &mut Transaction,
    place: &RequestPlace,
) -> Result<Option<StoredRequest>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, line FROM requests WHERE at = $1 AND position = $2 AND envoy_id = $3 AND file_id = $4 LIMIT 1"
    );
    let row: Option<RequestColumns> = fetch!(
        transaction,
        query_as.fetch_optional,
        AssertSqlSafe(sql),
        (place.0, place.1, &place.2, &place.3)
    );
    Ok(row.and_then(wanted))
}

/// In SQLite: lines that were taken before a day.
const OLD: OldRows = OldRows {
    table: "requests",
    key: "rowid",
    condition: "taken_on < $1",
    lock: None,
};

/// The longest wait for a partition that is in use. Other transactions wait behind it meanwhile, the intake too.
const WAIT: &str = "SET LOCAL lock_timeout = '200ms'";

/// Forgets the lines that were taken before a day. Sums stay.
///
/// # Errors
/// Those of the database; some may be forgotten. [`StoreError::Conflict`]: somebody goes on reading what is to go.
pub async fn forget(store: &Store, before: Date) -> Result<(), StoreError> {
    if let Engine::Sqlite { .. } = &store.engine {
        OLD.delete(store, &Cutoff::Period(before.to_string()))
            .await?;
        return Ok(());
    }
    for name in partitions(store, &partition(before)).await? {
        let dropped: Result<(), StoreError> =
            in_transaction!(store, transaction => drop_partition(transaction, &name).await);
        dropped?;
    }
    Ok(())
}

/// The partitions of days before that of a name, the oldest first.
async fn partitions(store: &Store, before: &str) -> Result<Vec<String>, StoreError> {
    let mut transaction = store.read().await?;
    let names = match &mut transaction {
        Transaction::Sqlite(..) => Vec::new(),
        Transaction::Postgres(inner) => {
            sqlx::query_scalar(
                "SELECT relid::text FROM pg_partition_tree('requests') WHERE isleaf AND relid::text < $1 COLLATE \"C\" \
                 ORDER BY relid::text COLLATE \"C\"",
            )
            .bind(before)
            .fetch_all(&mut **inner)
            .await?
        }
    };
    transaction.rollback().await;
    Ok(names)
}

async fn drop_partition(transaction: &mut Transaction, name: &str) -> Result<(), StoreError> {
    let Transaction::Postgres(inner) = transaction else {
        return Ok(());
    };
    lock_partitions(inner).await?;
    sqlx::query(WAIT).execute(&mut **inner).await?;
    // Another console may have dropped it.
    let drop = format!("DROP TABLE IF EXISTS {name}");
    sqlx::query(AssertSqlSafe(drop))
        .execute(&mut **inner)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let place = RequestPlace(-5, 17, "edge-1".to_owned(), "a.b:c".to_owned());
        assert_eq!(place.to_string(), "-5~17~edge-1~a.b:c");
        for (id, want) in [
            ("-5~17~edge-1~a.b:c", Some(place)),
            ("+5~17~edge-1~a", None),
            ("5~17~edge-1", None),
            ("5~x~e~f", None),
            ("5~1~e~\0", None),
            ("", None),
        ] {
            assert_eq!(RequestPlace::parse(id), want, "{id:?}");
        }
    }
}
