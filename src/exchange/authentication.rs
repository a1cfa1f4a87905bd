//! Authenticates a request: credential, policy, key record, in this order.

use std::rc::Rc;

use smol_str::SmolStr;

use super::environment::{Step, Trace};
use super::route::Route;
use crate::auth::{self, CredentialForm, KeyStatus, KeyStore, PresentedCredential};
use crate::config::policy::{Clients, Group, GroupKind, Policy};
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::keys::{KeyAccess, KeyRecord};
use crate::limits::{Quotas, Subject, SubjectKind, member_id};
use crate::protocol::query::RequestTarget;
use crate::protocol::{Endpoint, Protocol};
use crate::reply::Rejection;

/// The sender of a request. Known once its key was authenticated.
#[derive(Debug)]
pub(super) struct AuthenticatedCaller {
    /// The id of the API key.
    pub key: SmolStr,
    /// The person or system that the key belongs to.
    pub owner: Option<SmolStr>,
    /// The team that the key belongs to.
    pub team: Option<SmolStr>,
    /// The id of the key in whose counters its limits count; `None` for its own.
    pub counts_as: Option<Rc<str>>,
    /// The key's own terms, in place of its group's; `None` for none.
    pub access: Option<Rc<KeyAccess>>,
    /// The key's group.
    pub group: Rc<Group>,
    /// The protocol that the request speaks.
    pub protocol: Protocol,
    /// The subjects whose limits the request is counted against; empty for most.
    pub subjects: Vec<Subject>,
    /// The currency of the policy's prices.
    pub currency: Option<Rc<str>>,
}

impl AuthenticatedCaller {
    /// The caller with this key.
    pub(super) fn new(
        key: KeyRecord,
        group: Rc<Group>,
        protocol: Protocol,
        policy: &Policy,
    ) -> Self {
        Self {
            subjects: subjects(&key, &group, policy),
            key: key.id,
            owner: key.owner,
            team: key.team,
            counts_as: key.counts_as.map(|id| Rc::from(&*id)),
            access: key.access.map(Rc::from),
            group,
            protocol,
            currency: policy.currency.clone(),
        }
    }
}

impl AuthenticatedCaller {
    /// Whether a budget counts what its requests cost.
    pub(super) fn has_budget(&self, quotas: &impl Quotas) -> bool {
        !self.subjects.is_empty() && quotas.has_budget(&self.subjects)
    }
}

/// Lists the subjects whose limits a request is counted against.
fn subjects(key: &KeyRecord, group: &Group, policy: &Policy) -> Vec<Subject> {
    let own = key.limits.as_deref();
    let counters = key.counts_as.as_ref().unwrap_or(&key.id);
    let own = own.map(|limits| Subject::new(SubjectKind::Key, counters, *limits));
    let all = own.into_iter();
    if policy.spend_feed.is_none() {
        return all.chain(group.limits.clone()).collect();
    }
    let of_people =
        |scope, id: &Option<SmolStr>| id.as_deref().map(|id| Subject::of_people(scope, id));
    let member = key.owner.as_deref().zip(key.team.as_deref());
    let member = member.map(|(owner, team)| {
        let id = member_id(owner, team);
        Subject::of_people(SubjectKind::Member, &id)
    });
    let all = all.map(Subject::told).chain(member);
    let all = all.chain(of_people(SubjectKind::Owner, &key.owner));
    let all = all.chain(of_people(SubjectKind::Team, &key.team));
    all.chain(group.limits.clone().map(Subject::told)).collect()
}

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
    pub key: Option<Box<RecordedKey>>,
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
                key: Some(key),
                rejection: Rejection::KeyMisplaced { detail },
            },
            None => Unauthenticated {
                key: ended.map(|key| RecordedKey::refused(*key, None)),
                rejection: Rejection::Unauthenticated,
            },
        },
    )
}

/// Whether keys of this group, were it for these clients, may come in this form, which is one that the endpoint looks at.
/// Whether the group serves the endpoint's protocol at all is another question, answered with 403.
fn accepts(group: &Group, clients: Clients, endpoint: &Endpoint, form: CredentialForm) -> bool {
    let current = clients == Clients::Current;
    if let Some(protocol) = endpoint.protocol() {
        return match form {
            CredentialForm::Bearer => protocol == Protocol::A || current,
            CredentialForm::XApiKey | CredentialForm::VcApiKey | CredentialForm::Query => true,
        };
    }
    // Tools that show what a key has left send it as a Bearer credential, whatever protocol it speaks.
    if *endpoint == Endpoint::Usage {
        return form != CredentialForm::Query;
    }
    let own = match &group.kind {
        GroupKind::Mixed(_) => None,
        GroupKind::Source(source) => Some(source.protocol),
    };
    match form {
        CredentialForm::Bearer => match own {
            None | Some(Protocol::A) => true,
            Some(Protocol::B) => current,
            Some(Protocol::C) => false,
        },
        CredentialForm::XApiKey => matches!(own, None | Some(Protocol::B)),
        CredentialForm::VcApiKey => current && matches!(own, None | Some(Protocol::C)),
        CredentialForm::Query => false,
    }
}

