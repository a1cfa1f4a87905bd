//! The router, and the OpenAPI document that comes with it.

use core::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::IntoResponse as _;
use axum::routing::get;
use axum::{Json, Router, middleware};
use http::StatusCode;
use serde_json::json;
use tokio::time::timeout;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    ResponseBuilder,
};
use utoipa::{PartialSchema as _, ToSchema as _};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{
    audit, budgets, certificate, client_settings, credentials, documents, drafts, envoys, feed,
    identity_providers, keys, ledger, me, oauth, people, report, requests, search, setup, sign_in,
    storage, teams, tokens, usage, webhooks,
};
use crate::cases::problem::PlacedProblem;
use crate::cases::{ApiProblem, ConsoleState};
use crate::intake::LedgerBatch;

/// The longest document, as JSON text within JSON.
const DOCUMENT: usize = 64 << 20;
/// The longest time for a response about health.
const WITHIN: Duration = Duration::from_millis(1900);

/// All that the console serves.
pub fn router(state: ConsoleState) -> Router {
    let (api, open, document) = parts();
    let sign_in = middleware::from_fn_with_state(state.clone(), sign_in::sign_in);
    let report = middleware::from_fn_with_state(state.clone(), report::report);
    let document = Json(document);
    api.route_layer(sign_in)
        .merge(open)
        .merge(oauth::router())
        .route(
            "/api/openapi.json",
            get(move || async move { document.clone() }),
        )
        .route("/healthz", get(health))
        .fallback(|| async { ApiProblem::not_found() })
        .method_not_allowed_fallback(|| async {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            ApiProblem::new(
                status,
                "/problems/method-not-allowed",
                "this path has other methods",
            )
        })
        .layer(report)
        .with_state(state)
}

/// Makes the OpenAPI description of the API.
pub fn openapi() -> OpenApi {
    parts().2
}

/// Whether a change can be made: within two seconds, whatever the database does.
async fn health(State(state): State<ConsoleState>) -> axum::response::Response {
    match timeout(WITHIN, state.store.can_change()).await {
        Ok(Ok(())) => Json(json!({"ok": true})).into_response(),
        Ok(Err(why)) => ApiProblem::internal(why).into_response(),
        Err(_) => ApiProblem::internal("others ask whether a change can be made").into_response(),
    }
}

