//! The API of feed.

use axum::Json;
use axum::extract::RawQuery;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};

use super::parts::{Call, Params, handlers};
use crate::cases::credentials::{self, CredentialsForAgent};
use crate::cases::spend_feed::{self, SpendFeedPage, SpendFeedParams};
use crate::cases::{ApiProblem, client_settings, feed};

/// The type of a body that is JSON already.
fn json() -> (HeaderName, HeaderValue) {
    (CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

fn quoted(digest: &str) -> Result<HeaderValue, ApiProblem> {
    HeaderValue::from_str(&format!("\"{digest}\""))
        .map_err(|_| ApiProblem::internal("the digest of what an agent reads"))
}

/// Whether the sender has what has this digest.
fn is_known(headers: &HeaderMap, digest: &str) -> bool {
    let quoted = format!("\"{digest}\"");
    let mut all = headers.get_all(IF_NONE_MATCH).iter();
    all.any(|value| value.as_bytes() == quoted.as_bytes())
}

/// A page of the feed of keys, as gateways read it.
#[utoipa::path(get, operation_id = "read_feed_keys", path = "/api/v1/feed/keys", tag = "agents",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000)),
    responses((status = 200, body = serde_json::Value)))]
pub async fn keys(call: Call, RawQuery(query): RawQuery) -> Result<Response, ApiProblem> {
    let query = query.as_deref().unwrap_or_default();
    let page = feed::keys(&call.state, &call.caller, query).await?;
    Ok(([json()], page).into_response())
}

/// The document in force, as gateways get it.
#[utoipa::path(get, operation_id = "read_feed_document", path = "/api/v1/feed/document", tag = "agents",
    params(("If-None-Match" = Option<String>, Header)),
    responses((status = 200, body = serde_json::Value, headers(("etag" = String))), (status = 304)))]
pub async fn document(call: Call, headers: HeaderMap) -> Result<Response, ApiProblem> {
    let document = feed::document(&call.state, &call.caller).await?;
    let etag = quoted(&document.etag)?;
    if is_known(&headers, &document.etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response());
    }
    Ok(([json(), (ETAG, etag)], document.served).into_response())
}

handlers! {
    /// Lists the budgets and spend of subjects that have changed since a cursor. An unknown cursor starts from the beginning.
    #[utoipa::path(get, operation_id = "read_feed_spend", path = "/api/v1/feed/spend", tag = "agents", params(SpendFeedParams),
        responses((status = 200, body = SpendFeedPage)))]
    spend(asked: Params<SpendFeedParams>) -> Json<SpendFeedPage> = spend_feed::read(asked);
}

/// The settings that clients ask for, in the envelope in which gateways give them.
#[utoipa::path(get, operation_id = "read_feed_client_settings", path = "/api/v1/feed/client-settings", tag = "agents",
    params(("If-None-Match" = Option<String>, Header)),
    responses((status = 200, body = serde_json::Value, headers(("etag" = String))), (status = 204, description = "there are none"), (status = 304)))]
pub async fn client_settings(call: Call, headers: HeaderMap) -> Result<Response, ApiProblem> {
    let Some(envelope) = client_settings::for_agents(&call.state, &call.caller).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let etag = quoted(envelope.checksum())?;
    if is_known(&headers, envelope.checksum()) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response());
    }
    Ok(([json(), (ETAG, etag)], envelope.to_json()).into_response())
}

/// The credentials of the accounts in force, for an agent alone that was approved on the console's machine.
#[utoipa::path(get, operation_id = "read_feed_credentials", path = "/api/v1/feed/credentials", tag = "agents",
    params(("If-None-Match" = Option<String>, Header)),
    responses((status = 200, body = CredentialsForAgent, headers(("etag" = String))), (status = 304)))]
pub async fn credentials(call: Call, headers: HeaderMap) -> Result<Response, ApiProblem> {
    let known = |digest: &str| is_known(&headers, digest);
    let (digest, all) = credentials::for_agents(&call.state, &call.caller, known).await?;
    let etag = quoted(&digest)?;
    Ok(match all {
        Some(all) => ([(ETAG, etag)], Json(all)).into_response(),
        None => (StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response(),
    })
}
