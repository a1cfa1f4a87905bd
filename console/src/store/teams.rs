//! Teams, and what each lets its members do.

use super::locked_row::{LockedRow, for_update};
use super::{StoreError, Transaction, execute, fetch};

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// The id, which keys name as their `team`.
    pub id: String,
    /// The name.
    pub name: String,
    /// The keys that members may create without an admin, a JSON object; `None`: none.
    pub allowance: Option<String>,
    /// The time at which the team was added, in microseconds since 1970.
    pub created_at: i64,
}

type TeamRow = (String, String, Option<String>, i64);

fn of((id, name, allowance, created_at): TeamRow) -> Team {
    Team {
        id,
        name,
        allowance,
        created_at,
    }
}

const BY_ID: &str = "SELECT id, name, allowance, created_at FROM teams WHERE id = $1";

/// Whether a team has this id, or keys or a budget name it.
///
/// # Errors
/// Those of the database.
pub async fn is_known(transaction: &mut Transaction, id: &str) -> Result<bool, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT EXISTS (SELECT 1 FROM teams WHERE id = $1) OR EXISTS (SELECT 1 FROM keys WHERE team = $1) \
         OR EXISTS (SELECT 1 FROM spend_subjects WHERE kind = 'team' AND subject = $1)",
        (id)
    ))
}

/// Adds a team.
///
/// # Errors
/// [`StoreError::Rule`]: the id is another team's too.
pub async fn insert(transaction: &mut Transaction, team: &Team) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO teams (id, name, allowance, created_at) VALUES ($1, $2, $3, $4)",
        (&team.id, &team.name, &team.allowance, team.created_at)
    )
}

/// Changes name and allowance.
///
/// # Errors
/// Those of the database.
pub async fn update(
    transaction: &mut Transaction,
    before: &LockedRow<Team>,
    team: &Team,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE teams SET name = $2, allowance = $3 WHERE id = $1",
        (&before.id, &team.name, &team.allowance)
    )
}

/// Removes a team with its memberships.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    team: &LockedRow<Team>,
) -> Result<(), StoreError> {
    execute!(transaction, "DELETE FROM teams WHERE id = $1", (&team.id))
}

/// The team of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Option<Team>, StoreError> {
    let row: Option<TeamRow> = fetch!(transaction, query_as.fetch_optional, BY_ID, (id));
    Ok(row.map(of))
}

/// The team of this id, to be changed or removed, or to get and lose members.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<LockedRow<Team>>, StoreError> {
    let sql = for_update(transaction, BY_ID).await?;
    let row: Option<TeamRow> = fetch!(transaction, query_as.fetch_optional, sql, (id));
    Ok(row.map(of).map(LockedRow::new))
}

/// Teams with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    after: &str,
    limit: i64,
) -> Result<Vec<Team>, StoreError> {
    let rows: Vec<TeamRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, name, allowance, created_at FROM teams WHERE id > $1 ORDER BY id LIMIT $2",
        (after, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}
