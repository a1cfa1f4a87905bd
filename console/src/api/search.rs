//! The API of the search.

use axum::Json;

use super::parts::{Params, handlers};
use crate::cases::search::{self, SearchParams, SearchView};

handlers! {
    /// Searches requests by their ids, and keys, people, teams, groups and models by parts of their ids and names. Members find their own requests and keys.
    #[utoipa::path(get, operation_id = "search", path = "/api/v1/search", tag = "search", params(SearchParams),
        responses((status = 200, body = SearchView)))]
    find(asked: Params<SearchParams>) -> Json<SearchView> = search::find(&asked);
}
