//! The members of a team.

use serde::{Deserialize, Serialize};
use trilane::limits::member_id;
use utoipa::ToSchema;

use super::budgets::BudgetBody;
use super::caller::Caller;
use super::member_budgets;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::teams;
use crate::in_transaction;
use crate::store::audit::{self, Actor};
use crate::store::erasures::Pseudonyms;
use crate::store::memberships::{self, Membership};
use crate::store::teams::Team;
use crate::store::{LockedRow, Transaction, people, spend_feed};
use crate::timestamp::moment;

/// A person in a team.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct TeamMemberView {
    /// The person's id.
    pub(crate) person: String,
    /// Whether this person manages the team: sees what it uses, changes who is in it, and disables its keys.
    pub(crate) manager: bool,
    /// Since when.
    pub(crate) created_at: String,
    /// The amounts that this person may spend with all keys of the team; in lists, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<BudgetBody>,
    /// Whether a manager has set them: else they follow from the allowance of the team.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub(crate) own_budget: bool,
    /// The identity provider whose rule gave it and takes it again; missing where it was given by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<String>,
}

/// The membership of a person in a team.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamMemberBody {
    /// Whether this person manages the team: sees what it uses, changes who is in it, and disables its keys.
    #[serde(default)]
    pub(crate) manager: bool,
}

impl From<Membership> for TeamMemberView {
    fn from(of: Membership) -> Self {
        Self {
            person: of.person,
            manager: of.manager,
            created_at: moment(of.created_at),
            budget: None,
            own_budget: false,
            provider: of.provider,
        }
    }
}

fn told(of: &Membership) -> String {
    serde_json::json!({"person": of.person, "manager": of.manager}).to_string()
}

/// The members of a team, in the order of their ids. A manager sees those of its own.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    page: PageParams,
) -> Result<ItemPage<TeamMemberView>, ApiProblem> {
    caller.must(rights::SEE_TEAM)?;
    teams::sees(caller, id)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let team = teams::find(&mut transaction, id).await?;
    let found = memberships::of_team(&mut transaction, &team.id, &after, limit.to_fetch()).await?;
    let mut page = limit.page(found, |of| of.person.clone(), TeamMemberView::from);
    let ids = page.items.iter().map(|of| member_id(&of.person, &team.id));
    let ids: Vec<String> = ids.collect();
    let read: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut budgets = spend_feed::of_members(&mut transaction, &read).await?;
    transaction.rollback().await;
    for (member, id) in page.items.iter_mut().zip(&ids) {
        if let Some((budget, own)) = budgets.remove(id) {
            member.budget = Some(budget.into());
            member.own_budget = own;
        }
    }
    Ok(page)
}

/// One member of a team, or whoever has left it and has a budget in it. A manager sees those of its own.
///
/// # Errors
/// There is no such member.
pub(crate) async fn get(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    person: &str,
) -> Result<TeamMemberView, ApiProblem> {
    caller.must(rights::SEE_TEAM)?;
    teams::sees(caller, id)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let team = teams::find(&mut transaction, id).await?;
    let found = memberships::find(&mut transaction, &team.id, person).await?;
    let member = member_id(person, &team.id);
    let mut budgets = spend_feed::of_members(&mut transaction, &[&member]).await?;
    transaction.rollback().await;
    let budget = budgets.remove(&member);
    if found.is_none() && budget.is_none() {
        return Err(ApiProblem::not_found());
    }
    let mut view = found.map_or_else(TeamMemberView::default, TeamMemberView::from);
    person.clone_into(&mut view.person);
    if let Some((budget, own)) = budget {
        view.budget = Some(budget.into());
        view.own_budget = own;
    }
    Ok(view)
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
    caller.must(rights::CHANGE_MEMBERS)?;
    teams::sees(caller, id)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    in_transaction!(state.store, transaction => {
        let erased = Pseudonyms::read(transaction).await?;
        let team = teams::find_locked(transaction, id).await?;
        let known = people::find(transaction, person).await?;
        if known.is_none_or(|person| person.role == "agent") {
            return Err(ApiProblem::invalid("person", text!("there is no such person")));
        }
        let before = memberships::find(transaction, &team.id, person).await?;
        if !caller.may(rights::CHANGE_TEAMS) && (body.manager || before.is_some_and(|before| before.manager)) {
            return Err(ApiProblem::forbidden(text!("an admin says who manages a team")));
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
        provider: None,
    };
    if before.as_ref() != Some(&after) {
        put(
            transaction,
            &caller.actor(),
            erased,
            team,
            before.as_ref(),
            &after,
            now,
        )
        .await?;
    }
    Ok(TeamMemberView::from(after))
}

/// Puts a membership in the place of another one, or of none.
///
/// # Errors
/// Those of the database.
pub(super) async fn put(
    transaction: &mut Transaction,
    actor: &Actor,
    erased: &Pseudonyms,
    team: &LockedRow<Team>,
    before: Option<&Membership>,
    after: &Membership,
    now: i64,
) -> Result<(), ApiProblem> {
    memberships::set(transaction, team, after).await?;
    member_budgets::join(transaction, erased, team, &after.person, now).await?;
    let mut entry = actor.entry(now, "team.member", &team.id);
    entry.before = before.map(told);
    entry.after = Some(told(after));
    audit::insert(transaction, &entry).await?;
    Ok(())
}

/// Takes a membership away.
///
/// # Errors
/// Those of the database.
pub(super) async fn take(
    transaction: &mut Transaction,
    actor: &Actor,
    team: &LockedRow<Team>,
    before: &Membership,
    now: i64,
) -> Result<(), ApiProblem> {
    memberships::remove(transaction, team, &before.person).await?;
    let mut entry = actor.entry(now, "team.member", &team.id);
    entry.before = Some(told(before));
    audit::insert(transaction, &entry).await?;
    Ok(())
}

/// Takes a person out of a team. Keys that this person has made stay, and so does what they may spend together.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    person: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_MEMBERS)?;
    teams::sees(caller, id)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        let team = teams::find_locked(transaction, id).await?;
        let before = memberships::find(transaction, &team.id, person).await?;
        let before = before.ok_or_else(ApiProblem::not_found)?;
        if before.manager && !caller.may(rights::CHANGE_TEAMS) {
            return Err(ApiProblem::forbidden(text!("an admin says who manages a team")));
        }
        take(transaction, &caller.actor(), &team, &before, state.now()).await
    })
}
