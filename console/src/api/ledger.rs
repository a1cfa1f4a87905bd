//! The ledger, as agents send it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::parts::{InPath, Params};
use super::problem::ApiProblem;
use super::role::Role;
use super::state::ConsoleState;
use crate::intake::{LedgerBatch, take};
use crate::store::ledger_files;
use crate::store::lines_aside::{self, AsideLine};

/// The position of a batch in its ledger file.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BatchParams {
    /// The byte offset of the batch in the file.
    #[param(minimum = 0)]
    from: u64,
    /// The file has no more, and gets no more: its last line is one, whole or not.
    #[serde(default)]
    ends: bool,
}

/// The position up to which a ledger file was taken in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PositionView {
    /// The byte offset at which the next batch begins.
    pub position: i64,
    /// Lines that were counted so far.
    lines: i64,
    /// Lines that were kept aside so far.
    aside: i64,
}

/// The result of taking in a batch.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TakenView {
    /// The byte offset at which the next batch begins.
    pub position: i64,
    /// The lines that were counted now; none if the batch came before.
    pub lines: usize,
    /// The lines that were kept aside now.
    pub aside: usize,
}

/// A line that could not be counted, or is void.
#[derive(Debug, Serialize, ToSchema)]
pub struct AsideView {
    /// The byte offset of the line in its file.
    position: i64,
    /// The length of the line, in bytes.
    length: i64,
    /// `foreign`, `damaged`, `cut`, `too_long` or `void`.
    reason: String,
    /// The fault of the line, in words.
    detail: String,
    /// The beginning of the line.
    line: String,
}

/// An agent sends for its own Envoy.
fn check_envoy(caller: &Caller, envoy: &str) -> Result<(), ApiProblem> {
    if caller.role == Role::Agent && caller.id != envoy {
        return Err(ApiProblem::forbidden(
            "an agent sends the ledger of its own Envoy",
        ));
    }
    Ok(())
}

/// Returns the position at which a ledger file continues.
#[utoipa::path(get, operation_id = "get_ledger_position", path = "/api/v1/ledger/{envoy}/{file}", tag = "agents",
    params(("envoy" = String, Path), ("file" = String, Path)), responses((status = 200, body = PositionView)))]
pub async fn position(
    State(state): State<ConsoleState>,
    caller: Caller,
    InPath((envoy, file)): InPath<(String, String)>,
) -> Result<Json<PositionView>, ApiProblem> {
    check_envoy(&caller, &envoy)?;
    // As a batch of nothing would have it.
    LedgerBatch::new(&envoy, &file, 0, &[], false)
        .map_err(|error| ApiProblem::bad(error.to_string()))?;
    let mut transaction = state.store.read().await?;
    let found = ledger_files::find(&mut transaction, &envoy, &file).await?;
    transaction.rollback().await;
    let found = found.unwrap_or_default();
    Ok(Json(PositionView {
        position: found.position,
        lines: found.lines,
        aside: found.aside,
    }))
}

/// Takes a part of a ledger file in, as far as its lines are whole. A part that comes again changes nothing. One that does not
/// begin where the parts before ended is refused with 409 and the position to go on from.
#[utoipa::path(post, operation_id = "send_ledger", path = "/api/v1/ledger/{envoy}/{file}", tag = "agents",
    params(("envoy" = String, Path), ("file" = String, Path), BatchParams),
    request_body(content = Option<String>, content_type = "application/x-ndjson"),
    responses((status = 200, body = TakenView)))]
pub async fn send(
    State(state): State<ConsoleState>,
    caller: Caller,
    InPath((envoy, file)): InPath<(String, String)>,
    Params(asked): Params<BatchParams>,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<TakenView>, ApiProblem> {
    check_envoy(&caller, &envoy)?;
    let bytes = bytes.map_err(|rejection| {
        ApiProblem::new(rejection.status(), "/problems/body", rejection.body_text())
    })?;
    let batch = LedgerBatch::new(&envoy, &file, asked.from, &bytes, asked.ends);
    let batch = batch.map_err(|error| ApiProblem::bad(error.to_string()))?;
    let taken = take(&state.store, &batch, state.time()).await?;
    Ok(Json(TakenView {
        position: taken.position,
        lines: taken.lines,
        aside: taken.aside,
    }))
}

/// The lines of a file that could not be counted, or are void, from its beginning.
#[utoipa::path(get, operation_id = "list_ledger_aside", path = "/api/v1/ledger/{envoy}/{file}/aside", tag = "agents",
    params(("envoy" = String, Path), ("file" = String, Path), PageParams),
    responses((status = 200, body = ItemPage<AsideView>)))]
pub async fn aside(
    State(state): State<ConsoleState>,
    InPath((envoy, file)): InPath<(String, String)>,
    Params(page): Params<PageParams>,
) -> Result<Json<ItemPage<AsideView>>, ApiProblem> {
    let limit = page.limit()?;
    let after: i64 = page.after()?.unwrap_or(-1);
    LedgerBatch::new(&envoy, &file, 0, &[], false)
        .map_err(|error| ApiProblem::bad(error.to_string()))?;
    let mut transaction = state.store.read().await?;
    let lines = lines_aside::list(&mut transaction, &envoy, &file, after, limit.to_fetch()).await?;
    transaction.rollback().await;
    let view = |line: AsideLine| AsideView {
        position: line.position,
        length: line.length,
        reason: line.reason,
        detail: line.detail,
        line: line.line,
    };
    Ok(Json(limit.page(lines, |line| line.position, view)))
}
