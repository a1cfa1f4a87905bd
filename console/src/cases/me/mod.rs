//! The caller's own objects: the person, their teams and keys, and the remaining limits and budgets.

pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod teams;

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
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
pub fn me(caller: &Caller) -> Result<MeView, ApiProblem> {
    caller.must(rights::SEE_ONESELF)?;
    Ok(MeView {
        id: caller.id.clone(),
        name: caller.name.clone(),
        role: caller.role,
    })
}
