//! Published documents.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
pub use super::document_reach::DocumentReach;
use super::document_reach::FleetReports;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::documents as life;
use crate::store::documents::{self, PublishedDocument};
use crate::timestamp::moment;

/// A published document without its text.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentHead {
    /// The version of the document, from 1. The greatest is in force.
    pub(crate) version: i64,
    /// The digest of what gateways get.
    pub(crate) sha256: String,
    /// The id of the person who published it.
    pub(crate) author: String,
    /// The publisher's note on the reason for this version.
    pub(crate) note: String,
    /// The version that it publishes again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) again: Option<i64>,
    /// The time of publication, as RFC 3339.
    pub(crate) published_at: String,
    /// The rollout of the document. Absent if it was published just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reach: Option<DocumentReach>,
}

/// A published document.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentView {
    #[serde(flatten)]
    pub(crate) head: DocumentHead,
    /// The text of the document, as it was written.
    pub(crate) body: String,
}

/// The request to publish an older version again, with the reason.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishAgainBody {
    /// The publisher's note on the reason for this version.
    #[schema(max_length = 1000)]
    pub(crate) note: String,
}

/// Makes the view of a document without its text.
pub fn head(document: &PublishedDocument) -> DocumentHead {
    DocumentHead {
        version: document.version,
        sha256: document.etag.clone(),
        author: document.author.clone(),
        note: document.note.clone(),
        again: document.again,
        published_at: moment(document.published_at),
        reach: None,
    }
}

async fn view(
    state: &ConsoleState,
    document: Option<PublishedDocument>,
) -> Result<DocumentView, ApiProblem> {
    let document = document.ok_or_else(ApiProblem::not_found)?;
    Ok(DocumentView {
        head: DocumentHead {
            reach: Some(reach(state, &document).await?),
            ..head(&document)
        },
        body: document.body,
    })
}

/// Counts the Envoys that have a document.
///
/// # Errors
/// Those of the database.
pub(crate) async fn reach(
    state: &ConsoleState,
    document: &PublishedDocument,
) -> Result<DocumentReach, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let reports = FleetReports::read(&mut transaction).await?;
    transaction.rollback().await;
    Ok(reports.of(&document.etag))
}

/// Every version, the latest first, without its text.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<DocumentHead>, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let limit = page.limit()?;
    let before: i64 = page.after()?.unwrap_or(i64::MAX);
    let mut transaction = state.store.read().await?;
    let history = documents::history(&mut transaction, before, limit.to_fetch()).await?;
    let reports = FleetReports::read(&mut transaction).await?;
    transaction.rollback().await;
    let page = limit.page(
        history,
        |document| document.version,
        |document| DocumentHead {
            reach: Some(reports.of(&document.etag)),
            ..head(&document)
        },
    );
    Ok(page)
}

/// The version in force.
pub async fn current(state: &ConsoleState, caller: &Caller) -> Result<DocumentView, ApiProblem> {
    let document = in_force(state, caller).await?;
    view(state, document).await
}

/// The currency of the document in force; empty without one.
///
/// # Errors
/// Those of the database.
pub(crate) async fn currency(state: &ConsoleState) -> Result<String, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let currency = documents::currency(&mut transaction).await?;
    transaction.rollback().await;
    Ok(currency)
}

/// The version in force, if there is one.
///
/// # Errors
/// Those of the database.
pub(crate) async fn in_force(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Option<PublishedDocument>, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let mut transaction = state.store.read().await?;
    let document = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    Ok(document)
}

/// One version, if there is it.
///
/// # Errors
/// Those of the database.
pub(crate) async fn version(
    state: &ConsoleState,
    caller: &Caller,
    version: i64,
) -> Result<Option<PublishedDocument>, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let mut transaction = state.store.read().await?;
    let document = documents::find(&mut transaction, version).await?;
    transaction.rollback().await;
    Ok(document)
}

/// One version.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    version: i64,
) -> Result<DocumentView, ApiProblem> {
    let document = self::version(state, caller, version).await?;
    view(state, document).await
}

/// Publishes an older version again: it is the newest then.
pub async fn publish_again(
    state: &ConsoleState,
    caller: &Caller,
    version: i64,
    seen: i64,
    body: PublishAgainBody,
) -> Result<DocumentHead, ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    if body.note.len() > 1000 || body.note.contains('\0') {
        return Err(ApiProblem::invalid(
            "note",
            text!("must be at most 1000 bytes, none of them zero"),
        ));
    }
    let (store, actor) = (&state.store, caller.actor());
    let again = life::publish_again(store, version, seen, &body.note, &actor, state.now());
    let document = again.await.map_err(|error| match error {
        // Its ETag was named.
        error @ life::DocumentError::Outdated { .. } => ApiProblem::precondition(error.to_string()),
        error => error.into(),
    })?;
    Ok(head(&document))
}
