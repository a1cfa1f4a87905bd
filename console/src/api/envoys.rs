//! The API of envoys.

use axum::Json;
use axum::extract::State;

use super::answers::{Accepted, Created, Done};
use super::parts::{Body, InPath, Params, handlers};
use crate::cases::envoys::{self, EnrolBody, EnrolledView, EnrolmentView, EnvoyView, NewEnvoyBody};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::voids::{self, VoidTime, VoidView, VoidableView};
use crate::cases::{ApiProblem, ConsoleState};
use crate::client_address::RemoteAddress;
use crate::envoy_report::EnvoyReport;

handlers! {
    /// Envoys in the order of their ids.
    #[utoipa::path(get, operation_id = "list_envoys", path = "/api/v1/envoys", tag = "agents", params(PageParams),
        responses((status = 200, body = ItemPage<EnvoyView>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<EnvoyView>> = envoys::list(page);

    /// One Envoy.
    #[utoipa::path(get, operation_id = "get_envoy", path = "/api/v1/envoys/{id}", tag = "agents", params(("id" = String, Path)),
        responses((status = 200, body = EnvoyView)))]
    get(id: InPath<String>) -> Json<EnvoyView> = envoys::get(&id);

    /// Adds an Envoy. Its agent enrols with the token that is shown this once.
    #[utoipa::path(post, operation_id = "create_envoy", path = "/api/v1/envoys", tag = "agents", request_body = NewEnvoyBody,
        responses((status = 201, body = EnrolmentView)))]
    create(new: Body<NewEnvoyBody>) -> Created<EnrolmentView> = envoys::create(new);

    /// Another token with which the agent of an Envoy enrols, shown this once. The credential that it has stays good until then.
    #[utoipa::path(post, operation_id = "let_envoy_enrol", path = "/api/v1/envoys/{id}/enrolment", tag = "agents", params(("id" = String, Path)),
        responses((status = 201, body = EnrolmentView)))]
    let_enrol(id: InPath<String>) -> Created<EnrolmentView> = envoys::let_enrol(&id);

    /// Revokes the credential of an Envoy's agent. Its Envoy goes on with what it has; what it has sent stays.
    #[utoipa::path(delete, operation_id = "revoke_envoy", path = "/api/v1/envoys/{id}", tag = "agents", params(("id" = String, Path)),
        responses((status = 204)))]
    revoke(id: InPath<String>) -> Done = envoys::revoke(&id);
}

/// Exchanges an enrolment token, which is good once, or an enrolment secret for the credential of an agent. It needs no other token.
#[utoipa::path(post, operation_id = "enrol", path = "/api/v1/enrol", tag = "agents", request_body = EnrolBody, security(()),
    responses((status = 201, body = EnrolledView)))]
pub async fn enrol(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    Body(asked): Body<EnrolBody>,
) -> Result<Created<EnrolledView>, ApiProblem> {
    Ok(envoys::enrol(&state, &address, asked).await?.into())
}

handlers! {
    /// Says what is in force on an Envoy.
    #[utoipa::path(put, operation_id = "report_envoy", path = "/api/v1/envoys/{id}/report", tag = "agents", params(("id" = String, Path)),
        request_body = EnvoyReport, responses((status = 204)))]
    report(id: InPath<String>, report: Body<EnvoyReport>) -> Done = envoys::report(&id, report);

    /// The times of which an Envoy's lines are void, in their order.
    #[utoipa::path(get, operation_id = "list_voids", path = "/api/v1/envoys/{id}/voids", tag = "agents",
        params(("id" = String, Path), PageParams), responses((status = 200, body = ItemPage<VoidView>)))]
    voids(id: InPath<String>, page: Params<PageParams>) -> Json<ItemPage<VoidView>> = voids::list(&id, page);

    /// Counts the lines of an Envoy that a void of this time would take away, as far as lines are kept.
    #[utoipa::path(get, operation_id = "count_voidable", path = "/api/v1/envoys/{id}/voids/preview", tag = "agents",
        params(("id" = String, Path), VoidTime), responses((status = 200, body = VoidableView)))]
    preview_void(id: InPath<String>, time: Params<VoidTime>) -> Json<VoidableView> = voids::preview(&id, time);

    /// Makes the lines of an Envoy void whose requests began in this time: those that were counted are taken from all sums soon after
    /// the response, and those that come are kept aside. 409 while the data of a person is erased.
    #[utoipa::path(post, operation_id = "void_lines", path = "/api/v1/envoys/{id}/voids", tag = "agents",
        params(("id" = String, Path)), request_body = VoidTime, responses((status = 202, body = VoidView)))]
    begin_void(id: InPath<String>, time: Body<VoidTime>) -> Accepted<VoidView> = voids::begin(&id, time);
}
