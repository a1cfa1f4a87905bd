//! The API of budgets.

use axum::Json;
use trilane::limits::SubjectKind;

use super::answers::Done;
use super::parts::{Body, InPath, Params, handlers};
use crate::cases::budgets::{self, BudgetBody, BudgetSpendView, BudgetView};
use crate::cases::nearly_spent::{self, NearlySpentView};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::subject_kinds::KindsWithBudgets;

handlers! {
    /// Budgets in the order of kinds and ids.
    #[utoipa::path(get, operation_id = "list_budgets", path = "/api/v1/budgets", tag = "budgets", params(PageParams),
        responses((status = 200, body = ItemPage<BudgetView>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<BudgetView>> = budgets::list(page);

    /// The budget of a member, an owner or a team, and what is spent of it. Members see their own.
    #[utoipa::path(get, operation_id = "get_budget", path = "/api/v1/budgets/{kind}/{id}", tag = "budgets",
        params(("kind" = inline(KindsWithBudgets), Path), ("id" = String, Path)), responses((status = 200, body = BudgetSpendView)))]
    get(of: InPath<(SubjectKind, String)>) -> Json<BudgetSpendView> = budgets::get(of.0, &of.1);

    /// Gives an owner or a team a budget. It holds on all gateways a second later; nothing is published for it. Members have what the
    /// allowance of their team comes to (409).
    #[utoipa::path(put, operation_id = "set_budget", path = "/api/v1/budgets/{kind}/{id}", tag = "budgets",
        params(("kind" = inline(KindsWithBudgets), Path), ("id" = String, Path)), request_body = BudgetBody,
        responses((status = 200, body = BudgetView)))]
    set(of: InPath<(SubjectKind, String)>, new: Body<BudgetBody>) -> Json<BudgetView> = budgets::set(of.0, &of.1, new);

    /// Takes the budget of an owner or a team.
    #[utoipa::path(delete, operation_id = "remove_budget", path = "/api/v1/budgets/{kind}/{id}", tag = "budgets",
        params(("kind" = inline(KindsWithBudgets), Path), ("id" = String, Path)), responses((status = 204)))]
    remove(of: InPath<(SubjectKind, String)>) -> Done = budgets::remove(of.0, &of.1);

    /// Budgets of today and this month of which at least nine tenths are spent, of keys, members, owners, teams and groups.
    ///
    /// A page may have fewer items than it might: budgets that have become greater are left out.
    #[utoipa::path(get, operation_id = "list_nearly_spent_budgets", path = "/api/v1/budgets/nearly-spent", tag = "budgets", params(PageParams),
        responses((status = 200, body = ItemPage<NearlySpentView>)))]
    nearly_spent(page: Params<PageParams>) -> Json<ItemPage<NearlySpentView>> = nearly_spent::list(page);
}
