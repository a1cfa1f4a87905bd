//! The Envoys whose agents are known: how they enrol, and what they said last.

use sqlx::AssertSqlSafe;

use super::locked_row::{LockedRow, for_update};
use super::{StoreError, Transaction, execute, fetch, on_either};

/// An Envoy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envoy {
    /// The id of the Envoy, which is that of the person that its agent is.
    pub id: String,
    /// The name of that person.
    pub name: String,
    /// Whether its agent may do nothing any more.
    pub disabled: bool,
    /// Until when an enrolment token is good, in microseconds since 1970; `None`: there is none.
    pub enrol_until: Option<i64>,
    /// The time at which the agent enrolled, in microseconds since 1970.
    pub enrolled_at: Option<i64>,
    /// The digest of its agent's own credential.
    pub credential: Option<String>,
    /// Whether that may have credentials of accounts.
    pub approved: bool,
    /// The name of the enrolment secret by which its agent enrolled.
    pub enrolled_by: Option<String>,
    /// The latest report of its agent, as JSON.
    pub report: Option<String>,
    /// The time of that report, in microseconds since 1970.
    pub seen_at: Option<i64>,
    /// The offset of the agent's clock at that time, in milliseconds; positive: it was ahead.
    pub clock_offset: Option<i64>,
    /// The time at which the Envoy was added, in microseconds since 1970.
    pub created_at: i64,
}

type EnrolledEnvoyRow = (
    String,
    String,
    bool,
    Option<i64>,
    Option<i64>,
    Option<String>,
    Option<i64>,
    Option<i64>,
    i64,
    Option<String>,
    Option<String>,
    Option<String>,
);

fn of(row: EnrolledEnvoyRow) -> Envoy {
    Envoy {
        id: row.0,
        name: row.1,
        disabled: row.2,
        enrol_until: row.3,
        enrolled_at: row.4,
        report: row.5,
        seen_at: row.6,
        clock_offset: row.7,
        created_at: row.8,
        approved: row.9.is_some() && row.9 == row.10,
        credential: row.10,
        enrolled_by: row.11,
    }
}

/// The columns of an Envoy. An agent has one credential at a time.
const COLUMNS: &str = "envoys.id, name, disabled, enrol_until, enrolled_at, report, seen_at, clock_offset, envoys.created_at, \
    approved, (SELECT MAX(digest) FROM api_tokens WHERE person_id = envoys.id), enrolled_by \
    FROM envoys JOIN people ON people.id = envoys.id";

/// Adds an Envoy, for the person of this id.
///
/// # Errors
/// Those of the database.
pub async fn insert(transaction: &mut Transaction, id: &str, now: i64) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO envoys (id, created_at) VALUES ($1, $2)",
        (id, now)
    )
}

/// Lets the agent of an Envoy enrol with the token of this digest, until then; with none it can no longer.
///
/// # Errors
/// Those of the database.
pub async fn set_enrolment(
    transaction: &mut Transaction,
    envoy: &LockedRow<Envoy>,
    enrolment: Option<(&str, i64)>,
) -> Result<(), StoreError> {
    let (digest, until) = enrolment.unzip();
    execute!(
        transaction,
        "UPDATE envoys SET enrolment = $2, enrol_until = $3 WHERE id = $1",
        (&envoy.id, digest, until)
    )
}

/// Uses up the enrolment token of this digest. The id of its Envoy; `None`: no such token is good.
///
/// # Errors
/// Those of the database.
pub async fn enrol(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "UPDATE envoys SET enrolment = NULL, enrol_until = NULL, enrolled_at = $2 \
         WHERE enrolment = $1 AND enrol_until > $2 RETURNING id",
        (digest, now)
    ))
}

/// Notes that the agent of an Envoy has enrolled by a secret of this name.
///
/// # Errors
/// Those of the database.
pub async fn set_enrolled_by(
    transaction: &mut Transaction,
    id: &str,
    secret: &str,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE envoys SET enrolment = NULL, enrol_until = NULL, enrolled_at = $3, enrolled_by = $2 WHERE id = $1",
        (id, secret, now)
    )
}

/// Lets whoever has the credential of this digest, and nobody else, have the credentials of accounts of an Envoy.
///
/// # Errors
/// Those of the database.
pub async fn approve(
    transaction: &mut Transaction,
    id: &str,
    digest: &str,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE envoys SET approved = $2 WHERE id = $1",
        (id, digest)
    )
}

/// The Envoys whose agents have enrolled and wait for an approval.
///
/// # Errors
/// Those of the database.
pub async fn waiting(transaction: &mut Transaction) -> Result<Vec<Envoy>, StoreError> {
    let rows: Vec<EnrolledEnvoyRow> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(format!(
            "SELECT {COLUMNS} WHERE NOT disabled AND EXISTS (SELECT 1 FROM api_tokens \
             WHERE person_id = envoys.id AND (approved IS NULL OR approved <> digest)) ORDER BY enrolled_at, envoys.id"
        )),
        ()
    );
    Ok(rows.into_iter().map(of).collect())
}

