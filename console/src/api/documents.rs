//! The API of documents.

use axum::Json;
use http::StatusCode;

use super::answers::{Created, Tagged};
use super::parts::{Body, Call, IfMatch, InPath, Params, handlers};
use crate::cases::ApiProblem;
use crate::cases::document_check::{self, DocumentCheckBody, DocumentCheckView};
use crate::cases::document_keys;
use crate::cases::documents::{self, DocumentHead, DocumentView, PublishAgainBody};
use crate::cases::drafts::DraftView;
use crate::cases::keys::{KeyListParams, KeyView};
use crate::cases::paging::{ItemPage, PageParams};

handlers! {
    /// The keys that stand in the document in force, as filtered, in the order of their ids. Members see their own, managers those of their `team`.
    #[utoipa::path(get, operation_id = "list_document_keys", path = "/api/v1/documents/current/keys", tag = "documents", params(KeyListParams, PageParams),
        responses((status = 200, body = ItemPage<KeyView>)))]
    keys(asked: Params<KeyListParams>, page: Params<PageParams>) -> Json<ItemPage<KeyView>> = document_keys::list(asked, page);

    /// Begins a draft in which a key of the document in force is disabled. Gateways hear of it when that is published.
    #[utoipa::path(post, operation_id = "disable_document_key", path = "/api/v1/documents/current/keys/{id}/disable", tag = "documents",
        params(("id" = String, Path)), responses((status = 201, body = DraftView)))]
    disable_key(id: InPath<String>) -> Created<DraftView> = document_keys::disable(&id);

    /// Every version, the latest first, without its text.
    #[utoipa::path(get, operation_id = "list_documents", path = "/api/v1/documents", tag = "documents", params(PageParams),
        responses((status = 200, body = ItemPage<DocumentHead>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<DocumentHead>> = documents::list(page);

    /// The version in force.
    #[utoipa::path(get, operation_id = "get_current_document", path = "/api/v1/documents/current", tag = "documents",
        responses((status = 200, body = DocumentView, headers(("etag" = String)))))]
    current() -> Tagged<DocumentView> = documents::current();

    /// One version.
    #[utoipa::path(get, operation_id = "get_document", path = "/api/v1/documents/{version}", tag = "documents", params(("version" = i64, Path)),
        responses((status = 200, body = DocumentView, headers(("etag" = String)))))]
    get(version: InPath<i64>) -> Tagged<DocumentView> = documents::get(version);

    /// Checks a document that is in no draft as a gateway would, beside the version in force, the keys and the credentials of the console. Nothing is kept of it.
    #[utoipa::path(post, operation_id = "check_document", path = "/api/v1/documents/check", tag = "documents", request_body = DocumentCheckBody,
        responses((status = 200, body = DocumentCheckView)))]
    check(asked: Body<DocumentCheckBody>) -> Json<DocumentCheckView> = document_check::check(asked);
}

/// Publishes an older version again: it is the newest then.
#[utoipa::path(post, operation_id = "publish_document_again", path = "/api/v1/documents/{version}/publish", tag = "documents", request_body = PublishAgainBody,
    params(("version" = i64, Path), ("If-Match" = String, Header, description = "the ETag of the version in force")),
    responses((status = 201, body = DocumentHead)))]
pub async fn publish_again(
    call: Call,
    InPath(version): InPath<i64>,
    IfMatch(seen): IfMatch,
    Body(body): Body<PublishAgainBody>,
) -> Result<(StatusCode, Tagged<DocumentHead>), ApiProblem> {
    let head = documents::publish_again(&call.state, &call.caller, version, seen, body).await?;
    Ok((StatusCode::CREATED, Tagged(head)))
}