/// The routes that want a token, those that want none, and what all of them are.
fn parts() -> (Router<ConsoleState>, Router<ConsoleState>, OpenApi) {
    let bearer = || SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    let components = ComponentsBuilder::new()
        .security_scheme("token", bearer())
        .security_scheme("api_key", bearer())
        .schema(PlacedProblem::name(), PlacedProblem::schema())
        .schema(ApiProblem::name(), ApiProblem::schema());
    let no_scopes: [&str; 0] = [];
    let security_of_all = SecurityRequirement::new("token", no_scopes);
    let info = InfoBuilder::new()
        .title("trilane console")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Keys, documents, usage and spend of trilane's gateways.",
        ));
    let document = OpenApiBuilder::new()
        .info(info)
        .components(Some(components.build()))
        .security(Some([security_of_all]))
        .build();
    let documents = OpenApiRouter::<ConsoleState>::new()
        .routes(routes!(documents::list))
        .routes(routes!(documents::current))
        .routes(routes!(documents::keys))
        .routes(routes!(documents::disable_key))
        .routes(routes!(documents::get))
        .routes(routes!(documents::check))
        .routes(routes!(documents::publish_again))
        .routes(routes!(drafts::list, drafts::create))
        .routes(routes!(drafts::get, drafts::change, drafts::remove))
        .routes(routes!(drafts::check))
        .routes(routes!(drafts::diff))
        .routes(routes!(drafts::publish))
        .layer(DefaultBodyLimit::max(DOCUMENT));
    let ledger = OpenApiRouter::<ConsoleState>::new()
        .routes(routes!(ledger::position, ledger::send))
        .routes(routes!(ledger::aside))
        .layer(DefaultBodyLimit::max(LedgerBatch::LONGEST));
    let (open, of_open) = OpenApiRouter::<ConsoleState>::new()
        .routes(routes!(envoys::enrol))
        .routes(routes!(me::held_key))
        .split_for_parts();
    let (router, mut document) = OpenApiRouter::<ConsoleState>::with_openapi(document)
        .routes(routes!(me::me))
        .routes(routes!(me::teams))
        .routes(routes!(me::models))
        .routes(routes!(me::keys, me::create_key))
        .routes(routes!(me::ordered_keys))
        .routes(routes!(me::take_ordered_key))
        .routes(routes!(me::change_key))
        .routes(routes!(me::rotate_key))
        .routes(routes!(me::end_old))
        .routes(routes!(me::notices, me::change_notices))
        .routes(routes!(me::sign_ins))
        .routes(routes!(me::end_sign_in))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::get, keys::change, keys::remove))
        .routes(routes!(keys::models))
        .routes(routes!(keys::remaining))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::end_old))
        .routes(routes!(keys::find))
        .routes(routes!(keys::bulk))
        .routes(routes!(usage::list))
        .routes(routes!(usage::top))
        .routes(routes!(usage::spend))
        .routes(routes!(usage::statement))
        .routes(routes!(usage::statement_csv))
        .routes(routes!(usage::statement_focus))
        .routes(routes!(budgets::list))
        .routes(routes!(budgets::nearly_spent))
        .routes(routes!(budgets::get, budgets::set, budgets::remove))
        .routes(routes!(usage::first_bytes))
        .routes(routes!(usage::attempts))
        .routes(routes!(requests::list))
        .routes(routes!(requests::get))
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::remove))
        .routes(routes!(webhooks::test))
        .routes(routes!(people::list, people::create))
        .routes(routes!(people::get, people::change))
        .routes(routes!(people::create_many))
        .routes(routes!(people::list_sessions))
        .routes(routes!(people::list_ordered_keys, people::order_key))
        .routes(routes!(people::cancel_ordered_key))
        .routes(routes!(people::notices, people::change_notices))
        .routes(routes!(people::list_sign_ins))
        .routes(routes!(people::end_sign_in))
        .routes(routes!(people::erase))
        .routes(routes!(people::erasures))
        .routes(routes!(people::create_link, people::revoke_link))
        .routes(routes!(identity_providers::identities))
        .routes(routes!(identity_providers::unlink))
        .routes(routes!(identity_providers::list))
        .routes(routes!(
            identity_providers::get,
            identity_providers::put,
            identity_providers::remove
        ))
        .routes(routes!(identity_providers::test))
        .routes(routes!(
            identity_providers::sign_in,
            identity_providers::set_sign_in
        ))
        .routes(routes!(teams::list, teams::create))
        .routes(routes!(teams::get, teams::change, teams::remove))
        .routes(routes!(teams::members))
        .routes(routes!(teams::set_member, teams::remove_member))
        .routes(routes!(
            teams::set_member_budget,
            teams::remove_member_budget
        ))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::remove))
        .routes(routes!(audit::list))
        .routes(routes!(audit::lines))
        .routes(routes!(
            client_settings::get,
            client_settings::put,
            client_settings::remove
        ))
        .routes(routes!(storage::get))
        .routes(routes!(certificate::get))
        .routes(routes!(search::find))
        .routes(routes!(envoys::list, envoys::create))
        .routes(routes!(envoys::get, envoys::revoke))
        .routes(routes!(envoys::let_enrol))
        .routes(routes!(envoys::report))
        .routes(routes!(envoys::voids, envoys::begin_void))
        .routes(routes!(envoys::preview_void))
        .routes(routes!(feed::keys))
        .routes(routes!(feed::document))
        .routes(routes!(feed::client_settings))
        .routes(routes!(feed::spend))
        .routes(routes!(feed::credentials))
        .routes(routes!(credentials::list))
        .routes(routes!(credentials::put, credentials::remove))
        .routes(routes!(credentials::test_account))
        .routes(routes!(credentials::account_tests))
        .routes(routes!(credentials::account_refusals))
        .routes(routes!(setup::vendor_models))
        .routes(routes!(setup::get))
        .routes(routes!(setup::put, setup::remove))
        .merge(documents)
        .merge(ledger)
        .split_for_parts();
    document.merge(of_open);
    for item in document.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.post,
            &mut item.put,
            &mut item.patch,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            describe_responses(operation);
            may_be_a_problem(operation);
        }
    }
    (router, open, document)
}

/// Every response has a description, as OpenAPI wants it: that of its status where the operation says no more.
fn describe_responses(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        let status = StatusCode::from_bytes(status.as_bytes()).ok();
        if let (RefOr::T(response), Some(status)) = (response, status)
            && response.description.is_empty()
        {
            response.description = status.canonical_reason().unwrap_or_default().to_owned();
        }
    }
}

/// Adds the response of every error, a problem (RFC 9457), to an operation.
fn may_be_a_problem(operation: &mut Operation) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ApiProblem::name())));
    let problem = ResponseBuilder::new()
        .description("What is wrong.")
        .content("application/problem+json", content.build());
    let responses = &mut operation.responses.responses;
    responses.insert("default".to_owned(), problem.build().into());
}