/// The rights of an agent's credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAccess {
    /// The digest of the credential.
    pub digest: String,
    /// Whether it may have credentials of accounts.
    pub approved: bool,
    /// Whether it has read them before.
    pub has_read: bool,
}

/// Finds the rights of the credential of an Envoy's agent with this id. `None`: it is none of an Envoy's agent.
///
/// # Errors
/// Those of the database.
pub async fn access(
    transaction: &mut Transaction,
    id: &str,
    token: &str,
) -> Result<Option<AgentAccess>, StoreError> {
    let row: Option<(String, Option<String>, Option<String>)> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT digest, approved, has_read FROM envoys JOIN api_tokens ON person_id = envoys.id \
         WHERE envoys.id = $1 AND api_tokens.id = $2",
        (id, token)
    );
    Ok(row.map(|(digest, approved, has_read)| AgentAccess {
        approved: approved.as_ref() == Some(&digest),
        has_read: has_read.as_ref() == Some(&digest),
        digest,
    }))
}

/// Notes that the credential of this digest has read credentials of accounts. False: that was noted before.
///
/// # Errors
/// Those of the database.
pub async fn note_read(
    transaction: &mut Transaction,
    id: &str,
    digest: &str,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE envoys SET has_read = $2 WHERE id = $1 AND (has_read IS NULL OR has_read <> $2)")
            .bind(id)
            .bind(digest)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(changed > 0)
}

/// Notes what an agent says of its Envoy, and how far its clock is ahead, in milliseconds. False: there is no such Envoy.
///
/// # Errors
/// Those of the database.
pub async fn note_report(
    transaction: &mut Transaction,
    id: &str,
    report: &str,
    clock_offset: Option<i64>,
    now: i64,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE envoys SET report = $2, clock_offset = $3, seen_at = $4 WHERE id = $1")
            .bind(id)
            .bind(report)
            .bind(clock_offset)
            .bind(now)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(changed > 0)
}

/// The Envoy of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Option<Envoy>, StoreError> {
    let row: Option<EnrolledEnvoyRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        AssertSqlSafe(format!("SELECT {COLUMNS} WHERE envoys.id = $1")),
        (id)
    );
    Ok(row.map(of))
}

/// The Envoy of this id, to be changed, with the person that its agent is.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<LockedRow<Envoy>>, StoreError> {
    let sql = for_update(
        transaction,
        &format!("SELECT {COLUMNS} WHERE envoys.id = $1"),
    )
    .await?;
    let row: Option<EnrolledEnvoyRow> = fetch!(transaction, query_as.fetch_optional, sql, (id));
    Ok(row.map(of).map(LockedRow::new))
}

/// Envoys with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    after: &str,
    limit: i64,
) -> Result<Vec<Envoy>, StoreError> {
    let rows: Vec<EnrolledEnvoyRow> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(format!(
            "SELECT {COLUMNS} WHERE envoys.id > $1 ORDER BY envoys.id LIMIT $2"
        )),
        (after, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// The id and name of each Envoy that was heard of last between two moments, and when that was, in microseconds since 1970:
/// without those that were revoked. A thousand at most.
///
/// # Errors
/// Those of the database.
pub async fn seen_between(
    transaction: &mut Transaction,
    (from, to): (i64, i64),
) -> Result<Vec<(String, String, i64)>, StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT envoys.id, name, seen_at FROM envoys JOIN people ON people.id = envoys.id \
         WHERE enrolled_at IS NOT NULL AND NOT disabled AND seen_at > $1 AND seen_at < $2 ORDER BY envoys.id LIMIT 1000",
        (from, to)
    ))
}

/// Reads the clock offset of an Envoy at its agent's latest report, in milliseconds; `None`: it is not known.
///
/// # Errors
/// Those of the database.
pub async fn clock_offset(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<i64>, StoreError> {
    let found: Option<Option<i64>> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT clock_offset FROM envoys WHERE id = $1",
        (id)
    );
    Ok(found.flatten())
}

/// Lists the reports since a moment, of each Envoy that was not revoked.
///
/// # Errors
/// Those of the database.
pub async fn reports_since(
    transaction: &mut Transaction,
    since: i64,
) -> Result<Vec<Option<String>>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        "SELECT report FROM envoys JOIN people ON people.id = envoys.id WHERE NOT disabled AND seen_at > $1",
        (since)
    ))
}

/// Reads the latest report of each Envoy whose agent has enrolled and was not revoked.
///
/// # Errors
/// Those of the database.
pub async fn reports(transaction: &mut Transaction) -> Result<Vec<Option<String>>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        "SELECT report FROM envoys JOIN people ON people.id = envoys.id \
         WHERE enrolled_at IS NOT NULL AND NOT disabled",
        ()
    ))
}
