//! Who is in which team.

use super::teams::Team;
use super::{StoreError, Transaction, on_either};

/// A person in a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The team's id.
    pub team: String,
    /// The person's id.
    pub person: String,
    /// Whether this person sees what the whole team uses.
    pub manager: bool,
    /// Since when, in microseconds since 1970.
    pub created_at: i64,
}

/// A team, and what a person is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamOfPerson {
    /// The team.
    pub team: Team,
    /// Whether this person sees what the whole team uses.
    pub manager: bool,
}

type TeamMemberRow = (String, String, bool, i64);

fn of((team, person, manager, created_at): TeamMemberRow) -> Membership {
    Membership {
        team,
        person,
        manager,
        created_at,
    }
}

/// Adds a person to a team, or changes what the person is in it.
///
/// # Errors
/// [`StoreError::Rule`]: there is no such team or person.
pub async fn set(transaction: &mut Transaction, membership: &Membership) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query(
            "INSERT INTO memberships (team_id, person_id, manager, created_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (team_id, person_id) DO UPDATE SET manager = excluded.manager",
        )
        .bind(&membership.team)
        .bind(&membership.person)
        .bind(membership.manager)
        .bind(membership.created_at)
        .execute(connection)
        .await?;
    });
    Ok(())
}

/// Takes a person out of a team. False: the person was not in it.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    team: &str,
    person: &str,
) -> Result<bool, StoreError> {
    let removed = on_either!(transaction, connection => {
        sqlx::query("DELETE FROM memberships WHERE team_id = $1 AND person_id = $2")
            .bind(team)
            .bind(person)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(removed > 0)
}

/// What a person is in a team. With `lock`, nobody else counts this person's keys until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    team: &str,
    person: &str,
    lock: bool,
) -> Result<Option<Membership>, StoreError> {
    let find = "SELECT team_id, person_id, manager, created_at FROM memberships WHERE team_id = $1 AND person_id = $2";
    let row: Option<TeamMemberRow> = match transaction {
        // Writers of SQLite take turns.
        Transaction::Sqlite(inner, _) => {
            sqlx::query_as(find)
                .bind(team)
                .bind(person)
                .fetch_optional(&mut **inner)
                .await?
        }
        Transaction::Postgres(inner) => {
            let locking = "SELECT team_id, person_id, manager, created_at FROM memberships \
                           WHERE team_id = $1 AND person_id = $2 FOR UPDATE";
            sqlx::query_as(if lock { locking } else { find })
                .bind(team)
                .bind(person)
                .fetch_optional(&mut **inner)
                .await?
        }
    };
    Ok(row.map(of))
}

/// The members of a team, with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn of_team(
    transaction: &mut Transaction,
    team: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<Membership>, StoreError> {
    let rows: Vec<TeamMemberRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT team_id, person_id, manager, created_at FROM memberships WHERE team_id = $1 AND person_id > $2 \
             ORDER BY person_id LIMIT $3",
        )
        .bind(team)
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?
    });
    Ok(rows.into_iter().map(of).collect())
}

/// The teams that a person is in, with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn of_person(
    transaction: &mut Transaction,
    person: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<TeamOfPerson>, StoreError> {
    type Found = (String, String, Option<String>, i64, bool);
    let rows: Vec<Found> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT id, name, allowance, teams.created_at, manager FROM memberships JOIN teams ON id = team_id \
             WHERE person_id = $1 AND team_id > $2 ORDER BY team_id LIMIT $3",
        )
        .bind(person)
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?
    });
    let of = |(id, name, allowance, created_at, manager)| TeamOfPerson {
        team: Team {
            id,
            name,
            allowance,
            created_at,
        },
        manager,
    };
    Ok(rows.into_iter().map(of).collect())
}
