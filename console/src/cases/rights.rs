//! The table of rights: the roles that may do what, and the scope that a token needs for it. A use case checks its right, a page asks for it before it shows a link to it,
//! and each route of the API names the one that it needs. Members see what is their own; the use cases see to that.

use super::role::Role::{self, Admin, Agent, Member, Viewer};
use super::scopes::{Area, Scope};

/// The roles that may do something, and the scope that a token needs for it.
#[derive(Debug, Clone, Copy)]
pub struct Right {
    /// The roles.
    pub roles: &'static [Role],
    /// The scope; `None`: every token has it.
    pub scope: Option<Scope>,
}

impl Right {
    /// Nobody's.
    pub const NOBODYS: Self = Self {
        roles: &[],
        scope: None,
    };

    /// Whether a role may do it.
    pub fn includes(self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// To see something of an area.
const fn see(roles: &'static [Role], area: Area) -> Right {
    let scope = Some(Scope::of(area, false));
    Right { roles, scope }
}

/// To change something of an area.
const fn change(roles: &'static [Role], area: Area) -> Right {
    let scope = Some(Scope::of(area, true));
    Right { roles, scope }
}

/// Everybody with a token.
const ALL: &[Role] = &[Admin, Member, Viewer, Agent];
/// People.
const PEOPLE: &[Role] = &[Admin, Member, Viewer];
/// Those who change what is their own.
const OWNING: &[Role] = &[Admin, Member];
/// Those who see everything.
const SEEING: &[Role] = &[Admin, Viewer];
/// Those who change something.
const ADMIN: &[Role] = &[Admin];
/// The agent beside an Envoy.
const ENVOY: &[Role] = &[Admin, Agent];
/// Agents alone: not even an admin sees a credential again.
const AGENT: &[Role] = &[Agent];

pub const SEE_ONESELF: Right = Right {
    roles: ALL,
    scope: None,
};
pub const SEE_OWN_KEYS: Right = see(PEOPLE, Area::Keys);
pub const CHANGE_OWN_KEYS: Right = change(OWNING, Area::Keys);
/// The notices that one is mailed.
pub const SEE_OWN_NOTICES: Right = see(PEOPLE, Area::Budgets);
pub const CHANGE_OWN_NOTICES: Right = change(PEOPLE, Area::Budgets);
pub const SEE_KEYS: Right = see(PEOPLE, Area::Keys);
pub const CHANGE_KEYS: Right = change(ADMIN, Area::Keys);
/// Of one key: a member changes some of those of a team that it manages.
pub const CHANGE_KEY: Right = change(OWNING, Area::Keys);
pub const SEE_USAGE: Right = see(PEOPLE, Area::Usage);
pub const SEE_REQUESTS: Right = see(PEOPLE, Area::Usage);
pub const SEE_COUNTS: Right = see(SEEING, Area::Usage);
pub const SEE_BUDGET: Right = see(PEOPLE, Area::Budgets);
pub const SEE_BUDGETS: Right = see(SEEING, Area::Budgets);
pub const CHANGE_BUDGETS: Right = change(ADMIN, Area::Budgets);
pub const SEE_WEBHOOKS: Right = see(SEEING, Area::Budgets);
pub const CHANGE_WEBHOOKS: Right = change(ADMIN, Area::Budgets);
pub const SEE_TOKENS: Right = see(PEOPLE, Area::Tokens);
pub const CHANGE_TOKENS: Right = change(PEOPLE, Area::Tokens);
pub const SEE_TEAMS: Right = see(SEEING, Area::People);
/// Of one team: a member sees one that it manages.
pub const SEE_TEAM: Right = see(PEOPLE, Area::People);
pub const CHANGE_MEMBERS: Right = change(OWNING, Area::People);
pub const CHANGE_TEAMS: Right = change(ADMIN, Area::People);
pub const SEE_PEOPLE: Right = see(SEEING, Area::People);
pub const CHANGE_PEOPLE: Right = change(ADMIN, Area::People);
/// The e-mail address of another person.
pub const SEE_NOTICES: Right = see(ADMIN, Area::People);
pub const SEE_SIGN_IN: Right = see(SEEING, Area::People);
pub const CHANGE_SIGN_IN: Right = change(ADMIN, Area::People);
pub const SEE_AUDIT: Right = see(SEEING, Area::Audit);
pub const SEE_DOCUMENTS: Right = see(SEEING, Area::Documents);
pub const CHANGE_DOCUMENTS: Right = change(ADMIN, Area::Documents);
pub const SEE_CLIENT_SETTINGS: Right = see(SEEING, Area::Documents);
pub const CHANGE_CLIENT_SETTINGS: Right = change(ADMIN, Area::Documents);
/// Settings of clients that are not inert: they can run commands on the machine of each person.
pub const APPROVE_CLIENT_SETTINGS: Right = change(ADMIN, Area::Machines);
pub const SEE_SETUP: Right = see(SEEING, Area::Documents);
pub const CHANGE_SETUP: Right = change(ADMIN, Area::Documents);
pub const SEE_CREDENTIALS: Right = see(SEEING, Area::Accounts);
pub const CHANGE_CREDENTIALS: Right = change(ADMIN, Area::Accounts);
pub const SEE_ENVOYS: Right = see(SEEING, Area::Envoys);
pub const CHANGE_ENVOYS: Right = change(ADMIN, Area::Envoys);
pub const RUN_ENVOY: Right = change(ENVOY, Area::Envoys);
pub const TAKE_CREDENTIALS: Right = change(AGENT, Area::Envoys);
pub const SEE_STORAGE: Right = see(SEEING, Area::Envoys);
