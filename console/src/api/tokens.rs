//! The API of tokens.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, OnceKey, Params, handlers};
use crate::cases::once::IdempotentResponse;
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::tokens::{self, CreatedToken, NewTokenBody, TokenListParams, TokenView};

handlers! {
    /// Tokens in the order of their ids; one's own, but for admins.
    #[utoipa::path(get, operation_id = "list_tokens", path = "/api/v1/tokens", tag = "people", params(TokenListParams, PageParams),
        responses((status = 200, body = ItemPage<TokenView>)))]
    list(asked: Params<TokenListParams>, page: Params<PageParams>) -> Json<ItemPage<TokenView>> = tokens::list(asked, page);

    /// Makes a token, which is shown this once.
    #[utoipa::path(post, operation_id = "create_token", path = "/api/v1/tokens", tag = "people", request_body = NewTokenBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedToken)))]
    create(once: OnceKey, new: Body<NewTokenBody>) -> IdempotentResponse<CreatedToken> = tokens::create(once.as_deref(), new);

    /// Removes a token: it is refused from the next request on.
    #[utoipa::path(delete, operation_id = "remove_token", path = "/api/v1/tokens/{id}", tag = "people", params(("id" = String, Path)),
        responses((status = 204)))]
    remove(id: InPath<String>) -> Done = tokens::remove(&id);
}
