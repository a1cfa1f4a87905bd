//! Drafts of the configuration document.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::caller::Caller;
use super::document_check::{self, CheckView};
use super::documents::{DocumentHead, head};
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::documents::{self as life, NewDraft};
use crate::in_transaction;
use crate::secret;
use crate::store::drafts::{self, Draft};
use crate::store::{Transaction, audit, documents};
use crate::timestamp::moment;

/// A draft without its text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DraftHead {
    /// The id of the draft.
    pub(crate) id: String,
    /// Grows with each change; its ETag.
    pub(crate) revision: i64,
    /// The version that was in force when it was begun; 0: none was.
    pub(crate) based_on: i64,
    /// The id of the person who last changed it.
    pub(crate) author: String,
    /// The purpose of the draft, in words.
    pub(crate) note: String,
    /// The time at which the draft was begun, as RFC 3339.
    pub(crate) created_at: String,
    /// The time of the latest change, as RFC 3339.
    pub(crate) changed_at: String,
}

/// A draft.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DraftView {
    #[serde(flatten)]
    pub(crate) head: DraftHead,
    /// The document, as it is written.
    pub(crate) body: String,
}

/// A draft to be begun or changed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftBody {
    /// The document. A new draft without one begins with the version in force.
    pub(crate) body: Option<String>,
    /// The purpose of the draft, in words.
    #[serde(default)]
    #[schema(max_length = 1000)]
    pub(crate) note: String,
    /// Whether to base the draft on the version in force, which the sender has seen.
    #[serde(default)]
    pub(crate) rebase: bool,
}

/// The differences between a draft and the version in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffView {
    /// The version in force; 0: none is.
    from: i64,
    /// The JSON Patch (RFC 6902) from that version to the draft; missing if either is not JSON.
    #[schema(value_type = Option<Vec<Object>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<json_patch::Patch>,
}

pub(super) fn draft_head(draft: &Draft) -> DraftHead {
    DraftHead {
        id: draft.id.clone(),
        revision: draft.revision,
        based_on: draft.based_on,
        author: draft.author.clone(),
        note: draft.note.clone(),
        created_at: moment(draft.created_at),
        changed_at: moment(draft.changed_at),
    }
}

pub(super) fn view(draft: Draft) -> DraftView {
    DraftView {
        head: draft_head(&draft),
        body: draft.body,
    }
}

/// Drafts in the order of their ids, without their texts.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<DraftHead>, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let drafts = drafts::list(&mut transaction, &after, limit.to_fetch()).await?;
    transaction.rollback().await;
    let page = limit.page(drafts, |draft| draft.id.clone(), |draft| draft_head(&draft));
    Ok(page)
}

/// Begins a draft. It need not be valid yet.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    body: DraftBody,
) -> Result<IdempotentResponse<DraftView>, ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    check_texts(&body)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/drafts", &body)?;
    let new = NewDraft {
        id: format!("draft_{}", secret::new_id().map_err(ApiProblem::internal)?),
        body: body.body.clone(),
        note: body.note.clone(),
    };
    let now = state.now();
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let draft = life::begin(transaction, &new, &caller.actor(), now).await?;
        once.answer(transaction, view(draft), None, now).await
    })
}

/// The most drafts of one's own that are looked at.
const OWN: i64 = 20;

