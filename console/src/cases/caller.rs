//! The sender of a request.

use super::problem::ApiProblem;
use super::rights::Right;
use super::role::Role;
use crate::store::audit::Actor;

/// The authenticated sender of a request, as found by `sign_in`.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The person's id.
    pub id: String,
    /// The person's name.
    pub name: String,
    /// The role, which decides the routes that the person may use.
    pub role: Role,
    /// The id of the token.
    pub token: String,
    /// The address that the request comes from.
    pub address: String,
}

impl Caller {
    /// For the audit.
    pub fn actor(&self) -> Actor {
        Actor {
            id: self.id.clone(),
            address: self.address.clone(),
        }
    }

    /// Whether the caller's role may do this.
    pub fn may(&self, right: Right) -> bool {
        right.includes(self.role)
    }

    /// Lets a caller pass who may do this.
    ///
    /// # Errors
    /// 403: the role may not.
    pub fn must(&self, right: Right) -> Result<(), ApiProblem> {
        if self.may(right) {
            return Ok(());
        }
        let name = self.role.name();
        Err(ApiProblem::forbidden(format!(
            "the role {name} may not do this"
        )))
    }

    /// Returns the only owner whose objects the caller sees; `None`: the objects of all owners.
    pub fn only_owner(&self) -> Option<&str> {
        match self.role {
            Role::Admin | Role::Viewer => None,
            Role::Member | Role::Agent => Some(&self.id),
        }
    }
}
