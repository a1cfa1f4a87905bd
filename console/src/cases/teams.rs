//! Teams: keys name one, budgets may be one's, and its members may make keys of it by themselves as far as it lets them.

use serde::{Deserialize, Serialize};
use trilane::config::Problems;
use utoipa::ToSchema;

use super::caller::Caller;
use super::fields;
use super::member_budgets;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::readable_ids;
use super::rights;
use super::state::ConsoleState;
use crate::allowance::KeyAllowance;
use crate::in_transaction;
use crate::store::erasures::Pseudonyms;
use crate::store::teams::{self, Team};
use crate::store::{LockedRow, Transaction, audit, keys};
use crate::timestamp::moment;

/// A team.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TeamView {
    /// The id, which keys name as their `team`.
    pub(crate) id: String,
    /// The name.
    pub(crate) name: String,
    /// The keys that members may create without an admin; missing: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowance: Option<KeyAllowance>,
    /// Since when.
    pub(crate) created_at: String,
}

/// A team to be added.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTeamBody {
    /// The id, which keys name as their `team`; unless it is given, one of the name.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) id: Option<String>,
    /// The name; the id unless it is given. One of both is.
    #[schema(max_length = 128)]
    pub(crate) name: Option<String>,
    /// The keys that members may create without an admin; missing: none.
    pub(crate) allowance: Option<KeyAllowance>,
}

/// The changes to a team: absent fields stay.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamChangeBody {
    /// Another name.
    #[schema(max_length = 128)]
    pub(crate) name: Option<String>,
    /// The keys that members may create without an admin, replaced as a whole; `null`: none. Existing keys stay as they are.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<KeyAllowance>)]
    pub(crate) allowance: Option<Option<KeyAllowance>>,
}

impl From<Team> for TeamView {
    fn from(team: Team) -> Self {
        Self {
            allowance: KeyAllowance::stored(team.allowance.as_deref()),
            id: team.id,
            name: team.name,
            created_at: moment(team.created_at),
        }
    }
}

fn told(team: &Team) -> String {
    serde_json::to_string(&TeamView::from(team.clone())).unwrap_or_default()
}

/// Whether this is the id of a team, as keys may name it.
fn is_id(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_sign)
}

fn check(name: &str, allowance: Option<&KeyAllowance>) -> Result<(), ApiProblem> {
    let mut problems = Problems::default();
    if !name.is_empty() && !fields::is_name(name) {
        problems.push(
            "name",
            text!("must be at most 128 bytes without control characters"),
        );
    }
    let Problems(found) = allowance.map(KeyAllowance::problems).unwrap_or_default();
    for problem in found {
        problems.push(format!("allowance.{}", problem.path), problem.reason);
    }
    ApiProblem::if_any(problems)
}

fn written(allowance: &KeyAllowance) -> String {
    let limits = allowance.limits.clone().map(fields::without_signs);
    let allowance = KeyAllowance {
        limits,
        ..allowance.clone()
    };
    // Texts and numbers, into memory: it cannot fail.
    serde_json::to_string(&allowance).unwrap_or_default()
}

/// The team of this id.
///
/// # Errors
/// There is no such team.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Team, ApiProblem> {
    if !is_id(id) {
        return Err(ApiProblem::not_found());
    }
    let team = teams::find(transaction, id).await?;
    team.ok_or_else(ApiProblem::not_found)
}

/// The team of this id, to be changed or removed, or to get and lose members.
///
/// # Errors
/// There is no such team.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<LockedRow<Team>, ApiProblem> {
    if !is_id(id) {
        return Err(ApiProblem::not_found());
    }
    let team = teams::find_locked(transaction, id).await?;
    team.ok_or_else(ApiProblem::not_found)
}

/// Teams in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<TeamView>, ApiProblem> {
    caller.must(rights::SEE_TEAMS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let found = teams::list(&mut transaction, &after, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(found, |team| team.id.clone(), TeamView::from))
}

