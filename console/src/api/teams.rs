//! The API of teams.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, OnceKey, Params, handlers};
use crate::cases::budgets::{BudgetBody, BudgetView};
use crate::cases::member_budgets;
use crate::cases::once::IdempotentResponse;
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::team_members::{self, TeamMemberBody, TeamMemberView};
use crate::cases::teams::{self, NewTeamBody, TeamChangeBody, TeamView};

handlers! {
    /// Teams in the order of their ids.
    #[utoipa::path(get, operation_id = "list_teams", path = "/api/v1/teams", tag = "teams", params(PageParams),
        responses((status = 200, body = ItemPage<TeamView>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<TeamView>> = teams::list(page);

    /// One team.
    #[utoipa::path(get, operation_id = "get_team", path = "/api/v1/teams/{id}", tag = "teams", params(("id" = String, Path)),
        responses((status = 200, body = TeamView)))]
    get(id: InPath<String>) -> Json<TeamView> = teams::get(&id);

    /// Adds a team.
    #[utoipa::path(post, operation_id = "create_team", path = "/api/v1/teams", tag = "teams", request_body = NewTeamBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = TeamView)))]
    create(once: OnceKey, new: Body<NewTeamBody>) -> IdempotentResponse<TeamView> = teams::create(once.as_deref(), new);

    /// Changes a team. Keys that its members have made stay as they are; what a member may spend with all of them follows the allowance.
    #[utoipa::path(patch, operation_id = "change_team", path = "/api/v1/teams/{id}", tag = "teams", params(("id" = String, Path)),
        request_body = TeamChangeBody, responses((status = 200, body = TeamView)))]
    change(id: InPath<String>, change: Body<TeamChangeBody>) -> Json<TeamView> = teams::change(&id, change);

    /// Removes a team with its memberships. Keys go on naming it, and its budget goes on holding.
    #[utoipa::path(delete, operation_id = "remove_team", path = "/api/v1/teams/{id}", tag = "teams", params(("id" = String, Path)),
        responses((status = 204)))]
    remove(id: InPath<String>) -> Done = teams::remove(&id);

    /// The members of a team, in the order of their ids.
    #[utoipa::path(get, operation_id = "list_team_members", path = "/api/v1/teams/{id}/members", tag = "teams",
        params(("id" = String, Path), PageParams), responses((status = 200, body = ItemPage<TeamMemberView>)))]
    members(id: InPath<String>, page: Params<PageParams>) -> Json<ItemPage<TeamMemberView>> = team_members::list(&id, page);

    /// Adds a person to a team, or changes what the person is in it. Done again, it changes nothing. With all keys of the team that a
    /// member has and had it may spend what the allowance comes to.
    #[utoipa::path(put, operation_id = "set_team_member", path = "/api/v1/teams/{id}/members/{person}", tag = "teams",
        params(("id" = String, Path), ("person" = String, Path)), request_body = TeamMemberBody,
        responses((status = 200, body = TeamMemberView)))]
    set_member(of: InPath<(String, String)>, body: Body<TeamMemberBody>) -> Json<TeamMemberView> = team_members::set(&of.0, &of.1, body);

    /// Sets what a member may spend with all keys of a team, in place of what its allowance comes to: at most the team's own budget. A window that is not given has what the
    /// allowance comes to. Managers do it in their teams.
    #[utoipa::path(put, operation_id = "set_member_budget", path = "/api/v1/teams/{id}/members/{person}/budget", tag = "teams",
        params(("id" = String, Path), ("person" = String, Path)), request_body = BudgetBody,
        responses((status = 200, body = BudgetView)))]
    set_member_budget(of: InPath<(String, String)>, new: Body<BudgetBody>) -> Json<BudgetView> = member_budgets::set(&of.0, &of.1, new);

    /// Takes away what a manager has set: a member may spend what the allowance of the team comes to again.
    #[utoipa::path(delete, operation_id = "remove_member_budget", path = "/api/v1/teams/{id}/members/{person}/budget", tag = "teams",
        params(("id" = String, Path), ("person" = String, Path)), responses((status = 204)))]
    remove_member_budget(of: InPath<(String, String)>) -> Done = member_budgets::remove(&of.0, &of.1);

    /// Takes a person out of a team. Keys that this person has made stay, and so does what they may spend together.
    #[utoipa::path(delete, operation_id = "remove_team_member", path = "/api/v1/teams/{id}/members/{person}", tag = "teams",
        params(("id" = String, Path), ("person" = String, Path)), responses((status = 204)))]
    remove_member(of: InPath<(String, String)>) -> Done = team_members::remove(&of.0, &of.1);
}
