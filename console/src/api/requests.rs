//! Recent requests.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::parts::Params;
use super::problem::ApiProblem;
use super::state::ConsoleState;
use crate::store::requests::{self, RequestLine, RequestPlace, RequestQuery};

/// Which requests are asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct RequestParams {
    /// Of this key only.
    pub(crate) key: Option<String>,
}

/// A request.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestView {
    /// The Envoy that served it.
    pub(crate) envoy: String,
    /// Its line of the ledger.
    #[schema(value_type = Object)]
    pub(crate) line: Value,
}

fn view(line: RequestLine) -> RequestView {
    RequestView {
        envoy: line.envoy_id,
        // It could be read when it came; bytes that are no UTF-8 have been replaced since.
        line: serde_json::from_str(&line.line).unwrap_or(Value::String(line.line)),
    }
}

/// The latest requests, as far as their lines are kept. Members see their own.
#[utoipa::path(get, operation_id = "list_requests", path = "/api/v1/requests", tag = "usage", params(RequestParams, PageParams),
    responses((status = 200, body = ItemPage<RequestView>)))]
pub async fn list(
    State(state): State<ConsoleState>,
    caller: Caller,
    Params(asked): Params<RequestParams>,
    Params(page): Params<PageParams>,
) -> Result<Json<ItemPage<RequestView>>, ApiProblem> {
    let limit = page.limit()?;
    if asked.key.as_ref().is_some_and(|key| key.contains('\0')) {
        return Err(ApiProblem::bad("no name has a zero byte"));
    }
    let before: Option<RequestPlace> = page.after()?;
    let query = RequestQuery {
        key: asked.key.as_deref(),
        owner: caller.only_owner(),
        before: before.as_ref(),
        limit: limit.to_fetch(),
    };
    let mut transaction = state.store.read().await?;
    let lines = requests::recent(&mut transaction, &query).await?;
    transaction.rollback().await;
    Ok(Json(limit.page(lines, RequestLine::place, view)))
}
