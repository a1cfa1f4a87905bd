//! The authorization table: the roles that may use each route. Every request is checked against it.

use http::Method;

use super::problem::ApiProblem;
use super::role::Role::{self, Admin, Agent, Member, Viewer};

/// A route, and who may use it. Members see what is their own; the handlers see to that.
#[derive(Debug, Clone)]
pub struct ApiRoute {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// The roles that may use it.
    pub roles: &'static [Role],
}

const fn route(method: Method, path: &'static str, roles: &'static [Role]) -> ApiRoute {
    ApiRoute {
        method,
        path,
        roles,
    }
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
/// The roles for routes that the agent beside an Envoy uses.
const ENVOY: &[Role] = &[Admin, Agent];

/// Agents alone: not even an admin sees a credential again.
const AGENT: &[Role] = &[Agent];

/// Every route that wants a token.
pub const ROUTES: &[ApiRoute] = &[
    route(Method::GET, "/api/v1/me", ALL),
    route(Method::GET, "/api/v1/me/teams", PEOPLE),
    route(Method::GET, "/api/v1/me/keys", PEOPLE),
    route(Method::POST, "/api/v1/me/keys", OWNING),
    route(Method::PATCH, "/api/v1/me/keys/{id}", OWNING),
    route(Method::POST, "/api/v1/me/keys/{id}/rotate", OWNING),
    route(Method::GET, "/api/v1/keys", PEOPLE),
    route(Method::POST, "/api/v1/keys", ADMIN),
    route(Method::GET, "/api/v1/keys/{id}", PEOPLE),
    route(Method::PATCH, "/api/v1/keys/{id}", ADMIN),
    route(Method::DELETE, "/api/v1/keys/{id}", ADMIN),
    route(Method::GET, "/api/v1/keys/{id}/models", PEOPLE),
    route(Method::GET, "/api/v1/keys/{id}/remaining", PEOPLE),
    route(Method::POST, "/api/v1/keys/{id}/rotate", ADMIN),
    route(Method::GET, "/api/v1/usage", PEOPLE),
    route(Method::GET, "/api/v1/usage/top", PEOPLE),
    route(Method::GET, "/api/v1/spend", PEOPLE),
    route(Method::GET, "/api/v1/budgets", SEEING),
    route(Method::GET, "/api/v1/budgets/nearly-spent", SEEING),
    route(Method::GET, "/api/v1/budgets/{kind}/{id}", PEOPLE),
    route(Method::PUT, "/api/v1/budgets/{kind}/{id}", ADMIN),
    route(Method::DELETE, "/api/v1/budgets/{kind}/{id}", ADMIN),
    route(Method::GET, "/api/v1/webhooks", SEEING),
    route(Method::POST, "/api/v1/webhooks", ADMIN),
    route(Method::DELETE, "/api/v1/webhooks/{id}", ADMIN),
    route(Method::GET, "/api/v1/first-bytes", SEEING),
    route(Method::GET, "/api/v1/attempts", SEEING),
    route(Method::GET, "/api/v1/requests", PEOPLE),
    route(Method::GET, "/api/v1/requests/{id}", PEOPLE),
    route(Method::GET, "/api/v1/documents", SEEING),
    route(Method::GET, "/api/v1/documents/current", SEEING),
    route(Method::GET, "/api/v1/documents/{version}", SEEING),
    route(Method::POST, "/api/v1/documents/{version}/publish", ADMIN),
    route(Method::GET, "/api/v1/drafts", SEEING),
    route(Method::POST, "/api/v1/drafts", ADMIN),
    route(Method::GET, "/api/v1/drafts/{id}", SEEING),
    route(Method::PUT, "/api/v1/drafts/{id}", ADMIN),
    route(Method::DELETE, "/api/v1/drafts/{id}", ADMIN),
    route(Method::GET, "/api/v1/drafts/{id}/check", SEEING),
    route(Method::GET, "/api/v1/drafts/{id}/diff", SEEING),
    route(Method::POST, "/api/v1/drafts/{id}/publish", ADMIN),
    route(Method::GET, "/api/v1/people", SEEING),
    route(Method::POST, "/api/v1/people", ADMIN),
    route(Method::PATCH, "/api/v1/people/{id}", ADMIN),
    route(Method::DELETE, "/api/v1/people/{id}/data", ADMIN),
    route(Method::GET, "/api/v1/erasures", SEEING),
    route(Method::POST, "/api/v1/people/{id}/sign-in-link", ADMIN),
    route(Method::DELETE, "/api/v1/people/{id}/sign-in-link", ADMIN),
    route(Method::GET, "/api/v1/teams", SEEING),
    route(Method::POST, "/api/v1/teams", ADMIN),
    route(Method::GET, "/api/v1/teams/{id}", SEEING),
    route(Method::PATCH, "/api/v1/teams/{id}", ADMIN),
    route(Method::DELETE, "/api/v1/teams/{id}", ADMIN),
    route(Method::GET, "/api/v1/teams/{id}/members", SEEING),
    route(Method::PUT, "/api/v1/teams/{id}/members/{person}", ADMIN),
    route(Method::DELETE, "/api/v1/teams/{id}/members/{person}", ADMIN),
    route(Method::GET, "/api/v1/tokens", PEOPLE),
    route(Method::POST, "/api/v1/tokens", PEOPLE),
    route(Method::DELETE, "/api/v1/tokens/{id}", PEOPLE),
    route(Method::GET, "/api/v1/audit", SEEING),
    route(Method::GET, "/api/v1/envoys", SEEING),
    route(Method::POST, "/api/v1/envoys", ADMIN),
    route(Method::GET, "/api/v1/envoys/{id}", SEEING),
    route(Method::DELETE, "/api/v1/envoys/{id}", ADMIN),
    route(Method::POST, "/api/v1/envoys/{id}/enrolment", ADMIN),
    route(Method::PUT, "/api/v1/envoys/{id}/report", ENVOY),
    route(Method::GET, "/api/v1/envoys/{id}/voids", SEEING),
    route(Method::POST, "/api/v1/envoys/{id}/voids", ADMIN),
    route(Method::GET, "/api/v1/envoys/{id}/voids/preview", SEEING),
    route(Method::GET, "/api/v1/ledger/{envoy}/{file}", ENVOY),
    route(Method::POST, "/api/v1/ledger/{envoy}/{file}", ENVOY),
    route(Method::GET, "/api/v1/ledger/{envoy}/{file}/aside", SEEING),
    route(Method::GET, "/api/v1/feed/keys", ENVOY),
    route(Method::GET, "/api/v1/feed/document", ENVOY),
    route(Method::GET, "/api/v1/feed/spend", ENVOY),
    route(Method::GET, "/api/v1/feed/credentials", AGENT),
    route(Method::GET, "/api/v1/credentials", SEEING),
    route(Method::PUT, "/api/v1/credentials/{name}", ADMIN),
    route(Method::DELETE, "/api/v1/credentials/{name}", ADMIN),
    route(
        Method::POST,
        "/api/v1/accounts/{group}/{account}/test",
        ADMIN,
    ),
    route(Method::GET, "/api/v1/account-tests", SEEING),
    route(Method::POST, "/api/v1/vendors/models", ADMIN),
    route(Method::GET, "/api/v1/storage", SEEING),
    route(Method::GET, "/api/v1/setup", SEEING),
    route(Method::PUT, "/api/v1/setup/vendors/{group}", ADMIN),
    route(Method::DELETE, "/api/v1/setup/vendors/{group}", ADMIN),
];

/// Every route that wants none: what it is given says who it is.
pub const OPEN: &[(Method, &str)] = &[
    (Method::POST, "/api/v1/enrol"),
    (Method::GET, "/api/v1/me/key"),
];

/// Whether a role may use a route. What is not in the table is nobody's.
pub fn allows(method: &Method, path: &str, role: Role) -> bool {
    // HEAD is answered by the handler of GET.
    let method = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    ROUTES
        .iter()
        .any(|route| route.method == *method && route.path == path && route.roles.contains(&role))
}

/// Makes the error for a role that may not use a route.
pub fn forbidden(role: Role) -> ApiProblem {
    ApiProblem::forbidden(format!("the role {} may not do this", role.name()))
}
