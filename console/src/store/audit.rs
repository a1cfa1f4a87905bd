//! The audit log: each change and its author. No entry contains a secret.

use sqlx::AssertSqlSafe;

use super::erasures::Pseudonyms;
use super::{StoreError, Transaction, execute, fetch};

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditEntry {
    /// The time of the change, in microseconds since 1970.
    pub at: i64,
    /// The id of who did it.
    pub actor: String,
    /// From which address.
    pub address: String,
    /// The action: `key.create`.
    pub action: String,
    /// To what: its id.
    pub object: String,
    /// The object before the change, as JSON, if it is recorded.
    pub before: Option<String>,
    /// The object after the change, as JSON, if it is recorded.
    pub after: Option<String>,
}

/// The actor of what the command itself does.
pub const COMMAND: &str = "command";

/// The actor of attempts of whoever could not sign in.
pub const STRANGER: &str = "stranger";

/// Whether an id stands for something else than a person.
pub fn is_reserved(id: &str) -> bool {
    [COMMAND, STRANGER].contains(&id)
}

/// The author of a change, and the address it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The person's id.
    pub id: String,
    /// The address that the request came from; empty for the command itself.
    pub address: String,
}

impl Actor {
    /// An entry of what this one does.
    pub fn entry(&self, now: i64, action: &str, object: &str) -> AuditEntry {
        AuditEntry {
            at: now,
            actor: self.id.clone(),
            address: self.address.clone(),
            action: action.to_owned(),
            object: object.to_owned(),
            before: None,
            after: None,
        }
    }
}

/// Adds an entry, in the transaction of the change.
///
/// # Errors
/// Those of the database, or [`StoreError::Rule`]: the data of whoever changes it was erased meanwhile.
pub async fn insert(transaction: &mut Transaction, entry: &AuditEntry) -> Result<(), StoreError> {
    // A request of theirs that was under way would bring the id back.
    if Pseudonyms::read(transaction)
        .await?
        .of(&entry.actor)
        .is_some()
    {
        let why = "the data of the person who does this was erased";
        return Err(StoreError::Rule(why.to_owned()));
    }
    execute!(
        transaction,
        "INSERT INTO audit (at, actor, address, action, object, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        (
            entry.at,
            &entry.actor,
            &entry.address,
            &entry.action,
            &entry.object,
            &entry.before,
            &entry.after
        )
    )
}

/// The filters of a list of entries.
#[derive(Debug, Default)]
pub struct AuditFilter<'a> {
    /// Of this person only.
    pub actor: Option<&'a str>,
    /// With an action that begins with this.
    pub action: Option<&'a str>,
    /// To this object only.
    pub object: Option<&'a str>,
    /// From this moment on, in microseconds since 1970.
    pub since: Option<i64>,
    /// Before this moment.
    pub until: Option<i64>,
}

/// An entry as the database has it, with its number.
type AuditEntryRow = (
    i64,
    i64,
    String,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
);

const COLUMNS: &str = "id, at, actor, address, action, object, before, after";

fn numbered(row: AuditEntryRow) -> (i64, AuditEntry) {
    let entry = AuditEntry {
        at: row.1,
        actor: row.2,
        address: row.3,
        action: row.4,
        object: row.5,
        before: row.6,
        after: row.7,
    };
    (row.0, entry)
}

/// Entries with numbers above one, in the order of their numbers, each with its number.
///
/// # Errors
/// Those of the database.
pub async fn after(
    transaction: &mut Transaction,
    number: i64,
    limit: i64,
) -> Result<Vec<(i64, AuditEntry)>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE id > $1 ORDER BY id LIMIT $2");
    let rows: Vec<AuditEntryRow> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (number, limit)
    );
    Ok(rows.into_iter().map(numbered).collect())
}

/// Entries with numbers below one that are asked for, the latest first, each with its number.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    asked: &AuditFilter<'_>,
    before: i64,
    limit: i64,
) -> Result<Vec<(i64, AuditEntry)>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM audit WHERE id < $1 \
         AND ($3 IS NULL OR actor = $3) AND ($4 IS NULL OR substr(action, 1, length($4)) = $4) \
         AND ($5 IS NULL OR object = $5) AND at >= $6 AND at < $7 ORDER BY id DESC LIMIT $2"
    );
    let rows: Vec<AuditEntryRow> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (
            before,
            limit,
            asked.actor,
            asked.action,
            asked.object,
            asked.since.unwrap_or(i64::MIN),
            asked.until.unwrap_or(i64::MAX)
        )
    );
    Ok(rows.into_iter().map(numbered).collect())
}
