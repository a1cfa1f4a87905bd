//! Budgets of members: each may spend what the allowance of the team comes to, with all keys that it has and had in it, or what a manager has
//! set within the team's own budget.

use std::collections::BTreeSet;

use trilane::config::Problems;
use trilane::config::document::BudgetDocument;
use trilane::limits::{SubjectKind, Window, member_id, member_parts};
use trilane::money::Amount;

use super::budgets::{self, BudgetBody, BudgetView};
use super::caller::Caller;
use super::erasures;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::teams;
use crate::allowance::KeyAllowance;
use crate::in_transaction;
use crate::nearly_spent;
use crate::store::erasures::Pseudonyms;
use crate::store::teams::Team;
use crate::store::{LockedRow, Transaction, memberships, spend_feed};

/// The members that are read at once.
const READ: i64 = 500;
/// The members whose budgets are read at once.
const PART: usize = 500;

/// Gives a person who joins a team what its allowance comes to. `erased` was read first of all.
pub(super) async fn join(
    transaction: &mut Transaction,
    erased: &Pseudonyms,
    team: &Team,
    person: &str,
    now: i64,
) -> Result<(), ApiProblem> {
    let members = [member_id(person, &team.id)].into();
    give(transaction, erased, team, members, now).await
}

/// Gives all members of a team what its allowance comes to now, and those who have left it too: their keys are still theirs.
pub(super) async fn renew(
    transaction: &mut Transaction,
    erased: &Pseudonyms,
    team: &Team,
    now: i64,
) -> Result<(), ApiProblem> {
    let known = spend_feed::members_with_budgets(transaction, &team.id).await?;
    let mut members: BTreeSet<String> = known.into_iter().collect();
    let mut after = String::new();
    loop {
        let found = memberships::of_team(transaction, &team.id, &after, READ).await?;
        let Some(last) = found.last() else {
            break;
        };
        after.clone_from(&last.person);
        members.extend(found.iter().map(|of| member_id(&of.person, &team.id)));
    }
    give(transaction, erased, team, members, now).await
}

/// A team without an allowance lets nobody make keys, and takes nothing from the keys that were made: what their members may
/// spend stays.
async fn give(
    transaction: &mut Transaction,
    erased: &Pseudonyms,
    team: &Team,
    members: BTreeSet<String>,
    now: i64,
) -> Result<(), ApiProblem> {
    let Some(allowance) = KeyAllowance::stored(team.allowance.as_deref()) else {
        return Ok(());
    };
    let budget = allowance.member_budget();
    let kind = SubjectKind::Member;
    let mut changed = Vec::new();
    let is_erased =
        |id: &str| member_parts(id).is_some_and(|(owner, _)| erased.of(owner).is_some());
    // What is being erased must not come back.
    let members: Vec<&str> = members
        .iter()
        .map(String::as_str)
        .filter(|id| !is_erased(id))
        .collect();
    for part in members.chunks(PART) {
        let known = spend_feed::of_members(transaction, part).await?;
        // What a manager has set stays.
        changed.extend(part.iter().copied().filter(|id| match known.get(*id) {
            Some((has, own)) => !own && *has != budget,
            None => budget.is_set(),
        }));
    }
    if changed.is_empty() {
        return Ok(());
    }
    if budget.is_set() {
        budgets::check_prices(transaction, kind, &changed).await?;
    }
    nearly_spent::renew_each(transaction, kind, &changed, &budget, now).await?;
    // The row of the feed is the last that a transaction locks, but for entries of the audit.
    spend_feed::set_budgets(transaction, kind, &changed, &budget, now).await?;
    Ok(())
}

/// The budget that the allowance of a team comes to for a member; without one, no amounts.
fn of_allowance(team: &Team) -> BudgetDocument {
    let allowance = KeyAllowance::stored(team.allowance.as_deref());
    allowance.map_or_else(BudgetDocument::default, |allowance| {
        allowance.member_budget()
    })
}

