//! The sender of a request.

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::problem::ApiProblem;
use super::role::Role;
use crate::client_address::ClientAddress;
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

    /// Returns the only owner whose objects the caller sees; `None`: the objects of all owners.
    pub fn only_owner(&self) -> Option<&str> {
        match self.role {
            Role::Admin | Role::Viewer => None,
            Role::Member | Role::Agent => Some(&self.id),
        }
    }
}

/// The address that a request comes from.
pub fn address(request: &Parts) -> String {
    let address = request.extensions.get::<ClientAddress>();
    address.map_or_else(String::new, |ClientAddress(address)| address.clone())
}

/// The address that a request comes from.
#[derive(Debug)]
pub struct RemoteAddress(pub String);

impl<S: Sync> FromRequestParts<S> for RemoteAddress {
    type Rejection = core::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(address(parts)))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(ApiProblem::unauthorized)
    }
}
