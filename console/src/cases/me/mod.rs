//! The caller's own objects: the person, their teams and keys, and the remaining limits and budgets.

pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod models;
pub(crate) mod teams;
pub(crate) mod trial;

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::scopes::Scopes;

/// The person whose token a request has.
#[derive(Debug, Serialize, ToSchema)]
pub struct MeView {
    /// The person's id.
    id: String,
    /// The person's name.
    name: String,
    /// The role, which decides the routes that the person may use.
    role: Role,
    /// The scopes of the token; absent: all that the person may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
}

/// Returns the person whose token the request has.
pub fn me(caller: &Caller) -> Result<MeView, ApiProblem> {
    caller.must(rights::SEE_ONESELF)?;
    Ok(MeView {
        id: caller.id.clone(),
        name: caller.name.clone(),
        role: caller.role,
        scopes: caller.scopes.as_ref().map(Scopes::names),
    })
}
