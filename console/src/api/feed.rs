//! The routes for agents that serve gateways: the key feed and the document in force.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};

use super::problem::ApiProblem;
use super::state::ConsoleState;
use crate::feed::{PageError, PageRequest};
use crate::store::{documents, key_feed};

fn json() -> (HeaderName, HeaderValue) {
    (CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

/// A page of the feed of keys, as gateways read it.
#[utoipa::path(get, operation_id = "read_feed_keys", path = "/api/v1/feed/keys", tag = "agents",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000)),
    responses((status = 200, body = serde_json::Value)))]
pub async fn keys(
    State(state): State<ConsoleState>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let page = match PageRequest::parse(query.as_deref().unwrap_or_default()) {
        Ok(asked) => key_feed::page(&state.store, &asked).await,
        Err(error) => Err(error),
    };
    let page = page.map_err(|error| match error {
        PageError::Bad(text) => ApiProblem::bad(text),
        PageError::Cursor(why) => {
            ApiProblem::new(StatusCode::GONE, "/problems/gone", why.to_string())
        }
        PageError::Unready(reason) => ApiProblem::internal(reason),
    })?;
    Ok(([json()], page).into_response())
}

/// The document in force, as gateways get it.
#[utoipa::path(get, operation_id = "read_feed_document", path = "/api/v1/feed/document", tag = "agents",
    params(("If-None-Match" = Option<String>, Header)),
    responses((status = 200, body = serde_json::Value, headers(("etag" = String))), (status = 304)))]
pub async fn document(
    State(state): State<ConsoleState>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let document = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    let document = document.ok_or_else(ApiProblem::not_found)?;
    let etag = HeaderValue::from_str(&format!("\"{}\"", document.etag));
    let etag = etag.map_err(|_| ApiProblem::internal("the digest of the document in force"))?;
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .any(|value| value == etag);
    if known {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response());
    }
    Ok(([json(), (ETAG, etag)], document.served).into_response())
}
