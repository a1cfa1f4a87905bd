//! The API of drafts.

use axum::Json;
use http::StatusCode;

use super::answers::{Done, Tagged};
use super::parts::{Body, Call, IfMatch, InPath, OnceKey, Params, handlers};
use crate::cases::ApiProblem;
use crate::cases::document_check::CheckView;
use crate::cases::documents::DocumentHead;
use crate::cases::drafts::{self, DiffView, DraftBody, DraftHead, DraftView};
use crate::cases::once::IdempotentResponse;
use crate::cases::paging::{ItemPage, PageParams};

handlers! {
    /// Drafts in the order of their ids, without their texts.
    #[utoipa::path(get, operation_id = "list_drafts", path = "/api/v1/drafts", tag = "documents", params(PageParams),
        responses((status = 200, body = ItemPage<DraftHead>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<DraftHead>> = drafts::list(page);

    /// Begins a draft. It need not be valid yet.
    #[utoipa::path(post, operation_id = "create_draft", path = "/api/v1/drafts", tag = "documents", request_body = DraftBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = DraftView)))]
    create(once: OnceKey, body: Body<DraftBody>) -> IdempotentResponse<DraftView> = drafts::create(once.as_deref(), body);

    /// One draft; its ETag is what changes of it name.
    #[utoipa::path(get, operation_id = "get_draft", path = "/api/v1/drafts/{id}", tag = "documents", params(("id" = String, Path)),
        responses((status = 200, body = DraftView, headers(("etag" = String)))))]
    get(id: InPath<String>) -> Tagged<DraftView> = drafts::get(&id);

    /// Changes a draft: its text if one is given, and its note.
    #[utoipa::path(put, operation_id = "change_draft", path = "/api/v1/drafts/{id}", tag = "documents", request_body = DraftBody,
        params(("id" = String, Path), ("If-Match" = String, Header, description = "the ETag of the draft")),
        responses((status = 200, body = DraftView, headers(("etag" = String)))))]
    change(id: InPath<String>, seen: IfMatch, body: Body<DraftBody>) -> Tagged<DraftView> = drafts::change(&id, seen, body);

    /// Removes a draft.
    #[utoipa::path(delete, operation_id = "remove_draft", path = "/api/v1/drafts/{id}", tag = "documents",
        params(("id" = String, Path), ("If-Match" = String, Header, description = "the ETag of the draft")),
        responses((status = 204)))]
    remove(id: InPath<String>, seen: IfMatch) -> Done = drafts::remove(&id, seen);

    /// Checks a draft as a gateway would, with the filter's own code.
    #[utoipa::path(get, operation_id = "check_draft", path = "/api/v1/drafts/{id}/check", tag = "documents", params(("id" = String, Path)),
        responses((status = 200, body = CheckView)))]
    check(id: InPath<String>) -> Json<CheckView> = drafts::check(&id);

    /// The differences between a draft and the version in force.
    #[utoipa::path(get, operation_id = "diff_draft", path = "/api/v1/drafts/{id}/diff", tag = "documents", params(("id" = String, Path)),
        responses((status = 200, body = DiffView)))]
    diff(id: InPath<String>) -> Json<DiffView> = drafts::diff(&id);
}

/// Publishes a draft, which is gone then.
#[utoipa::path(post, operation_id = "publish_draft", path = "/api/v1/drafts/{id}/publish", tag = "documents",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "the ETag of the draft")),
    responses((status = 201, body = DocumentHead)))]
pub async fn publish(
    call: Call,
    InPath(id): InPath<String>,
    IfMatch(seen): IfMatch,
) -> Result<(StatusCode, Tagged<DocumentHead>), ApiProblem> {
    let head = drafts::publish(&call.state, &call.caller, &id, seen).await?;
    Ok((StatusCode::CREATED, Tagged(head)))
}
