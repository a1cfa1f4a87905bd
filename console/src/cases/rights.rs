//! The table of rights: the roles that may do what. A use case checks its right, a page asks for it before it shows a link to it,
//! and each route of the API names the one that it needs. Members see what is their own; the use cases see to that.

use super::role::Role::{self, Admin, Agent, Member, Viewer};

/// The roles that may do something.
#[derive(Debug, Clone, Copy)]
pub struct Right(pub &'static [Role]);

impl Right {
    /// Whether a role may do it.
    pub fn includes(self, role: Role) -> bool {
        self.0.contains(&role)
    }
}

/// Everybody with a token.
const ALL: Right = Right(&[Admin, Member, Viewer, Agent]);
/// People.
const PEOPLE: Right = Right(&[Admin, Member, Viewer]);
/// Those who change what is their own.
const OWNING: Right = Right(&[Admin, Member]);
/// Those who see everything.
const SEEING: Right = Right(&[Admin, Viewer]);
/// Those who change something.
const ADMIN: Right = Right(&[Admin]);
/// The agent beside an Envoy.
const ENVOY: Right = Right(&[Admin, Agent]);
/// Agents alone: not even an admin sees a credential again.
const AGENT: Right = Right(&[Agent]);

pub const SEE_ONESELF: Right = ALL;
pub const SEE_OWN_KEYS: Right = PEOPLE;
pub const CHANGE_OWN_KEYS: Right = OWNING;
pub const SEE_KEYS: Right = PEOPLE;
pub const CHANGE_KEYS: Right = ADMIN;
pub const SEE_USAGE: Right = PEOPLE;
pub const SEE_REQUESTS: Right = PEOPLE;
pub const SEE_BUDGET: Right = PEOPLE;
pub const SEE_BUDGETS: Right = SEEING;
pub const CHANGE_BUDGETS: Right = ADMIN;
pub const USE_TOKENS: Right = PEOPLE;
pub const SEE_TEAMS: Right = SEEING;
pub const CHANGE_TEAMS: Right = ADMIN;
pub const SEE_PEOPLE: Right = SEEING;
pub const CHANGE_PEOPLE: Right = ADMIN;
pub const SEE_AUDIT: Right = SEEING;
pub const SEE_COUNTS: Right = SEEING;
pub const SEE_DOCUMENTS: Right = SEEING;
pub const CHANGE_DOCUMENTS: Right = ADMIN;
pub const SEE_SETUP: Right = SEEING;
pub const CHANGE_SETUP: Right = ADMIN;
pub const SEE_CREDENTIALS: Right = SEEING;
pub const CHANGE_CREDENTIALS: Right = ADMIN;
pub const SEE_ENVOYS: Right = SEEING;
pub const CHANGE_ENVOYS: Right = ADMIN;
pub const RUN_ENVOY: Right = ENVOY;
pub const TAKE_CREDENTIALS: Right = AGENT;
pub const SEE_WEBHOOKS: Right = SEEING;
pub const CHANGE_WEBHOOKS: Right = ADMIN;
pub const SEE_STORAGE: Right = SEEING;
