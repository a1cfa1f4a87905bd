//! Budgets of owners and teams: all of their keys together may spend so much. Those of members are of their teams (`member_budgets`), those
//! of keys and groups are among their limits.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trilane::config::document::{BudgetDocument, LimitsDocument};
use trilane::config::{Document, Problems, compile};
use trilane::limits::{SubjectKind, Window, member_id, member_parts};
use trilane::money::Amount;
use utoipa::ToSchema;

use super::caller::Caller;
use super::erasures;
use super::fields;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::spend::SpentAmount;
use super::state::ConsoleState;
use crate::documents::budget_losses;
use crate::feed::is_owner;
use crate::in_transaction;
use crate::nearly_spent;
use crate::store::spend_feed::{self, PeopleBudget};
use crate::store::{Transaction, audit, documents, keys, spend};

/// The amounts that may be spent per day and per month: decimals, in the currency of the document. One of the two or both.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetBody {
    /// For each calendar day, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_day: Option<String>,
    /// For each calendar month, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_month: Option<String>,
}

/// A budget.
#[derive(Debug, Serialize, ToSchema)]
pub struct BudgetView {
    /// The kind of subject: `member`, `owner` or `team`.
    #[schema(value_type = String)]
    pub(crate) kind: SubjectKind,
    /// The id.
    pub(crate) id: String,
    /// The amounts that the subject may spend.
    pub(crate) budget: BudgetBody,
    /// Whether a manager has set that of a member: then it follows the allowance of the team no more.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) own: bool,
}

/// A budget, and what is spent of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct BudgetSpendView {
    /// The amounts that the subject may spend.
    pub(crate) budget: BudgetBody,
    /// The amounts spent today (UTC), by currency.
    pub(crate) today: Vec<SpentAmount>,
    /// The amounts spent this month (UTC), by currency.
    pub(crate) this_month: Vec<SpentAmount>,
}

impl From<BudgetDocument> for BudgetBody {
    fn from(budget: BudgetDocument) -> Self {
        Self {
            per_day: budget.per_day,
            per_month: budget.per_month,
        }
    }
}

impl From<PeopleBudget> for BudgetView {
    fn from(budget: PeopleBudget) -> Self {
        Self {
            kind: budget.kind,
            id: budget.subject,
            budget: budget.budget.into(),
            own: budget.own,
        }
    }
}

/// Budgets in the order of kinds and ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<BudgetView>, ApiProblem> {
    caller.must(rights::SEE_BUDGETS)?;
    let limit = page.limit()?;
    let (kind, subject): (String, String) = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let budgets = spend_feed::budgets(&mut transaction, &kind, &subject, limit.to_fetch()).await?;
    transaction.rollback().await;
    let place = |budget: &PeopleBudget| (budget.kind, budget.subject.clone());
    Ok(limit.page(budgets, place, BudgetView::from))
}

/// The budget of a member, an owner or a team, and what is spent of it. Members see their own.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    kind: SubjectKind,
    id: &str,
) -> Result<BudgetSpendView, ApiProblem> {
    caller.must(rights::SEE_BUDGET)?;
    must_be_of_people(kind)?;
    if id.contains('\0') || !caller.sees(kind, id) {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let budget = find(&mut transaction, kind, id).await?;
    let mut sums = Vec::new();
    for period in Window::ALL.map(|window| state.period(window).to_string()) {
        let spent = spend::of(&mut transaction, kind, id, &period).await?;
        sums.push(spent.into_iter().map(SpentAmount::from).collect());
    }
    transaction.rollback().await;
    let mut sums = sums.into_iter();
    Ok(BudgetSpendView {
        budget,
        today: sums.next().unwrap_or_default(),
        this_month: sums.next().unwrap_or_default(),
    })
}

/// Gives an owner or a team a budget. It holds on all gateways a second later; nothing is published for it. Members have what the
/// allowance of their team comes to (409).
pub async fn set(
    state: &ConsoleState,
    caller: &Caller,
    kind: SubjectKind,
    id: &str,
    new: BudgetBody,
) -> Result<BudgetView, ApiProblem> {
    caller.must(rights::CHANGE_BUDGETS)?;
    if !is_owner(id) {
        return Err(ApiProblem::not_found());
    }
    refuse_member(kind)?;
    let new = stored(new)?;
    in_transaction!(state.store, transaction => {
        if kind == SubjectKind::Owner {
            erasures::refuse_erased(transaction, "id", id).await?;
        }
        check_prices(transaction, kind, &[id]).await?;
        change(transaction, caller, (kind, id), &new, state.now()).await?;
        Ok(BudgetView {
            kind,
            id: id.to_owned(),
            budget: new.clone().into(),
            own: false,
        })
    })
}

/// Takes the budget of an owner or a team.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    kind: SubjectKind,
    id: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_BUDGETS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    refuse_member(kind)?;
    in_transaction!(state.store, transaction => {
        let before = change(transaction, caller, (kind, id), &BudgetDocument::default(), state.now()).await?;
        // Without one nothing of this is done.
        before.map(|_| ()).ok_or_else(ApiProblem::not_found)
    })
}

/// Refuses keys and groups, whose budgets are among their limits.
fn must_be_of_people(kind: SubjectKind) -> Result<(), ApiProblem> {
    if kind.is_of_people() {
        return Ok(());
    }
    Err(ApiProblem::bad(text!("kind must be member, owner or team")))
}

/// Refuses to change the budget of a member by itself.
fn refuse_member(kind: SubjectKind) -> Result<(), ApiProblem> {
    must_be_of_people(kind)?;
    if kind == SubjectKind::Member {
        let why = "a member's budget follows from the team's allowance, or is set in the team: PUT /api/v1/teams/{id}/members/{person}/budget";
        return Err(ApiProblem::conflict(why.to_owned()));
    }
    Ok(())
}

