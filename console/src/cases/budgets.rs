//! Budgets of owners and teams: all of their keys together may spend so much. Those of members follow from the allowances of teams,
//! those of keys and groups are among their limits.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trilane::config::document::{BudgetDocument, LimitsDocument};
use trilane::config::{Document, Problems, compile};
use trilane::limits::{member_id, member_parts};
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

/// The kinds of subject that may have a budget here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BudgetKind {
    /// The keys that an owner has and had in a team, `ann@blue`. It follows from the team's allowance.
    Member,
    /// The keys of an owner.
    Owner,
    /// The keys of a team.
    Team,
}

impl BudgetKind {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Owner => "owner",
            Self::Team => "team",
        }
    }
}

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
    pub(crate) kind: String,
    /// The id.
    pub(crate) id: String,
    /// The amounts that the subject may spend.
    pub(crate) budget: BudgetBody,
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

impl From<PeopleBudget> for BudgetView {
    fn from(budget: PeopleBudget) -> Self {
        Self {
            kind: budget.kind,
            id: budget.subject,
            budget: BudgetBody {
                per_day: budget.per_day,
                per_month: budget.per_month,
            },
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
    let place = |budget: &PeopleBudget| (budget.kind.clone(), budget.subject.clone());
    Ok(limit.page(budgets, place, BudgetView::from))
}

/// The budget of a member, an owner or a team, and what is spent of it. Members see their own.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    kind: BudgetKind,
    id: &str,
) -> Result<BudgetSpendView, ApiProblem> {
    caller.must(rights::SEE_BUDGET)?;
    let own = |only: &str| match kind {
        BudgetKind::Member => member_parts(id).is_some_and(|(owner, _)| owner == only),
        BudgetKind::Owner => only == id,
        BudgetKind::Team => false,
    };
    if id.contains('\0') || caller.only_owner().is_some_and(|only| !own(only)) {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let budget = find(&mut transaction, kind, id).await?;
    let today = state.time().date();
    let month = format!("{:04}-{:02}", today.year(), u8::from(today.month()));
    let mut sums = Vec::new();
    for period in [today.to_string(), month] {
        let spent = spend::of(&mut transaction, kind.name(), id, &period).await?;
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
    kind: BudgetKind,
    id: &str,
    new: BudgetBody,
) -> Result<BudgetView, ApiProblem> {
    caller.must(rights::CHANGE_BUDGETS)?;
    if !is_owner(id) {
        return Err(ApiProblem::not_found());
    }
    refuse_member(kind)?;
    check(&new)?;
    let new = BudgetBody {
        per_day: fields::without_sign(new.per_day),
        per_month: fields::without_sign(new.per_month),
    };
    in_transaction!(state.store, transaction => {
        if kind == BudgetKind::Owner {
            erasures::refuse_erased(transaction, "id", id).await?;
        }
        check_prices(transaction, kind, &[id]).await?;
        change(transaction, caller, (kind, id), &new, state.now()).await?;
        Ok(BudgetView {
            kind: kind.name().to_owned(),
            id: id.to_owned(),
            budget: new.clone(),
        })
    })
}

/// Takes the budget of an owner or a team.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    kind: BudgetKind,
    id: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_BUDGETS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    refuse_member(kind)?;
    in_transaction!(state.store, transaction => {
        let before = change(transaction, caller, (kind, id), &BudgetBody::default(), state.now()).await?;
        // Without one nothing of this is done.
        before.map(|_| ()).ok_or_else(ApiProblem::not_found)
    })
}

/// Refuses to change the budget of a member by itself.
fn refuse_member(kind: BudgetKind) -> Result<(), ApiProblem> {
    if kind == BudgetKind::Member {
        let why = "a member's budget follows from the team's allowance: change that";
        return Err(ApiProblem::conflict(why.to_owned()));
    }
    Ok(())
}

/// The budget that there is.
async fn find(
    transaction: &mut Transaction,
    kind: BudgetKind,
    id: &str,
) -> Result<BudgetBody, ApiProblem> {
    let (per_day, per_month) = spend_feed::budget(transaction, kind.name(), id).await?;
    some(BudgetBody { per_day, per_month }).ok_or_else(ApiProblem::not_found)
}

/// A budget, unless it is none.
fn some(budget: BudgetBody) -> Option<BudgetBody> {
    (budget.per_day.is_some() || budget.per_month.is_some()).then_some(budget)
}

/// Sets a budget. What it was, if there was one.
async fn change(
    transaction: &mut Transaction,
    caller: &Caller,
    (kind, id): (BudgetKind, &str),
    new: &BudgetBody,
    now: i64,
) -> Result<Option<BudgetBody>, ApiProblem> {
    let told = |budget: BudgetBody| serde_json::to_string(&budget).unwrap_or_default();
    let budget = BudgetDocument {
        per_day: new.per_day.clone(),
        per_month: new.per_month.clone(),
        ..BudgetDocument::default()
    };
    nearly_spent::renew(transaction, (kind.name(), id), &budget, now).await?;
    // The row of the feed is the last that a transaction locks, but for entries of the audit, which nobody waits for.
    let amounts = (new.per_day.as_deref(), new.per_month.as_deref());
    let (per_day, per_month) =
        spend_feed::set_budget(transaction, kind.name(), id, amounts, now).await?;
    let before = some(BudgetBody { per_day, per_month });
    let object = format!("{}/{id}", kind.name());
    let mut entry = caller.actor().entry(now, "budget.change", &object);
    entry.before = before.clone().map(told);
    entry.after = some(new.clone()).map(told);
    audit::insert(transaction, &entry).await?;
    Ok(before)
}

fn check(budget: &BudgetBody) -> Result<(), ApiProblem> {
    let mut problems = Problems::default();
    if budget.per_day.is_none() && budget.per_month.is_none() {
        problems.push("", "needs per_day or per_month");
    }
    for (path, amount) in [
        ("per_day", &budget.per_day),
        ("per_month", &budget.per_month),
    ] {
        match amount.as_deref().map(Amount::parse) {
            Some(Ok(Amount::ZERO)) => problems.push(path, "must be more than 0"),
            Some(Err(reason)) => problems.push(path, reason),
            Some(Ok(_)) | None => {}
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ApiProblem::of(problems))
    }
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
        (BudgetKind::Member, member.as_deref()),
        (BudgetKind::Owner, owner),
        (BudgetKind::Team, team),
    ] {
        let Some(id) = id else {
            continue;
        };
        let (per_day, per_month) = spend_feed::budget(transaction, kind.name(), id).await?;
        if per_day.is_some() || per_month.is_some() {
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
    kind: BudgetKind,
    ids: &[&str],
) -> Result<(), ApiProblem> {
    let Some(current) = documents::current(transaction).await? else {
        return Ok(());
    };
    let mut stored = Vec::new();
    for id in ids {
        stored.extend(match (kind, member_parts(id)) {
            (BudgetKind::Member, Some((owner, team))) => {
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
    let stored =
        stored.map(|(group, models)| (group, budget_losses::own_models(models.as_deref())));
    let named = compiled.keys.iter().map(|(_, key)| key);
    let named = named.filter(|key| {
        let (owner, team) = (key.owner.as_deref(), key.team.as_deref());
        let id = match kind {
            BudgetKind::Member => owner.zip(team).map(|(owner, team)| member_id(owner, team)),
            BudgetKind::Owner => owner.map(str::to_owned),
            BudgetKind::Team => team.map(str::to_owned),
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
            reasons.insert(format!(
                "leaves a key of the group \"{}\" no model, as none has a price: give prices, or \"free\": true, to {models}",
                group.id
            ));
        }
    }
    let mut problems = Problems::default();
    for reason in reasons {
        problems.push("", reason);
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ApiProblem::of(problems))
    }
}
