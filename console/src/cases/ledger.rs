//! The ledger, as agents send it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
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
pub async fn position(
    state: &ConsoleState,
    caller: &Caller,
    envoy: &str,
    file: &str,
) -> Result<PositionView, ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    check_envoy(caller, envoy)?;
    // As a batch of nothing would have it.
    LedgerBatch::new(envoy, file, 0, &[], false)
        .map_err(|error| ApiProblem::bad(error.to_string()))?;
    let mut transaction = state.store.read().await?;
    let found = ledger_files::find(&mut transaction, envoy, file).await?;
    transaction.rollback().await;
    let found = found.unwrap_or_default();
    Ok(PositionView {
        position: found.position,
        lines: found.lines,
        aside: found.aside,
    })
}

/// Takes a part of a ledger file in, as far as its lines are whole. A part that comes again changes nothing. One that does not
/// begin where the parts before ended is refused with 409 and the position to go on from.
pub async fn send(
    state: &ConsoleState,
    caller: &Caller,
    envoy: &str,
    file: &str,
    asked: BatchParams,
    bytes: &[u8],
) -> Result<TakenView, ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    check_envoy(caller, envoy)?;
    let batch = LedgerBatch::new(envoy, file, asked.from, bytes, asked.ends);
    let batch = batch.map_err(|error| ApiProblem::bad(error.to_string()))?;
    let taken = take(&state.store, &batch, state.time()).await?;
    Ok(TakenView {
        position: taken.position,
        lines: taken.lines,
        aside: taken.aside,
    })
}

/// The lines of a file that could not be counted, or are void, from its beginning.
pub async fn aside(
    state: &ConsoleState,
    caller: &Caller,
    envoy: &str,
    file: &str,
    page: PageParams,
) -> Result<ItemPage<AsideView>, ApiProblem> {
    caller.must(rights::SEE_ENVOYS)?;
    let limit = page.limit()?;
    let after: i64 = page.after()?.unwrap_or(-1);
    LedgerBatch::new(envoy, file, 0, &[], false)
        .map_err(|error| ApiProblem::bad(error.to_string()))?;
    let mut transaction = state.store.read().await?;
    let lines = lines_aside::list(&mut transaction, envoy, file, after, limit.to_fetch()).await?;
    transaction.rollback().await;
    let view = |line: AsideLine| AsideView {
        position: line.position,
        length: line.length,
        reason: line.reason,
        detail: line.detail,
        line: line.line,
    };
    Ok(limit.page(lines, |line| line.position, view))
}
