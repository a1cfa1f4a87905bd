//! What is one's own: who one is, one's teams and keys, and what is left of what binds them.

pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod teams;

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::role::Role;

/// Who sends a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct MeView {
    /// The person's id.
    id: String,
    /// The person's name.
    name: String,
    /// What that person may do.
    role: Role,
}

/// Whose token this is.
#[utoipa::path(get, operation_id = "get_me", path = "/api/v1/me", tag = "people", responses((status = 200, body = MeView)))]
pub async fn me(caller: Caller) -> Json<MeView> {
    Json(MeView {
        id: caller.id,
        name: caller.name,
        role: caller.role,
    })
}
