//! Authentication of the token of a request, and authorization of the person it belongs to.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue};
use http::request::Parts;

use super::routes;
use crate::cases::{ApiProblem, Caller, ConsoleState, Role, Scopes};
use crate::client_address::address;
use crate::secret;
use crate::store::api_tokens::{self, TokenHolder};
use crate::store::memberships::managed_by;

/// Lets a request pass whose token is good and whose role may use its route.
pub async fn sign_in(
    State(state): State<ConsoleState>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut response = match caller(&state, &path, &parts).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    };
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .entry(CACHE_CONTROL)
        .or_insert(no_store);
    response
}

async fn caller(
    state: &ConsoleState,
    path: &MatchedPath,
    request: &Parts,
) -> Result<Caller, ApiProblem> {
    let header = request.headers.get(AUTHORIZATION);
    let header = header.and_then(|value| value.to_str().ok());
    let (scheme, token) = header
        .and_then(|value| value.split_once(' '))
        .ok_or_else(ApiProblem::unauthorized)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(ApiProblem::unauthorized());
    }
    let digest = secret::digest(token.trim());
    let mut transaction = state.store.read().await?;
    let found = api_tokens::holder(&mut transaction, &digest, state.now()).await?;
    let managed = match &found {
        Some(found) => managed_by(&mut transaction, &found.person).await?,
        None => Vec::new(),
    };
    transaction.rollback().await;
    let TokenHolder {
        token,
        scopes,
        person,
    } = found.ok_or_else(ApiProblem::unauthorized)?;
    let role = Role::parse(&person.role).ok_or_else(ApiProblem::unauthorized)?;
    let caller = Caller {
        id: person.id,
        name: person.name,
        role,
        token,
        scopes: scopes.as_deref().map(Scopes::stored),
        address: address(request),
        managed,
    };
    caller.must(routes::right(&request.method, path.as_str()))?;
    Ok(caller)
}
