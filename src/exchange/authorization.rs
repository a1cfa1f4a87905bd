//! Authorizes a request: what its group may do with the endpoint.

use super::request::AuthenticatedCaller;
use super::route::Route;
use super::step::{Step, Trace};
use crate::config::policy::Clients;
use crate::head::{Head, Occurrence};
use crate::limits::{Rate, Subject};
use crate::protocol::parameters::{self, ParameterError};
use crate::protocol::query::RequestTarget;
use crate::protocol::{Endpoint, Permission, Protocol, generate, messages};
use crate::reply::Rejection;

/// Authorizes what a caller asks of an endpoint: protocol, version, images, token counting, methods, parameters. Gives the
/// way to the source.
///
/// # Errors
/// The first of these that the caller's group may not have.
pub(super) fn authorize(
    head: &Head,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    caller: &AuthenticatedCaller,
    trace: &impl Trace,
) -> Result<Route, Rejection> {
    trace.begin(Step::Route);
    let mut route =
        Route::find(&caller.group, caller.protocol)?.with_access(caller.access.as_ref());
    let strict = caller.group.clients == Clients::Strict;
    if strict && endpoint.is_for_current_clients(target.path) {
        return Err(Rejection::PathOfCurrentClients);
    }
    if endpoint.protocol() == Some(Protocol::B) {
        trace.begin(Step::Version);
        check_version(head, strict)?;
    }
    if endpoint.spec().needs.is_some() {
        trace.begin(Step::Rights);
    }
    check_rights(endpoint, &route)?;
    match endpoint.spec().needs {
        None | Some(Permission::Images | Permission::CountTokens) => {}
        Some(Permission::AccountResources) => {
            if *endpoint == Endpoint::CreateCache && caller.subjects.iter().any(limits_input) {
                return Err(Rejection::CachesNotSupported);
            }
            if route.is_open() {
                route.choose_where(|source| source.account_resources);
            }
            parameters::of_resource(target)?;
        }
        Some(Permission::Method) => {
            parameters::of_call(target)?;
        }
    }
    Ok(route)
}

/// Checks whether a source that the request may go to allows the endpoint.
///
/// # Errors
/// None does.
pub(super) fn check_rights(endpoint: &Endpoint, route: &Route) -> Result<(), Rejection> {
    let mut sources = route.candidates();
    match endpoint.spec().needs {
        Some(Permission::Images) if !route.may_make_images() => Err(Rejection::ImagesNotSupported),
        Some(Permission::CountTokens) if !sources.any(|source| source.count_tokens) => {
            Err(Rejection::CountTokensNotSupported)
        }
        Some(Permission::AccountResources) if !sources.any(|source| source.account_resources) => {
            Err(Rejection::ResourcesNotServed)
        }
        Some(Permission::Method) => check_method(endpoint.name(), route),
        _ => Ok(()),
    }
}

/// Whether a subject has a budget, or a limit of input tokens. How many tokens a cache takes nobody knows before it is made, and it
/// costs by the hour as long as it lives.
fn limits_input(subject: &Subject) -> bool {
    subject.may_have_budget() || subject.limits.per_minute(Rate::InputTokens).is_some()
}

/// The methods of protocol C that run nothing unpaid, and those that the group prices.
fn check_method(method: &str, route: &Route) -> Result<(), Rejection> {
    let mut sources = route.candidates();
    if generate::METHODS.contains(&method)
        || sources.any(|source| source.method_price(method).is_some())
    {
        return Ok(());
    }
    let priced = route.candidates().flat_map(|source| &source.methods);
    let priced = priced.map(|(name, _)| name.as_str());
    let served = generate::METHODS.into_iter().chain(priced);
    Err(Rejection::MethodNotServed {
        served: served.map(str::to_owned).collect(),
    })
}

impl From<ParameterError> for Rejection {
    fn from(error: ParameterError) -> Self {
        match error {
            ParameterError::Name(name) => Self::UnknownParameter { name },
            ParameterError::Value(name) => Self::BadParameter(name),
        }
    }
}

/// The version header of protocol B: the constant for strict groups, any date for current ones,
/// which may also leave it out.
fn check_version(head: &Head, strict: bool) -> Result<(), Rejection> {
    let taken = match version(head) {
        Err(ConflictingVersions) => false,
        Ok(None) => !strict,
        Ok(Some(value)) if strict => value == messages::VERSION.as_bytes(),
        Ok(Some(value)) => is_date(value),
    };
    if taken {
        Ok(())
    } else {
        Err(Rejection::Version { any_date: !strict })
    }
}

/// A version header that is repeated, or two names for it with different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConflictingVersions;

/// The version that a request names, under either name; both must agree.
pub(super) fn version(head: &Head) -> Result<Option<&[u8]>, ConflictingVersions> {
    let mut named = None;
    for name in messages::VERSION_HEADERS {
        match head.single(name) {
            Occurrence::Absent => {}
            Occurrence::Repeated => return Err(ConflictingVersions),
            Occurrence::Once(value) => {
                if named.is_some_and(|other| other != value) {
                    return Err(ConflictingVersions);
                }
                named = Some(value);
            }
        }
    }
    Ok(named)
}

/// `YYYY-MM-DD`, in digits.
fn is_date(value: &[u8]) -> bool {
    value.len() == 10
        && value.iter().enumerate().all(|(i, b)| match i {
            4 | 7 => *b == b'-',
            _ => b.is_ascii_digit(),
        })
}
