//! Teams, and what each lets its members do.

use super::locked_row::{LockedRow, for_update};
use super::{StoreError, Transaction, on_either};

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

/// Adds a team.
///
/// # Errors
/// [`StoreError::Rule`]: the id is another team's too.
pub async fn insert(transaction: &mut Transaction, team: &Team) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("INSERT INTO teams (id, name, allowance, created_at) VALUES ($1, $2, $3, $4)")
            .bind(&team.id)
            .bind(&team.name)
            .bind(&team.allowance)
            .bind(team.created_at)
            .execute(connection)
            .await?;
    });
    Ok(())
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
    on_either!(transaction, connection => {
        sqlx::query("UPDATE teams SET name = $2, allowance = $3 WHERE id = $1")
            .bind(&before.id)
            .bind(&team.name)
            .bind(&team.allowance)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Removes a team with its memberships.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    team: &LockedRow<Team>,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("DELETE FROM teams WHERE id = $1")
            .bind(&team.id)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// The team of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Option<Team>, StoreError> {
    let row: Option<TeamRow> = on_either!(transaction, connection => {
        sqlx::query_as(BY_ID).bind(id).fetch_optional(connection).await?
    });
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
    let row: Option<TeamRow> = on_either!(transaction, connection => {
        sqlx::query_as(sql).bind(id).fetch_optional(connection).await?
    });
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
    let rows: Vec<TeamRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT id, name, allowance, created_at FROM teams WHERE id > $1 ORDER BY id LIMIT $2",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?
    });
    Ok(rows.into_iter().map(of).collect())
}