/// The budget that there is.
async fn find(
    transaction: &mut Transaction,
    kind: SubjectKind,
    id: &str,
) -> Result<BudgetBody, ApiProblem> {
    let budget = spend_feed::budget(transaction, kind, id).await?;
    let budget = budget.is_set().then_some(budget);
    budget
        .map(BudgetBody::from)
        .ok_or_else(ApiProblem::not_found)
}

/// A budget as it is stored.
///
/// # Errors
/// It has no amount, or one that is none.
pub(super) fn stored(new: BudgetBody) -> Result<BudgetDocument, ApiProblem> {
    check(&new)?;
    Ok(BudgetDocument {
        per_day: fields::without_sign(new.per_day),
        per_month: fields::without_sign(new.per_month),
        spent: None,
    })
}

/// Sets a budget. What it was, if there was one.
pub(super) async fn change(
    transaction: &mut Transaction,
    caller: &Caller,
    (kind, id): (SubjectKind, &str),
    new: &BudgetDocument,
    now: i64,
) -> Result<Option<BudgetDocument>, ApiProblem> {
    let told = |budget: &BudgetDocument| serde_json::to_string(budget).unwrap_or_default();
    nearly_spent::renew(transaction, (kind, id), new, now).await?;
    // The row of the feed is the last that a transaction locks, but for entries of the audit, which nobody waits for.
    let before = spend_feed::set_budget(transaction, kind, id, new, now).await?;
    let before = before.is_set().then_some(before);
    let object = format!("{kind}/{id}");
    let mut entry = caller.actor().entry(now, "budget.change", &object);
    entry.before = before.as_ref().map(told);
    entry.after = Some(new).filter(|new| new.is_set()).map(told);
    audit::insert(transaction, &entry).await?;
    Ok(before)
}

fn check(budget: &BudgetBody) -> Result<(), ApiProblem> {
    let mut problems = Problems::default();
    if budget.per_day.is_none() && budget.per_month.is_none() {
        problems.push("", text!("needs per_day or per_month"));
    }
    for (path, amount) in [
        ("per_day", &budget.per_day),
        ("per_month", &budget.per_month),
    ] {
        match amount.as_deref().map(Amount::parse) {
            Some(Ok(Amount::ZERO)) => problems.push(path, text!("must be more than 0")),
            Some(Err(reason)) => problems.push(path, reason),
            Some(Ok(_)) | None => {}
        }
    }
    ApiProblem::if_any(problems)
}

/// Whether a key counts under a budget of its owner, alone or as a member of its team, or of its team.
pub(super) async fn is_under_one(
    transaction: &mut Transaction,
    owner: Option<&str>,
    team: Option<&str>,
) -> Result<bool, ApiProblem> {
    let member = owner.zip(team);
    let member = member.map(|(owner, team)| member_id(owner, team));
    for (kind, id) in [
        (SubjectKind::Member, member.as_deref()),
        (SubjectKind::Owner, owner),
        (SubjectKind::Team, team),
    ] {
        let Some(id) = id else {
            continue;
        };
        if spend_feed::budget(transaction, kind, id).await?.is_set() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Limits with some budget, which need prices.
pub(super) fn some_budget() -> LimitsDocument {
    LimitsDocument {
        budget: Some(BudgetDocument {
            per_day: Some("1".to_owned()),
            ..BudgetDocument::default()
        }),
        ..LimitsDocument::default()
    }
}

/// Refuses a budget that leaves some keys of these members, owners or teams no model, as it can count none, and names the models.
pub(super) async fn check_prices(
    transaction: &mut Transaction,
    kind: SubjectKind,
    ids: &[&str],
) -> Result<(), ApiProblem> {
    let Some(current) = documents::current(transaction).await? else {
        return Ok(());
    };
    let mut stored = Vec::new();
    for id in ids {
        stored.extend(match (kind, member_parts(id)) {
            (SubjectKind::Member, Some((owner, team))) => {
                keys::groups_of_member(transaction, owner, team).await?
            }
            _ => keys::groups_of(transaction, kind.name(), id).await?,
        });
    }
    let compiled =
        Document::parse(current.served.as_bytes()).and_then(|document| compile(&document));
    let Ok(compiled) = compiled else {
        return Ok(());
    };
    let stored = stored.into_iter();
    let stored = stored.map(|(group, models)| {
        (
            group,
            Some(budget_losses::own_access(models.as_deref(), None)),
        )
    });
    let named = compiled.keys.iter().map(|(_, key)| key);
    let named = named.filter(|key| {
        let (owner, team) = (key.owner.as_deref(), key.team.as_deref());
        let id = match kind {
            SubjectKind::Member => owner.zip(team).map(|(owner, team)| member_id(owner, team)),
            SubjectKind::Owner => owner.map(str::to_owned),
            SubjectKind::Team => team.map(str::to_owned),
            SubjectKind::Key | SubjectKind::Group => None,
        };
        id.is_some_and(|id| ids.contains(&id.as_str()))
    });
    let named = named.map(|key| (key.group.to_string(), key.access.as_deref().cloned()));
    let mut reasons = BTreeSet::new();
    for (group, access) in stored.chain(named) {
        let Some(group) = compiled.policy.group(&group) else {
            continue;
        };
        if !group.can_have_budget(access.as_ref()) {
            let models = group.unpriced(access.as_ref()).join(", ");
            reasons.insert(t!(
                "leaves a key of the group \"{group}\" no model, as none has a price: give prices, or \"free\": true, to {models}",
                group = group.id,
                models = models
            ));
        }
    }
    let mut problems = Problems::default();
    for reason in reasons {
        problems.push("", reason);
    }
    ApiProblem::if_any(problems)
}
