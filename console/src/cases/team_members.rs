//! The members of a team.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::member_budgets;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::teams;
use crate::in_transaction;
use crate::store::erasures::Pseudonyms;
use crate::store::memberships::{self, Membership};
use crate::store::teams::Team;
use crate::store::{LockedRow, Transaction, audit, people};
use crate::timestamp::moment;

/// A person in a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct TeamMemberView {
    /// The person's id.
    pub(crate) person: String,
    /// Whether this person sees what the whole team uses.
    pub(crate) manager: bool,
    /// Since when.
    pub(crate) created_at: String,
}

/// The membership of a person in a team.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamMemberBody {
    /// Whether this person sees what the whole team uses.
    #[serde(default)]
    pub(crate) manager: bool,
}

impl From<Membership> for TeamMemberView {
    fn from(of: Membership) -> Self {
        Self {
            person: of.person,
            manager: of.manager,
            created_at: moment(of.created_at),
        }
    }
}

fn told(of: &Membership) -> String {
    serde_json::json!({"person": of.person, "manager": of.manager}).to_string()
}

/// The members of a team, in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    page: PageParams,
) -> Result<ItemPage<TeamMemberView>, ApiProblem> {
    caller.must(rights::SEE_TEAMS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let team = teams::find(&mut transaction, id).await?;
    let found = memberships::of_team(&mut transaction, &team.id, &after, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(found, |of| of.person.clone(), TeamMemberView::from))
}

/// Adds a person to a team, or changes what the person is in it. Done again, it changes nothing. With all keys of the team that a
/// member has and had it may spend what the allowance comes to.
pub async fn set(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    person: &str,
    body: TeamMemberBody,
) -> Result<TeamMemberView, ApiProblem> {
    caller.must(rights::CHANGE_TEAMS)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    in_transaction!(state.store, transaction => {
        let erased = Pseudonyms::read(transaction).await?;
        let team = teams::find_locked(transaction, id).await?;
        let known = people::find(transaction, person).await?;
        if known.is_none_or(|person| person.role == "agent") {
            return Err(ApiProblem::invalid("person", "there is no such person"));
        }
        join(transaction, caller, &erased, &team, (person, body.manager), now).await
    })
}

/// Adds a person that there is to a team, or changes what the person is in it.
///
/// # Errors
/// Those of the database.
pub(super) async fn join(
    transaction: &mut Transaction,
    caller: &Caller,
    erased: &Pseudonyms,
    team: &LockedRow<Team>,
    (person, manager): (&str, bool),
    now: i64,
) -> Result<TeamMemberView, ApiProblem> {
    let before = memberships::find(transaction, &team.id, person).await?;
    let after = Membership {
        team: team.id.clone(),
        person: person.to_owned(),
        manager,
        created_at: before.as_ref().map_or(now, |before| before.created_at),
    };
    if before.as_ref() != Some(&after) {
        memberships::set(transaction, team, &after).await?;
        member_budgets::join(transaction, erased, team, person, now).await?;
        let mut entry = caller.actor().entry(now, "team.member", &team.id);
        entry.before = before.as_ref().map(told);
        entry.after = Some(told(&after));
        audit::insert(transaction, &entry).await?;
    }
    Ok(TeamMemberView::from(after))
}

/// Takes a person out of a team. Keys that this person has made stay, and so does what they may spend together.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    person: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_TEAMS)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        let team = teams::find_locked(transaction, id).await?;
        let before = memberships::find(transaction, &team.id, person).await?;
        let before = before.ok_or_else(ApiProblem::not_found)?;
        memberships::remove(transaction, &team, person).await?;
        let mut entry = caller.actor().entry(state.now(), "team.member", &team.id);
        entry.before = Some(told(&before));
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}