/// Returns the draft that a change goes into, and whether it was begun for it: one's own of what is in force that `has` what is to be
/// changed, the latest changed, or a new one.
///
/// # Errors
/// The role may not change documents; what is in force does not have it; those of the database.
pub(crate) async fn own(
    state: &ConsoleState,
    caller: &Caller,
    has: impl Fn(&Value) -> bool,
) -> Result<(Draft, bool), ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    let new = NewDraft {
        id: format!("draft_{}", secret::new_id().map_err(ApiProblem::internal)?),
        body: None,
        note: String::new(),
    };
    let (actor, now) = (caller.actor(), state.now());
    in_transaction!(state.store, transaction => {
        // Who presses twice gets one draft.
        documents::lock(transaction).await?;
        let current = documents::current(transaction).await?;
        let version = current.as_ref().map_or(0, |current| current.version);
        let own = drafts::of_author(transaction, &actor.id, version, OWN).await?;
        let fits = |draft: &Draft| serde_json::from_str(&draft.body).is_ok_and(|text| has(&text));
        if let Some(found) = own.into_iter().find(fits) {
            return Ok((found, false));
        }
        let in_force = current.and_then(|current| serde_json::from_str(&current.body).ok());
        if !in_force.as_ref().is_some_and(&has) {
            return Err(ApiProblem::not_found());
        }
        Ok((life::begin(transaction, &new, &actor, now).await?, true))
    })
}

/// One draft; its ETag is what changes of it name.
pub async fn get(state: &ConsoleState, caller: &Caller, id: &str) -> Result<DraftView, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let draft = read(state, caller, id).await?;
    Ok(view(draft))
}

/// Changes a draft: its text if one is given, and its note.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    seen: i64,
    body: DraftBody,
) -> Result<DraftView, ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    check_texts(&body)?;
    let draft = read(state, caller, id).await?;
    let changed = Draft {
        body: body.body.unwrap_or(draft.body.clone()),
        note: body.note,
        changed_at: state.now(),
        ..draft
    };
    let store = &state.store;
    let draft = life::change(store, &changed, seen, body.rebase, &caller.actor()).await?;
    Ok(view(draft))
}

/// Removes a draft.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    seen: i64,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    in_transaction!(state.store, transaction => {
        if id.contains('\0') {
            return Err(ApiProblem::not_found());
        }
        let draft = life::find_locked(transaction, id, seen).await?;
        drafts::remove(transaction, &draft).await?;
        let entry = caller.actor().entry(state.now(), "draft.remove", id);
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

/// Checks a draft as a gateway would, with the filter's own code.
pub async fn check(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<CheckView, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let draft = read(state, caller, id).await?;
    document_check::of(state, caller, &draft.body).await
}

/// The differences between a draft and the version in force.
pub async fn diff(state: &ConsoleState, caller: &Caller, id: &str) -> Result<DiffView, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let mut transaction = state.store.read().await?;
    let draft = find(&mut transaction, id).await?;
    let current = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    let from = current.as_ref().map_or(0, |current| current.version);
    let current = current.map_or_else(|| "{}".to_owned(), |current| current.body);
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let both = json(&current).zip(json(&draft.body));
    Ok(DiffView {
        from,
        patch: both.map(|(current, draft)| json_patch::diff(&current, &draft)),
    })
}

/// Publishes a draft, which is gone then.
pub async fn publish(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    seen: i64,
) -> Result<DocumentHead, ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    find(&mut state.store.read().await?, id).await?;
    let (store, actor) = (&state.store, caller.actor());
    let document = life::publish(store, id, seen, &state.prices, &actor, state.now()).await?;
    Ok(head(&document))
}

/// A draft as it is, for a page.
///
/// # Errors
/// There is no draft of this id.
pub(crate) async fn read(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<Draft, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let mut transaction = state.store.read().await?;
    let draft = find(&mut transaction, id).await?;
    transaction.rollback().await;
    Ok(draft)
}

async fn find(transaction: &mut Transaction, id: &str) -> Result<Draft, ApiProblem> {
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let draft = drafts::find(transaction, id).await?;
    draft.ok_or_else(ApiProblem::not_found)
}

/// Rejects texts with a zero byte, and notes of more than 1000 bytes.
fn check_texts(body: &DraftBody) -> Result<(), ApiProblem> {
    if body.body.as_ref().is_some_and(|body| body.contains('\0')) {
        return Err(ApiProblem::invalid("body", text!("has a zero byte")));
    }
    if body.note.len() > 1000 || body.note.contains('\0') {
        return Err(ApiProblem::invalid(
            "note",
            text!("must be at most 1000 bytes, none of them zero"),
        ));
    }
    Ok(())
}
