//! The feed of keys and the document in force, as agents serve them to gateways.

use http::StatusCode;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::feed::{PageError, PageRequest};
use crate::store::documents::{self, PublishedDocument};
use crate::store::key_feed;

/// A page of the feed of keys, as gateways read it.
pub async fn keys(
    state: &ConsoleState,
    caller: &Caller,
    query: &str,
) -> Result<Vec<u8>, ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    let page = match PageRequest::parse(query) {
        Ok(asked) => key_feed::page(&state.store, &asked).await,
        Err(error) => Err(error),
    };
    page.map_err(|error| match error {
        PageError::Bad(text) => ApiProblem::bad(text),
        PageError::Cursor(why) => {
            ApiProblem::new(StatusCode::GONE, "/problems/gone", why.to_string())
        }
        PageError::Unready(reason) => ApiProblem::internal(reason),
    })
}

/// The document in force, as gateways get it.
pub async fn document(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<PublishedDocument, ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    let mut transaction = state.store.read().await?;
    let document = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    document.ok_or_else(ApiProblem::not_found)
}
