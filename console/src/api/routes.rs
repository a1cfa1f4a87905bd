//! The right that each route needs. Every request is checked against it before it is read; the use cases check it again.

use http::Method;

use crate::cases::rights::{self, Right};
use crate::cases::{Role, Scope};

/// A route, and who may use it. Members see what is their own; the use cases see to that.
#[derive(Debug, Clone)]
pub struct ApiRoute {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// The roles that may use it.
    pub roles: &'static [Role],
    /// The scope that a token needs for it; `None`: every token has it.
    pub scope: Option<Scope>,
}

const fn route(method: Method, path: &'static str, right: Right) -> ApiRoute {
    ApiRoute {
        method,
        path,
        roles: right.roles,
        scope: right.scope,
    }
}

/// Every route that wants a token.
pub const ROUTES: &[ApiRoute] = &[
    route(Method::GET, "/api/v1/me", rights::SEE_ONESELF),
    route(Method::GET, "/api/v1/me/teams", rights::SEE_OWN_KEYS),
    route(Method::GET, "/api/v1/me/models", rights::SEE_OWN_KEYS),
    route(Method::GET, "/api/v1/me/keys", rights::SEE_OWN_KEYS),
    route(Method::POST, "/api/v1/me/keys", rights::CHANGE_OWN_KEYS),
    route(Method::GET, "/api/v1/me/ordered-keys", rights::SEE_OWN_KEYS),
    route(
        Method::POST,
        "/api/v1/me/ordered-keys/{id}/take",
        rights::CHANGE_OWN_KEYS,
    ),
    route(
        Method::PATCH,
        "/api/v1/me/keys/{id}",
        rights::CHANGE_OWN_KEYS,
    ),
    route(
        Method::POST,
        "/api/v1/me/keys/{id}/rotate",
        rights::CHANGE_OWN_KEYS,
    ),
    route(
        Method::DELETE,
        "/api/v1/me/keys/{id}/old-values",
        rights::CHANGE_OWN_KEYS,
    ),
    route(Method::GET, "/api/v1/me/notices", rights::SEE_OWN_NOTICES),
    route(
        Method::PATCH,
        "/api/v1/me/notices",
        rights::CHANGE_OWN_NOTICES,
    ),
    route(Method::GET, "/api/v1/me/sign-ins", rights::SEE_OWN_KEYS),
    route(
        Method::DELETE,
        "/api/v1/me/sign-ins/{id}",
        rights::CHANGE_OWN_KEYS,
    ),
    route(Method::GET, "/api/v1/keys", rights::SEE_KEYS),
    route(Method::POST, "/api/v1/keys/find", rights::SEE_KEYS),
    route(Method::POST, "/api/v1/keys/bulk", rights::CHANGE_KEYS),
    route(Method::POST, "/api/v1/keys", rights::CHANGE_KEYS),
    route(Method::GET, "/api/v1/keys/{id}", rights::SEE_KEYS),
    route(Method::PATCH, "/api/v1/keys/{id}", rights::CHANGE_KEY),
    route(Method::DELETE, "/api/v1/keys/{id}", rights::CHANGE_KEYS),
    route(Method::GET, "/api/v1/keys/{id}/models", rights::SEE_KEYS),
    route(Method::GET, "/api/v1/keys/{id}/remaining", rights::SEE_KEYS),
    route(
        Method::POST,
        "/api/v1/keys/{id}/rotate",
        rights::CHANGE_KEYS,
    ),
    route(
        Method::DELETE,
        "/api/v1/keys/{id}/old-values",
        rights::CHANGE_KEYS,
    ),
    route(Method::GET, "/api/v1/usage", rights::SEE_USAGE),
    route(Method::GET, "/api/v1/usage/top", rights::SEE_USAGE),
    route(Method::GET, "/api/v1/spend", rights::SEE_USAGE),
    route(Method::GET, "/api/v1/statement", rights::SEE_USAGE),
    route(Method::GET, "/api/v1/statement.csv", rights::SEE_USAGE),
    route(
        Method::GET,
        "/api/v1/statement.focus.csv",
        rights::SEE_USAGE,
    ),
    route(Method::GET, "/api/v1/budgets", rights::SEE_BUDGETS),
    route(
        Method::GET,
        "/api/v1/budgets/nearly-spent",
        rights::SEE_BUDGETS,
    ),
    route(
        Method::GET,
        "/api/v1/budgets/{kind}/{id}",
        rights::SEE_BUDGET,
    ),
    route(
        Method::PUT,
        "/api/v1/budgets/{kind}/{id}",
        rights::CHANGE_BUDGETS,
    ),
    route(
        Method::DELETE,
        "/api/v1/budgets/{kind}/{id}",
        rights::CHANGE_BUDGETS,
    ),
    route(Method::GET, "/api/v1/webhooks", rights::SEE_WEBHOOKS),
    route(Method::POST, "/api/v1/webhooks", rights::CHANGE_WEBHOOKS),
    route(
        Method::DELETE,
        "/api/v1/webhooks/{id}",
        rights::CHANGE_WEBHOOKS,
    ),
    route(
        Method::POST,
        "/api/v1/webhooks/{id}/test",
        rights::CHANGE_WEBHOOKS,
    ),
    route(Method::GET, "/api/v1/first-bytes", rights::SEE_COUNTS),
    route(Method::GET, "/api/v1/attempts", rights::SEE_COUNTS),
    route(Method::GET, "/api/v1/requests", rights::SEE_REQUESTS),
    route(Method::GET, "/api/v1/requests/{id}", rights::SEE_REQUESTS),
    route(Method::GET, "/api/v1/documents", rights::SEE_DOCUMENTS),
    route(
        Method::GET,
        "/api/v1/documents/current",
        rights::SEE_DOCUMENTS,
    ),
    route(
        Method::GET,
        "/api/v1/documents/current/keys",
        rights::SEE_KEYS,
    ),
    route(
        Method::POST,
        "/api/v1/documents/current/keys/{id}/disable",
        rights::CHANGE_DOCUMENTS,
    ),
    route(
        Method::GET,
        "/api/v1/documents/{version}",
        rights::SEE_DOCUMENTS,
    ),
    route(
        Method::POST,
        "/api/v1/documents/check",
        rights::SEE_DOCUMENTS,
    ),
    route(
        Method::POST,
        "/api/v1/documents/{version}/publish",
        rights::CHANGE_DOCUMENTS,
    ),
    route(Method::GET, "/api/v1/drafts", rights::SEE_DOCUMENTS),
    route(Method::POST, "/api/v1/drafts", rights::CHANGE_DOCUMENTS),
    route(Method::GET, "/api/v1/drafts/{id}", rights::SEE_DOCUMENTS),
    route(Method::PUT, "/api/v1/drafts/{id}", rights::CHANGE_DOCUMENTS),
    route(
        Method::DELETE,
        "/api/v1/drafts/{id}",
        rights::CHANGE_DOCUMENTS,
    ),
    route(
        Method::GET,
        "/api/v1/drafts/{id}/check",
        rights::SEE_DOCUMENTS,
    ),
    route(
        Method::GET,
        "/api/v1/drafts/{id}/diff",
        rights::SEE_DOCUMENTS,
    ),
    route(
        Method::POST,
        "/api/v1/drafts/{id}/publish",
        rights::CHANGE_DOCUMENTS,
    ),
    route(Method::GET, "/api/v1/people", rights::SEE_PEOPLE),
    route(Method::POST, "/api/v1/people", rights::CHANGE_PEOPLE),
    route(Method::POST, "/api/v1/people/bulk", rights::CHANGE_PEOPLE),
    route(Method::GET, "/api/v1/people/{id}", rights::SEE_PEOPLE),
    route(
        Method::GET,
        "/api/v1/people/{id}/sessions",
        rights::SEE_PEOPLE,
    ),
    route(
        Method::GET,
        "/api/v1/people/{id}/ordered-keys",
        rights::SEE_PEOPLE,
    ),
    route(
        Method::POST,
        "/api/v1/people/{id}/ordered-keys",
        rights::CHANGE_KEYS,
    ),
    route(
        Method::DELETE,
        "/api/v1/people/{id}/ordered-keys/{order}",
        rights::CHANGE_KEYS,
    ),
    route(
        Method::GET,
        "/api/v1/people/{id}/notices",
        rights::SEE_NOTICES,
    ),
    route(
        Method::PATCH,
        "/api/v1/people/{id}/notices",
        rights::CHANGE_PEOPLE,
    ),
    route(
        Method::GET,
        "/api/v1/people/{id}/sign-ins",
        rights::SEE_PEOPLE,
    ),
    route(
        Method::DELETE,
        "/api/v1/people/{id}/sign-ins/{sign_in}",
        rights::CHANGE_PEOPLE,
    ),
    route(Method::PATCH, "/api/v1/people/{id}", rights::CHANGE_PEOPLE),
    route(
        Method::DELETE,
        "/api/v1/people/{id}/data",
        rights::CHANGE_PEOPLE,
    ),
    route(Method::GET, "/api/v1/erasures", rights::SEE_PEOPLE),
    route(
        Method::POST,
        "/api/v1/people/{id}/sign-in-link",
        rights::CHANGE_PEOPLE,
    ),
    route(
        Method::DELETE,
        "/api/v1/people/{id}/sign-in-link",
        rights::CHANGE_PEOPLE,
    ),
    route(
        Method::GET,
        "/api/v1/people/{id}/identities",
        rights::SEE_PEOPLE,
    ),
    route(
        Method::DELETE,
        "/api/v1/people/{id}/identities/{provider}",
        rights::CHANGE_PEOPLE,
    ),
    route(
        Method::GET,
        "/api/v1/identity-providers",
        rights::SEE_SIGN_IN,
    ),
    route(
        Method::GET,
        "/api/v1/identity-providers/{id}",
        rights::SEE_SIGN_IN,
    ),
    route(
        Method::PUT,
        "/api/v1/identity-providers/{id}",
        rights::CHANGE_SIGN_IN,
    ),
    route(
        Method::DELETE,
        "/api/v1/identity-providers/{id}",
        rights::CHANGE_SIGN_IN,
    ),
    route(
        Method::POST,
        "/api/v1/identity-providers/{id}/test",
        rights::CHANGE_SIGN_IN,
    ),
    route(Method::GET, "/api/v1/sign-in", rights::SEE_SIGN_IN),
    route(Method::PUT, "/api/v1/sign-in", rights::CHANGE_SIGN_IN),
    route(Method::GET, "/api/v1/teams", rights::SEE_TEAMS),
    route(Method::POST, "/api/v1/teams", rights::CHANGE_TEAMS),
    route(Method::GET, "/api/v1/teams/{id}", rights::SEE_TEAM),
    route(Method::PATCH, "/api/v1/teams/{id}", rights::CHANGE_TEAMS),
    route(Method::DELETE, "/api/v1/teams/{id}", rights::CHANGE_TEAMS),
    route(Method::GET, "/api/v1/teams/{id}/members", rights::SEE_TEAM),
    route(
        Method::PUT,
        "/api/v1/teams/{id}/members/{person}",
        rights::CHANGE_MEMBERS,
    ),
    route(
        Method::DELETE,
        "/api/v1/teams/{id}/members/{person}",
        rights::CHANGE_MEMBERS,
    ),
    route(
        Method::PUT,
        "/api/v1/teams/{id}/members/{person}/budget",
        rights::CHANGE_MEMBERS,
    ),
    route(
        Method::DELETE,
        "/api/v1/teams/{id}/members/{person}/budget",
        rights::CHANGE_MEMBERS,
    ),
    route(Method::GET, "/api/v1/tokens", rights::SEE_TOKENS),
    route(Method::POST, "/api/v1/tokens", rights::CHANGE_TOKENS),
    route(Method::DELETE, "/api/v1/tokens/{id}", rights::CHANGE_TOKENS),
    route(Method::GET, "/api/v1/audit", rights::SEE_AUDIT),
    route(Method::GET, "/api/v1/audit/lines", rights::SEE_AUDIT),
    route(Method::GET, "/api/v1/envoys", rights::SEE_ENVOYS),
    route(Method::POST, "/api/v1/envoys", rights::CHANGE_ENVOYS),
    route(Method::GET, "/api/v1/envoys/{id}", rights::SEE_ENVOYS),
    route(Method::DELETE, "/api/v1/envoys/{id}", rights::CHANGE_ENVOYS),
    route(
        Method::POST,
        "/api/v1/envoys/{id}/enrolment",
        rights::CHANGE_ENVOYS,
    ),
    route(Method::PUT, "/api/v1/envoys/{id}/report", rights::RUN_ENVOY),
    route(Method::GET, "/api/v1/envoys/{id}/voids", rights::SEE_ENVOYS),
    route(
        Method::POST,
        "/api/v1/envoys/{id}/voids",
        rights::CHANGE_ENVOYS,
    ),
    route(
        Method::GET,
        "/api/v1/envoys/{id}/voids/preview",
        rights::SEE_ENVOYS,
    ),
    route(
        Method::GET,
        "/api/v1/ledger/{envoy}/{file}",
        rights::RUN_ENVOY,
    ),
    route(
        Method::POST,
        "/api/v1/ledger/{envoy}/{file}",
        rights::RUN_ENVOY,
    ),
    route(
        Method::GET,
        "/api/v1/ledger/{envoy}/{file}/aside",
        rights::SEE_ENVOYS,
    ),
    route(Method::GET, "/api/v1/feed/keys", rights::RUN_ENVOY),
    route(Method::GET, "/api/v1/feed/document", rights::RUN_ENVOY),
    route(Method::GET, "/api/v1/feed/spend", rights::RUN_ENVOY),
    route(
        Method::GET,
        "/api/v1/feed/client-settings",
        rights::RUN_ENVOY,
    ),
    route(
        Method::GET,
        "/api/v1/feed/credentials",
        rights::TAKE_CREDENTIALS,
    ),
    route(Method::GET, "/api/v1/credentials", rights::SEE_CREDENTIALS),
    route(
        Method::PUT,
        "/api/v1/credentials/{name}",
        rights::CHANGE_CREDENTIALS,
    ),
    route(
        Method::DELETE,
        "/api/v1/credentials/{name}",
        rights::CHANGE_CREDENTIALS,
    ),
    route(
        Method::POST,
        "/api/v1/accounts/{group}/{account}/test",
        rights::CHANGE_CREDENTIALS,
    ),
    route(
        Method::GET,
        "/api/v1/account-tests",
        rights::SEE_CREDENTIALS,
    ),
    route(
        Method::GET,
        "/api/v1/account-refusals",
        rights::SEE_CREDENTIALS,
    ),
    route(Method::POST, "/api/v1/vendors/models", rights::CHANGE_SETUP),
    route(Method::GET, "/api/v1/storage", rights::SEE_STORAGE),
    route(Method::GET, "/api/v1/certificate", rights::SEE_STORAGE),
    route(Method::GET, "/api/v1/search", rights::SEE_REQUESTS),
    route(
        Method::GET,
        "/api/v1/client-settings",
        rights::SEE_CLIENT_SETTINGS,
    ),
    route(
        Method::PUT,
        "/api/v1/client-settings",
        rights::CHANGE_CLIENT_SETTINGS,
    ),
    route(
        Method::DELETE,
        "/api/v1/client-settings",
        rights::CHANGE_CLIENT_SETTINGS,
    ),
    route(Method::GET, "/api/v1/setup", rights::SEE_SETUP),
    route(
        Method::PUT,
        "/api/v1/setup/vendors/{group}",
        rights::CHANGE_SETUP,
    ),
    route(
        Method::DELETE,
        "/api/v1/setup/vendors/{group}",
        rights::CHANGE_SETUP,
    ),
];

/// Every route that wants none: what it is given says who it is.
pub const OPEN: &[(Method, &str)] = &[
    (Method::POST, "/api/v1/enrol"),
    (Method::GET, "/api/v1/me/key"),
];

/// The roles that may use a route. What is not in the table is nobody's.
pub fn right(method: &Method, path: &str) -> Right {
    // HEAD is answered by the handler of GET.
    let method = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let mut routes = ROUTES.iter();
    let found = routes.find(|route| route.method == *method && route.path == path);
    found.map_or(Right::NOBODYS, |route| Right {
        roles: route.roles,
        scope: route.scope,
    })
}
