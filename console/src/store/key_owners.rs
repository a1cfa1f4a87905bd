//! The owners and teams that there are: people and teams, and what keys name.

use sqlx::AssertSqlSafe;
use trilane::limits::SubjectKind;

use super::{StoreError, Transaction, fetch};

/// Whether a person or a team has this id, or a key names it as its owner or its team.
///
/// # Errors
/// Those of the database.
pub async fn is_known(
    transaction: &mut Transaction,
    kind: SubjectKind,
    id: &str,
) -> Result<bool, StoreError> {
    let (there, column) = match kind {
        SubjectKind::Team => ("FROM teams WHERE id = $1", "team"),
        _ => ("FROM people WHERE id = $1 AND role <> 'agent'", "owner"),
    };
    let sql = format!(
        "SELECT EXISTS (SELECT 1 {there}) OR EXISTS (SELECT 1 FROM keys WHERE {column} = $1)"
    );
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        AssertSqlSafe(sql),
        (id)
    ))
}

/// An owner or a team to choose: the id, and the name.
pub type OwnerChoice = (String, String);

/// The people, or the teams, whose id or name has a text in it, whatever the case of ASCII letters, in the order of their ids.
///
/// # Errors
/// Those of the database.
pub async fn choices(
    transaction: &mut Transaction,
    kind: SubjectKind,
    text: &str,
    limit: i64,
) -> Result<Vec<OwnerChoice>, StoreError> {
    let table = match kind {
        SubjectKind::Team => "teams WHERE TRUE",
        _ => "people WHERE role <> 'agent' AND NOT disabled",
    };
    let (place, collation) = match transaction {
        Transaction::Sqlite(..) => ("instr", ""),
        Transaction::Postgres(_) => ("strpos", " COLLATE \"C\""),
    };
    let has = |column: &str| format!("{place}(lower({column}{collation}), $1) > 0");
    let sql = format!(
        "SELECT id, name FROM {table} AND ($1 = '' OR {} OR {}) ORDER BY id LIMIT $2",
        has("id"),
        has("name")
    );
    Ok(fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        (text.to_ascii_lowercase(), limit)
    ))
}
