//! The API of ledger.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;

use super::parts::{Call, InPath, Params, handlers};
use crate::cases::ApiProblem;
use crate::cases::ledger::{self, AsideView, BatchParams, PositionView, TakenView};
use crate::cases::paging::{ItemPage, PageParams};

handlers! {
    /// Returns the position at which a ledger file continues.
    #[utoipa::path(get, operation_id = "get_ledger_position", path = "/api/v1/ledger/{envoy}/{file}", tag = "agents",
        params(("envoy" = String, Path), ("file" = String, Path)), responses((status = 200, body = PositionView)))]
    position(of: InPath<(String, String)>) -> Json<PositionView> = ledger::position(&of.0, &of.1);
}

/// Takes a part of a ledger file in, as far as its lines are whole. A part that comes again changes nothing. One that does not
/// begin where the parts before ended is refused with 409 and the position to go on from.
#[utoipa::path(post, operation_id = "send_ledger", path = "/api/v1/ledger/{envoy}/{file}", tag = "agents",
    params(("envoy" = String, Path), ("file" = String, Path), BatchParams),
    request_body(content = Option<String>, content_type = "application/x-ndjson"),
    responses((status = 200, body = TakenView)))]
pub async fn send(
    call: Call,
    InPath((envoy, file)): InPath<(String, String)>,
    Params(asked): Params<BatchParams>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<TakenView>, ApiProblem> {
    let bytes = bytes.map_err(|rejection| {
        ApiProblem::new(rejection.status(), "/problems/body", rejection.body_text())
    })?;
    Ok(Json(
        ledger::send(&call.state, &call.caller, &envoy, &file, asked, &bytes).await?,
    ))
}

handlers! {
    /// The lines of a file that could not be counted, or are void, from its beginning.
    #[utoipa::path(get, operation_id = "list_ledger_aside", path = "/api/v1/ledger/{envoy}/{file}/aside", tag = "agents",
        params(("envoy" = String, Path), ("file" = String, Path), PageParams),
        responses((status = 200, body = ItemPage<AsideView>)))]
    aside(of: InPath<(String, String)>, page: Params<PageParams>) -> Json<ItemPage<AsideView>> = ledger::aside(&of.0, &of.1, page);
}
