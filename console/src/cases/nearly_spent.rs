//! Budgets that are nearly spent.

use serde::Serialize;
use trilane::limits::{SubjectKind, Window};
use utoipa::ToSchema;

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::nearly_spent::{self as budgets, NearlySpentBudget};
use crate::store::nearly_spent;
use crate::written_budgets::WrittenBudgets;

/// A budget of which at least nine tenths are spent.
#[derive(Debug, Serialize, ToSchema)]
pub struct NearlySpentView {
    /// The kind of subject: `key`, `member`, `owner`, `team` or `group`.
    #[schema(value_type = String)]
    pub(crate) kind: SubjectKind,
    /// The id.
    pub(crate) id: String,
    /// The day (`2026-11-24`) or month (`2026-11`), in UTC.
    pub(crate) period: String,
    /// The amount that may be spent in the period.
    pub(crate) budget: String,
    /// The amount spent in the period.
    pub(crate) spent: String,
    /// The currency of both.
    pub(crate) currency: String,
    /// The part of the budget that is spent, in whole percent; 100 or more: the budget is spent.
    pub(crate) percent: u64,
}

impl From<NearlySpentBudget> for NearlySpentView {
    fn from(of: NearlySpentBudget) -> Self {
        let hundredfold = of.spent.value().units().saturating_mul(100);
        let percent = hundredfold.checked_div(of.budget.units());
        let (kind, id) = of.subject;
        Self {
            kind,
            id,
            period: of.period,
            budget: of.budget.to_string(),
            spent: of.spent.text(),
            currency: of.currency,
            percent: percent
                .and_then(|percent| u64::try_from(percent).ok())
                .unwrap_or(u64::MAX),
        }
    }
}

/// Budgets of today and this month of which at least nine tenths are spent, of keys, members, owners, teams and groups.
///
/// A page may have fewer items than it might: budgets that have become greater are left out.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<NearlySpentView>, ApiProblem> {
    caller.must(rights::SEE_BUDGETS)?;
    let limit = page.limit()?;
    let after = page.after()?.unwrap_or_default();
    let periods = Window::ALL.map(|window| state.period(window).to_string());
    let mut transaction = state.store.read().await?;
    let noted = nearly_spent::list(&mut transaction, &periods, &after, limit.to_fetch()).await?;
    let noted = limit.page(noted, Clone::clone, |of| of);
    let mut items = Vec::new();
    if !noted.items.is_empty() {
        let written = WrittenBudgets::in_force(&mut transaction).await?;
        for of in noted.items {
            let budget = budgets::checked(&mut transaction, &written, of).await?;
            items.extend(budget.map(NearlySpentView::from));
        }
    }
    transaction.rollback().await;
    Ok(ItemPage {
        items,
        next: noted.next,
    })
}
