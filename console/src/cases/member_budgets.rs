//! Budgets of members: each may spend what the allowance of the team comes to, with all keys that it has and had in it.

use std::collections::BTreeSet;

use trilane::limits::{SubjectKind, member_id, member_parts};

use super::budgets;
use super::problem::ApiProblem;
use crate::allowance::KeyAllowance;
use crate::nearly_spent;
use crate::store::erasures::Pseudonyms;
use crate::store::teams::Team;
use crate::store::{Transaction, memberships, spend_feed};

/// The members that are read at once.
const READ: i64 = 500;

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
    for id in members.iter().filter(|id| !is_erased(id)) {
        if spend_feed::budget(transaction, kind, id).await? != budget {
            changed.push(id.as_str());
        }
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
