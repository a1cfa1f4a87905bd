//! The memberships of people in teams.

use super::people::Person;
use super::teams::Team;
use super::{LockedRow, StoreError, Transaction, execute, fetch};

/// A person in a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The team's id.
    pub team: String,
    /// The person's id.
    pub person: String,
    /// Whether this person manages the team: sees what it uses, changes who is in it, and disables its keys.
    pub manager: bool,
    /// Since when, in microseconds since 1970.
    pub created_at: i64,
    /// The identity provider whose rule gave it; `None`: it was given by hand.
    pub provider: Option<String>,
}

/// A team, and what a person is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamOfPerson {
    /// The team.
    pub team: Team,
    /// Whether this person manages the team: sees what it uses, changes who is in it, and disables its keys.
    pub manager: bool,
}

type TeamMemberRow = (String, String, bool, i64, Option<String>);

fn of((team, person, manager, created_at, provider): TeamMemberRow) -> Membership {
    Membership {
        team,
        person,
        manager,
        created_at,
        provider,
    }
}

/// Adds a person to a team, or changes what the person is in it.
///
/// # Errors
/// [`StoreError::Conflict`]: there is no such person any more.
pub async fn set(
    transaction: &mut Transaction,
    team: &LockedRow<Team>,
    membership: &Membership,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO memberships (team_id, person_id, manager, created_at, provider_id) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (team_id, person_id) DO UPDATE SET manager = excluded.manager, provider_id = excluded.provider_id",
        (
            &team.id,
            &membership.person,
            membership.manager,
            membership.created_at,
            &membership.provider
        )
    )
}

/// Takes a person out of a team.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    team: &LockedRow<Team>,
    person: &str,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM memberships WHERE team_id = $1 AND person_id = $2",
        (&team.id, person)
    )
}

/// Finds the membership of a person in a team.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    team: &str,
    person: &str,
) -> Result<Option<Membership>, StoreError> {
    let row: Option<TeamMemberRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT team_id, person_id, manager, created_at, provider_id FROM memberships WHERE team_id = $1 AND person_id = $2",
        (team, person)
    );
    Ok(row.map(of))
}

/// Whether a person can manage teams. Only members do: others see everything, or may change nothing.
pub fn may_manage(person: &Person) -> bool {
    person.role == "member"
}

/// The ids of the teams that a person manages.
///
/// # Errors
/// Those of the database.
pub async fn managed_by(
    transaction: &mut Transaction,
    person: &Person,
) -> Result<Vec<String>, StoreError> {
    if !may_manage(person) {
        return Ok(Vec::new());
    }
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        "SELECT team_id FROM memberships WHERE person_id = $1 AND manager ORDER BY team_id",
        (&person.id)
    ))
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
    let rows: Vec<TeamMemberRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT team_id, person_id, manager, created_at, provider_id FROM memberships WHERE team_id = $1 AND person_id > $2 \
         ORDER BY person_id LIMIT $3",
        (team, after, limit)
    );
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
    let rows: Vec<Found> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, name, allowance, teams.created_at, manager FROM memberships JOIN teams ON id = team_id \
         WHERE person_id = $1 AND team_id > $2 ORDER BY team_id LIMIT $3",
        (person, after, limit)
    );
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

/// The teams that rules of a provider gave a person.
///
/// # Errors
/// Those of the database.
pub async fn given_by(
    transaction: &mut Transaction,
    provider: &str,
    person: &str,
) -> Result<Vec<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        "SELECT team_id FROM memberships WHERE person_id = $1 AND provider_id = $2 ORDER BY team_id",
        (person, provider)
    ))
}