/// The protocol in which a request is answered and forwarded: the endpoint's own, or on
/// `/v1/models` the one whose header carried the key.
fn protocol_of(endpoint: &Endpoint, form: CredentialForm) -> Protocol {
    endpoint.protocol().unwrap_or(match form {
        CredentialForm::Bearer => Protocol::A,
        CredentialForm::XApiKey => Protocol::B,
        CredentialForm::VcApiKey | CredentialForm::Query => Protocol::C,
    })
}

/// Looks in these forms for a key that is valid and was not read, as in an old client's header, or a new one's. Gives it with a
/// sentence on where it belongs.
///
/// The client gets the reply to an invalid key, byte for byte. What it takes to set it right stands in one more header and
/// in the ledger, for valid keys only: whoever holds one learns where it belongs, whoever guesses learns nothing.
fn misplaced(
    forms: impl Iterator<Item = CredentialForm>,
    head: &Head,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    in_force: &InForce,
    world: &impl KeyStore,
) -> Option<(Box<RecordedKey>, String)> {
    let query_key = in_force.policy.query_key;
    let reads = |group: &Group, clients, form: CredentialForm| {
        let looked_at = CredentialForm::of(endpoint).contains(&form);
        let allowed = form != CredentialForm::Query || query_key;
        looked_at && allowed && accepts(group, clients, endpoint, form)
    };
    for form in forms {
        let PresentedCredential::Key(key) = form.read(head, target) else {
            continue;
        };
        let KeyStatus::Valid { key, group } = auth::authenticate(&key, in_force, world) else {
            continue;
        };
        if reads(&group, group.clients, form) {
            // It is the one before it that was wrong.
            continue;
        }
        let place = form.place(head);
        let now = |form: &CredentialForm| reads(&group, group.clients, *form);
        let (read, more): (Vec<CredentialForm>, Vec<CredentialForm>) = CredentialForm::of(endpoint)
            .iter()
            .filter(|form| reads(&group, Clients::Current, **form))
            .partition(|form| now(form));
        let detail = detail(place, endpoint, &group, &read, &more);
        let key = RecordedKey::refused(key, Some(place));
        return Some((key, detail));
    }
    None
}

/// One sentence: what the endpoint reads of keys of this group, and what more it would read if the group were for current clients.
fn detail(
    place: &str,
    endpoint: &Endpoint,
    group: &Rc<Group>,
    read: &[CredentialForm],
    more: &[CredentialForm],
) -> String {
    let unserved = |protocol| Route::find(group, protocol).is_err();
    if endpoint.protocol().is_some_and(unserved) {
        return format!(
            "The key came in {place}, but this endpoint reads keys from {}, and this key's group does not serve it.",
            listed(read)
        );
    }
    let of_c = matches!(&group.kind, GroupKind::Source(s) if s.protocol == Protocol::C);
    let says = if !read.is_empty() {
        format!(
            "this endpoint reads keys of this key's group from {}",
            listed(read)
        )
    } else if of_c {
        "keys of this key's group list models at /v1beta/models".to_owned()
    } else {
        "this endpoint reads no keys of this key's group".to_owned()
    };
    let allowed = if more.is_empty() {
        String::new()
    } else {
        format!(
            "; \"clients\": \"current\" on the group also allows {}",
            listed(more)
        )
    };
    format!("The key came in {place}, but {says}{allowed}.")
}

fn listed(forms: &[CredentialForm]) -> String {
    let names = forms.iter().map(|form| match form {
        CredentialForm::Bearer => "authorization: Bearer",
        CredentialForm::XApiKey => "x-api-key",
        CredentialForm::VcApiKey => "x-goog-api-key or x-vc-api-key",
        CredentialForm::Query => "the query parameter key",
    });
    names.collect::<Vec<_>>().join(" or ")
}

/// The facts of a known key that a record has; none where the request had no such key.
#[derive(Debug, Default)]
pub(super) struct RecordedKey {
    pub id: Option<SmolStr>,
    /// The name of the header that it came in, or `query`, where its group does not read it there.
    pub found_in: Option<&'static str>,
    pub owner: Option<SmolStr>,
    pub team: Option<SmolStr>,
    pub counts_as: Option<Rc<str>>,
    /// The id of its group.
    pub group: Option<SmolStr>,
    /// The currency of the policy's prices.
    pub currency: Option<Rc<str>>,
}

impl RecordedKey {
    /// A known key that is refused: disabled, expired, or sent where its group does not read it.
    fn refused(key: KeyRecord, found_in: Option<&'static str>) -> Box<Self> {
        Box::new(Self {
            id: Some(key.id),
            found_in,
            owner: key.owner,
            team: key.team,
            group: Some(key.group),
            // It is charged nothing, so there is no currency.
            ..Self::default()
        })
    }
}

impl From<AuthenticatedCaller> for RecordedKey {
    fn from(caller: AuthenticatedCaller) -> Self {
        Self {
            id: Some(caller.key),
            found_in: None,
            owner: caller.owner,
            team: caller.team,
            counts_as: caller.counts_as,
            group: Some(caller.group.id.clone()),
            currency: caller.currency,
        }
    }
}
