//! The caller's own objects: the person, their teams and keys, and the remaining limits and budgets.

pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod teams;

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::role::Role;

/// The person whose token a request has.
#[derive(Debug, Serialize, ToSchema)]
pub struct MeView {
    /// The person's id.
    id: String,
    /// The person's name.
    name: String,
    /// The role, which decides the routes that the person may use.
    role: Role,
}

/// Returns the person whose token the request has.
#[utoipa::path(get, operation_id = "get_me", path = "/api/v1/me", tag = "people", responses((status = 200, body = MeView)))]
pub async fn me(caller: Caller) -> Json<MeView> {
    Json(MeView {
        id: caller.id,
        name: caller.name,
        role: caller.role,
    })
}
