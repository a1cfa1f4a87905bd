//! Authenticates a request: credential, policy, key record, in this order.

use super::key_place::{accepts, protocol_of};
use super::misplaced::misplaced;
use super::request::{AuthenticatedCaller, RefusedKey};
use super::step::{Step, Trace};
use crate::auth::{self, CredentialForm, KeyStatus, KeyStore, PresentedCredential};
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::protocol::Endpoint;
use crate::protocol::query::RequestTarget;
use crate::reply::Rejection;

/// The sender of a request, and the facts that only the key's holder asks for.
#[derive(Debug)]
pub(super) struct Authenticated {
    /// The sender of the request.
    pub caller: AuthenticatedCaller,
    /// The time at which the key expires, in seconds since the Unix epoch; `None` for never.
    pub expires_at: Option<i64>,
}

/// The reason why a request was not authenticated.
#[derive(Debug)]
pub(super) struct Unauthenticated {
    /// The known key that is refused.
    pub key: Option<Box<RefusedKey>>,
    /// The reply to the client.
    pub rejection: Rejection,
}

impl From<Rejection> for Unauthenticated {
    fn from(rejection: Rejection) -> Self {
        Self {
            key: None,
            rejection,
        }
    }
}

/// Finds out who sent a request.
///
/// # Errors
/// 401 where it has no valid key in a place that the key's group reads, 503 where that cannot be told yet.
pub(super) fn authenticate(
    head: &Head,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    in_force: Option<&InForce>,
    environment: &(impl KeyStore + Trace),
) -> Result<Authenticated, Unauthenticated> {
    environment.begin(Step::Credential);
    let presented = CredentialForm::of(endpoint)
        .iter()
        .map(|form| (*form, form.read(head, target)))
        // Whatever stands in a later form, a malformed one is wrong: in doubt the request is rejected.
        .take_while(|(_, presented)| *presented != PresentedCredential::Malformed);
    let mut presented = presented.filter_map(|(form, presented)| match presented {
        PresentedCredential::Key(key) => Some((form, key)),
        PresentedCredential::Absent | PresentedCredential::Malformed => None,
    });
    let Some(in_force) = in_force else {
        return Err(if presented.next().is_none() {
            Rejection::Unauthenticated.into()
        } else {
            Rejection::NotReady.into()
        });
    };
    // The forms whose key was looked up and is not valid.
    let mut invalid = Vec::new();
    let mut ended = None;
    for (form, key) in presented {
        environment.begin(Step::Key);
        if form == CredentialForm::Query && !in_force.policy.query_key {
            continue;
        }
        match auth::authenticate(&key, in_force, environment) {
            KeyStatus::Ended(key) => {
                invalid.push(form);
                ended.get_or_insert(key);
            }
            KeyStatus::Invalid => invalid.push(form),
            KeyStatus::Undecided => return Err(Rejection::NotReady.into()),
            KeyStatus::Valid { key, group } => {
                if accepts(&group, group.clients, endpoint, form) {
                    let protocol = protocol_of(endpoint, form);
                    return Ok(Authenticated {
                        expires_at: key.expires_at,
                        caller: AuthenticatedCaller::new(key, group, protocol, &in_force.policy),
                    });
                }
            }
        }
    }
    let others = CredentialForm::ALL.into_iter();
    let others = others.filter(|form| !invalid.contains(form));
    Err(
        match misplaced(others, head, target, endpoint, in_force, environment) {
            Some((key, detail)) => Unauthenticated {
                key: Some(Box::new(key)),
                rejection: Rejection::KeyMisplaced { detail },
            },
            None => Unauthenticated {
                key: ended.map(|key| Box::new(RefusedKey::new(*key, None, &in_force.policy))),
                rejection: Rejection::Unauthenticated,
            },
        },
    )
}
