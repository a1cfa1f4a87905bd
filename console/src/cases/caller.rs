//! The sender of a request.

use trilane::limits::{SubjectKind, member_parts};

use super::problem::ApiProblem;
use super::rights::Right;
use super::role::Role;
use super::scopes::{Scope, Scopes};
use crate::language::translated;
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
    /// The scopes of the token; `None`: all that the role may do.
    pub scopes: Option<Scopes>,
    /// The address that the request comes from.
    pub address: String,
    /// The ids of the teams that the person manages.
    pub managed: Vec<String>,
}

impl Caller {
    /// For the audit.
    pub fn actor(&self) -> Actor {
        Actor {
            id: self.id.clone(),
            address: self.address.clone(),
        }
    }

    /// Whether the caller's role may do this, and the token.
    pub fn may(&self, right: Right) -> bool {
        right.includes(self.role) && self.missing(right).is_none()
    }

    /// The scope that the caller's token lacks for this.
    fn missing(&self, right: Right) -> Option<Scope> {
        let scopes = self.scopes.as_ref()?;
        right.scope.filter(|scope| !scopes.include(*scope))
    }

    /// Lets a caller pass who may do this.
    ///
    /// # Errors
    /// 403: the role may not, or the token.
    pub fn must(&self, right: Right) -> Result<(), ApiProblem> {
        if self.may(right) {
            return Ok(());
        }
        if right.includes(self.role)
            && let Some(scope) = self.missing(right)
        {
            let detail = t!("this token does not have the scope {scope}", scope = scope);
            return Err(ApiProblem::forbidden(detail));
        }
        let name = self.role.name();
        Err(ApiProblem::forbidden(t!(
            "the role {name} may not do this",
            name = translated(name)
        )))
    }

    /// Returns the only owner whose objects the caller sees; `None`: the objects of all owners.
    pub fn only_owner(&self) -> Option<&str> {
        match self.role {
            Role::Admin | Role::Viewer => None,
            Role::Member | Role::Agent => Some(&self.id),
        }
    }

    /// Whether the caller manages this team.
    pub fn manages(&self, team: Option<&str>) -> bool {
        team.is_some_and(|team| self.managed.iter().any(|managed| managed == team))
    }

    /// Returns the only owner whose objects of this team the caller sees; `None`: the objects of all owners, for a manager those of the
    /// team.
    pub fn only_owner_in(&self, team: Option<&str>) -> Option<&str> {
        self.only_owner().filter(|_| !self.manages(team))
    }

    /// Whether the caller sees this member, owner, team or group: everybody's, one of its own, or of a team that it manages.
    pub fn sees(&self, kind: SubjectKind, id: &str) -> bool {
        self.only_owner().is_none_or(|only| match kind {
            SubjectKind::Member => member_parts(id)
                .is_some_and(|(owner, team)| owner == only || self.manages(Some(team))),
            SubjectKind::Owner => id == only,
            SubjectKind::Team => self.manages(Some(id)),
            SubjectKind::Key | SubjectKind::Group => false,
        })
    }
}
