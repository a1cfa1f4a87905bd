//! The decision on a request's head, up to the point where only the body can say more.

use std::rc::Rc;

use crate::auth::{Form, KeyStatus, KeyStore, Presented, authenticate};
use crate::config::policy::{Clients, Group, GroupKind};
use crate::config::snapshot::InForce;
use crate::head::{Head, Occurrence};
use crate::keys::KeyRecord;
use crate::lane::Protocol;
use crate::protocol::parameters::{self, Unfit};
use crate::protocol::query::Target;
use crate::protocol::{Endpoint, generate, messages};
use crate::reply::Rejection;
use crate::routing::Route;

/// A request whose key may ask what it asks.
#[derive(Debug)]
pub(super) struct Admitted {
    /// The key's record.
    pub key: KeyRecord,
    /// The key's group.
    pub group: Rc<Group>,
    /// The form in which the key came.
    pub form: Form,
}

/// A request that nobody may make with the keys it brings.
#[derive(Debug)]
pub(super) struct Denied {
    /// What it is told.
    pub rejection: Rejection,
    /// The forms whose key was looked up and is not good.
    pub not_good: Vec<Form>,
}

impl From<Rejection> for Denied {
    fn from(rejection: Rejection) -> Self {
        Self {
            rejection,
            not_good: Vec::new(),
        }
    }
}

/// Authenticates a request: credential, policy, status of the key, in this order.
pub(super) fn admit(
    head: &Head,
    target: &Target<'_>,
    endpoint: &Endpoint,
    in_force: Option<&InForce>,
    world: &impl KeyStore,
) -> Result<Admitted, Denied> {
    let mut presented = Vec::new();
    for form in Form::of(endpoint) {
        match form.read(head, target) {
            Presented::Absent => {}
            // Whatever stands in a later form, this one is wrong: in doubt the request is refused.
            Presented::Malformed => break,
            Presented::Key(key) => presented.push((*form, key)),
        }
    }
    if presented.is_empty() {
        return Err(Rejection::Unauthenticated.into());
    }
    let mut not_good = Vec::new();
    let in_force = in_force.ok_or(Rejection::NotReady)?;
    for (form, key) in presented {
        if form == Form::Query && !in_force.policy.query_key {
            continue;
        }
        match authenticate(&key, in_force, world) {
            KeyStatus::Invalid => not_good.push(form),
            KeyStatus::Undecided => return Err(Rejection::NotReady.into()),
            KeyStatus::Valid { key, group } => {
                if takes(&group, group.clients, endpoint, form) {
                    return Ok(Admitted { key, group, form });
                }
            }
        }
    }
    Err(Denied {
        rejection: Rejection::Unauthenticated,
        not_good,
    })
}

/// Whether keys of this group, were it for these clients, may come in this form, which is one that the endpoint looks at.
/// Whether the group serves the endpoint's protocol at all is another question, answered with 403.
pub(super) fn takes(group: &Group, clients: Clients, endpoint: &Endpoint, form: Form) -> bool {
    let current = clients == Clients::Current;
    if let Some(protocol) = endpoint.protocol() {
        return match form {
            Form::Bearer => protocol == Protocol::A || current,
            Form::XApiKey | Form::VcApiKey | Form::Query => true,
        };
    }
    let own = match &group.kind {
        GroupKind::Mixed(_) => None,
        GroupKind::Source(source) => Some(source.protocol),
    };
    match form {
        Form::Bearer => match own {
            None | Some(Protocol::A) => true,
            Some(Protocol::B) => current,
            Some(Protocol::C) => false,
        },
        Form::XApiKey => matches!(own, None | Some(Protocol::B)),
        Form::VcApiKey => current && matches!(own, None | Some(Protocol::C)),
        Form::Query => false,
    }
}

/// Settles what the group may do with the endpoint: protocol, version, images, token counting, methods, parameters.
pub(super) fn authorize(
    head: &Head,
    target: &Target<'_>,
    endpoint: &Endpoint,
    protocol: Protocol,
    group: &Rc<Group>,
) -> Result<Route, Rejection> {
    let route = Route::find(group, protocol)?;
    let strict = group.clients == Clients::Strict;
    if strict && endpoint.is_for_current_clients(target.path) {
        return Err(Rejection::PathOfCurrentClients);
    }
    match endpoint {
        Endpoint::Messages | Endpoint::CountTokens => {
            check_version(head, strict)?;
            if *endpoint == Endpoint::CountTokens && !route.source.count_tokens {
                return Err(Rejection::CountTokensNotSupported);
            }
        }
        Endpoint::ImagesGenerations | Endpoint::ImagesEdits if !route.may_make_images() => {
            return Err(Rejection::ImagesNotSupported);
        }
        Endpoint::Generate { method, .. } => {
            check_method(method, &route)?;
            parameters::of_call(target)?;
        }
        Endpoint::AccountResource if !route.source.account_resources => {
            return Err(Rejection::ResourcesNotServed);
        }
        Endpoint::AccountResource => parameters::of_resource(target)?,
        _ => {}
    }
    Ok(route)
}

/// The methods of protocol C that run nothing unpaid, and those that the group prices.
fn check_method(method: &str, route: &Route) -> Result<(), Rejection> {
    if generate::METHODS.contains(&method) || route.source.method_price(method).is_some() {
        return Ok(());
    }
    let priced = route.source.methods.iter().map(|(name, _)| name.as_str());
    let served = generate::METHODS.into_iter().chain(priced);
    Err(Rejection::MethodNotServed {
        served: served.map(str::to_owned).collect(),
    })
}

impl From<Unfit> for Rejection {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Name(name) => Self::UnknownParameter { name },
            Unfit::Value(name) => Self::BadParameter(name),
        }
    }
}

/// The version header of protocol B: the constant for strict groups, any date for current ones,
/// which may also leave it out.
fn check_version(head: &Head, strict: bool) -> Result<(), Rejection> {
    let taken = match version(head) {
        Err(Disagree) => false,
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
pub(super) struct Disagree;

/// The version that a request names, under either name; both must agree.
pub(super) fn version(head: &Head) -> Result<Option<&[u8]>, Disagree> {
    let mut named = None;
    for name in messages::VERSION_HEADERS {
        match head.single(name) {
            Occurrence::Absent => {}
            Occurrence::Repeated => return Err(Disagree),
            Occurrence::Once(value) => {
                if named.is_some_and(|other| other != value) {
                    return Err(Disagree);
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

/// The protocol in which a request is answered and forwarded: the endpoint's own, or on
/// `/v1/models` the one whose header carried the key.
pub(super) fn protocol_of(endpoint: &Endpoint, form: Form) -> Protocol {
    endpoint.protocol().unwrap_or(match form {
        Form::Bearer => Protocol::A,
        Form::XApiKey => Protocol::B,
        Form::VcApiKey | Form::Query => Protocol::C,
    })
}
