//! The changes of keys that managers of their teams may make.

use trilane::config::Problems;
use trilane::config::document::{BudgetDocument, LimitsDocument};
use trilane::limits::{SubjectKind, Window};

use super::member_budgets;
use super::problem::ApiProblem;
use crate::store::keys::StoredKey;
use crate::store::{Transaction, spend_feed};
use crate::written_budgets::of_limits;

/// Refuses a change that a manager may not make of a key of the team. A manager disables it, names it and sets its budget, within the
/// team's own. Whoever has disabled a key may have done so because of its owner, so only an admin enables it again.
///
/// # Errors
/// 403, or 422 where the budget is too great.
pub(super) async fn refuse_others(
    transaction: &mut Transaction,
    before: &StoredKey,
    key: &StoredKey,
) -> Result<(), ApiProblem> {
    let as_before = StoredKey {
        disabled: before.disabled,
        disabled_with: before.disabled_with.clone(),
        label: before.label.clone(),
        limits: before.limits.clone(),
        ..key.clone()
    };
    let has_same_limits = without_amounts(before) == without_amounts(key);
    if as_before != *before || !has_same_limits || (before.disabled && !key.disabled) {
        let detail = text!(
            "a manager of the key's team disables it, gives it another name and sets its budget; only an admin enables it again"
        );
        return Err(ApiProblem::forbidden(detail));
    }
    let [was, is] = [before, key].map(|key| of_limits(key.limits.as_deref()).unwrap_or_default());
    if was == is {
        return Ok(());
    }
    let team = before.team.as_deref().unwrap_or_default();
    let of_team = spend_feed::budget(transaction, SubjectKind::Team, team).await?;
    let mut problems = Problems::default();
    for window in Window::ALL {
        if was.of(window).is_some() && is.of(window).is_none() && of_team.of(window).is_none() {
            let path = format!("limits.budget.per_{}", window.name());
            problems.push(path, text!("must stay: the team has no budget of its own"));
        }
    }
    ApiProblem::if_any(problems)?;
    // What stays as it was is nobody's fault now.
    let changed = BudgetDocument {
        per_day: is.per_day.clone().filter(|_| is.per_day != was.per_day),
        per_month: is
            .per_month
            .clone()
            .filter(|_| is.per_month != was.per_month),
        spent: None,
    };
    let refused = member_budgets::refuse_more(&changed, &of_team, &was);
    refused.map_err(|problem| problem.below("limits.budget"))
}

/// The limits of a key without the amounts of its budget.
fn without_amounts(key: &StoredKey) -> Option<LimitsDocument> {
    let mut limits: LimitsDocument = key.limits.as_deref().map_or_else(
        || Some(LimitsDocument::default()),
        |limits| serde_json::from_str(limits).ok(),
    )?;
    let spent = limits.budget.take().and_then(|budget| budget.spent);
    limits.budget = spent.map(|spent| BudgetDocument {
        spent: Some(spent),
        ..BudgetDocument::default()
    });
    Some(limits)
}