/// A team whose member's budget is to be changed, and the id of the member.
async fn find(
    transaction: &mut Transaction,
    team: &str,
    person: &str,
) -> Result<(LockedRow<Team>, String), ApiProblem> {
    let team = teams::find_locked(transaction, team).await?;
    let member = member_id(person, &team.id);
    let is_in = memberships::find(transaction, &team.id, person)
        .await?
        .is_some();
    // Whoever has left may have keys of the team.
    if !is_in
        && !spend_feed::budget(transaction, SubjectKind::Member, &member)
            .await?
            .is_set()
    {
        return Err(ApiProblem::not_found());
    }
    Ok((team, member))
}

/// Sets what a member may spend with all keys of a team, in place of what its allowance comes to: at most the team's own budget. A window
/// that is not given has what the allowance comes to.
pub async fn set(
    state: &ConsoleState,
    caller: &Caller,
    team: &str,
    person: &str,
    new: BudgetBody,
) -> Result<BudgetView, ApiProblem> {
    caller.must(rights::CHANGE_MEMBERS)?;
    teams::sees(caller, team)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let new = budgets::stored(new)?;
    in_transaction!(state.store, transaction => {
        Pseudonyms::read(transaction).await?;
        let (team, member) = find(transaction, team, person).await?;
        erasures::refuse_erased(transaction, "person", person).await?;
        let of_team = spend_feed::budget(transaction, SubjectKind::Team, &team.id).await?;
        let allowed = of_allowance(&team);
        let bound = if caller.may(rights::CHANGE_TEAMS) { BudgetDocument::default() } else { allowed.clone() };
        refuse_more(&new, &of_team, &bound)?;
        let budget = BudgetDocument {
            per_day: new.per_day.clone().or(allowed.per_day),
            per_month: new.per_month.clone().or(allowed.per_month),
            spent: None,
        };
        put(transaction, caller, &member, &budget, true, state.now()).await
    })
}

/// Takes away what a manager has set: a member may spend what the allowance of the team comes to again.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    team: &str,
    person: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_MEMBERS)?;
    teams::sees(caller, team)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        Pseudonyms::read(transaction).await?;
        let (team, member) = find(transaction, team, person).await?;
        let known = spend_feed::of_members(transaction, &[&member]).await?;
        if !known.get(&member).is_some_and(|(_, own)| *own) {
            return Err(ApiProblem::not_found());
        }
        put(transaction, caller, &member, &of_allowance(&team), false, state.now()).await?;
        Ok(())
    })
}

async fn put(
    transaction: &mut Transaction,
    caller: &Caller,
    member: &str,
    budget: &BudgetDocument,
    own: bool,
    now: i64,
) -> Result<BudgetView, ApiProblem> {
    let kind = SubjectKind::Member;
    if budget.is_set() {
        budgets::check_prices(transaction, kind, &[member]).await?;
    }
    budgets::change(transaction, caller, (kind, member), budget, now).await?;
    spend_feed::set_own(transaction, member, own).await?;
    Ok(BudgetView {
        kind,
        id: member.to_owned(),
        budget: budget.clone().into(),
        own,
    })
}

/// Refuses amounts above the team's own budget; where that has none for a window, above another bound.
pub(super) fn refuse_more(
    new: &BudgetDocument,
    of_team: &BudgetDocument,
    bound: &BudgetDocument,
) -> Result<(), ApiProblem> {
    let mut problems = Problems::default();
    for window in Window::ALL {
        let amount = |budget: &BudgetDocument| Amount::parse(budget.of(window)?).ok();
        let Some(wanted) = amount(new) else {
            continue;
        };
        let of_team = amount(of_team);
        let Some(most) = of_team.or_else(|| amount(bound)) else {
            continue;
        };
        if wanted > most {
            let reason = match (window, of_team.is_some()) {
                (Window::Day, true) => t!(
                    "is more than {amount} a day: the team's own budget",
                    amount = most
                ),
                (Window::Month, true) => t!(
                    "is more than {amount} a month: the team's own budget",
                    amount = most
                ),
                (Window::Day, false) => t!(
                    "is more than {amount} a day: what it is now bound to, and the team has no budget of its own",
                    amount = most
                ),
                (Window::Month, false) => t!(
                    "is more than {amount} a month: what it is now bound to, and the team has no budget of its own",
                    amount = most
                ),
            };
            problems.push(format!("per_{}", window.name()), reason);
        }
    }
    ApiProblem::if_any(problems)
}
