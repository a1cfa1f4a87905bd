//! The roles of people.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The role of a person, which decides the routes they may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Admin,
    /// See what is one's own: keys, usage, requests.
    Member,
    /// See everything, change nothing.
    Viewer,
    /// The agent of one Envoy: send its ledger, read document and keys.
    Agent,
}

impl Role {
    /// All.
    pub const ALL: [Self; 4] = [Self::Admin, Self::Member, Self::Viewer, Self::Agent];

    /// Returns the name of the role, as in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Viewer => "viewer",
            Self::Agent => "agent",
        }
    }

    /// The role of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}
