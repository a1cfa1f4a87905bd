//! The API of requests.

use axum::Json;

use super::parts::{InPath, Params, handlers};
use crate::cases::one_request::{self, RequestDetail};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::requests::{self, RequestParams, RequestView};

handlers! {
    /// The latest requests, as far as their lines are kept. Members see their own. A page looks at some thousand requests at most: where
    /// few are as asked for it may be short, or empty, and `next` goes on from there.
    #[utoipa::path(get, operation_id = "list_requests", path = "/api/v1/requests", tag = "usage", params(RequestParams, PageParams),
        responses((status = 200, body = ItemPage<RequestView>)))]
    list(asked: Params<RequestParams>, page: Params<PageParams>) -> Json<ItemPage<RequestView>> = requests::list(asked, page);

    /// One request. Members see their own.
    #[utoipa::path(get, operation_id = "get_request", path = "/api/v1/requests/{id}", tag = "usage", params(("id" = String, Path)),
        responses((status = 200, body = RequestDetail)))]
    get(id: InPath<String>) -> Json<RequestDetail> = one_request::get(&id);
}