/// Lets a caller pass who sees this team: all teams, or one that it manages.
///
/// # Errors
/// 404: it does not.
pub(super) fn sees(caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    match caller.only_owner_in(Some(id)) {
        None => Ok(()),
        Some(_) => Err(ApiProblem::not_found()),
    }
}

/// One team. A manager sees its own.
pub async fn get(state: &ConsoleState, caller: &Caller, id: &str) -> Result<TeamView, ApiProblem> {
    caller.must(rights::SEE_TEAM)?;
    sees(caller, id)?;
    let mut transaction = state.store.read().await?;
    let team = find(&mut transaction, id).await?;
    transaction.rollback().await;
    Ok(team.into())
}

/// Adds a team.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    new: NewTeamBody,
) -> Result<IdempotentResponse<TeamView>, ApiProblem> {
    caller.must(rights::CHANGE_TEAMS)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/teams", &new)?;
    let name = new.name.clone().filter(|name| !name.is_empty());
    let Some(name) = name.or_else(|| new.id.clone()) else {
        return Err(ApiProblem::invalid(
            "name",
            text!("is missing, and so is an id"),
        ));
    };
    check(&name, new.allowance.as_ref())?;
    if new.id.as_deref().is_some_and(|id| !is_id(id)) {
        return Err(ApiProblem::invalid(
            "id",
            text!("must be 1 to 64 letters, digits or any of - _ . :"),
        ));
    }
    let now = state.now();
    in_transaction!(state.store, transaction => {
        let erased = Pseudonyms::read(transaction).await?;
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let id = match &new.id {
            Some(id) => id.clone(),
            None => {
                // Nobody else adds one of this name meanwhile.
                keys::take_turn(transaction).await?;
                readable_ids::of_team(transaction, &name).await?
            }
        };
        let team = Team {
            id,
            name: name.clone(),
            allowance: new.allowance.as_ref().map(written),
            created_at: now,
        };
        if teams::find(transaction, &team.id).await?.is_some() {
            return Err(ApiProblem::conflict(text!("this id is another team's")));
        }
        teams::insert(transaction, &team).await?;
        member_budgets::renew(transaction, &erased, &team, now).await?;
        let mut entry = caller.actor().entry(now, "team.create", &team.id);
        entry.after = Some(told(&team));
        audit::insert(transaction, &entry).await?;
        once.answer(transaction, TeamView::from(team), None, now).await
    })
}

/// Changes a team. Keys that its members have made stay as they are; what a member may spend with all of them follows the allowance.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    change: TeamChangeBody,
) -> Result<TeamView, ApiProblem> {
    caller.must(rights::CHANGE_TEAMS)?;
    let allowance = change.allowance.as_ref().and_then(Option::as_ref);
    check(change.name.as_deref().unwrap_or_default(), allowance)?;
    in_transaction!(state.store, transaction => {
        let erased = Pseudonyms::read(transaction).await?;
        let before = find_locked(transaction, id).await?;
        let mut team = Team::clone(&before);
        if let Some(name) = &change.name {
            team.name.clone_from(name);
        }
        if let Some(allowance) = &change.allowance {
            team.allowance = allowance.as_ref().map(written);
        }
        if team != *before {
            let now = state.now();
            teams::update(transaction, &before, &team).await?;
            if team.allowance != before.allowance {
                member_budgets::renew(transaction, &erased, &team, now).await?;
            }
            let mut entry = caller.actor().entry(now, "team.change", id);
            entry.before = Some(told(&before));
            entry.after = Some(told(&team));
            audit::insert(transaction, &entry).await?;
        }
        Ok(TeamView::from(team))
    })
}

/// Removes a team with its memberships. Keys go on naming it, and its budget goes on holding.
pub async fn remove(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_TEAMS)?;
    in_transaction!(state.store, transaction => {
        let before = find_locked(transaction, id).await?;
        teams::remove(transaction, &before).await?;
        let mut entry = caller.actor().entry(state.now(), "team.remove", id);
        entry.before = Some(told(&before));
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}
