//! The steps of a decision, in the gateway's order, and their results.

use std::borrow::Cow;

use serde::Serialize;
use trilane::auth::{CredentialForm, KeyStatus, PresentedCredential, authenticate};
use trilane::exchange::Step;
use trilane::head::Head;
use trilane::keys::KeyRecord;
use trilane::protocol::query::RequestTarget;
use trilane::protocol::{Endpoint, Mismatch};

use crate::gateway::{KeyHolder, LocalGateway, RequestResult};
use crate::timestamp;

/// A step and its result.
#[derive(Debug, Serialize)]
pub struct DecisionStep {
    /// The step.
    pub step: Step,
    /// The result of the step.
    pub result: StepResult,
    /// The reason, or what was found.
    pub reason: String,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// The request goes on.
    Good,
    /// It ends here.
    Refused,
    /// It has ended before.
    NotReached,
}

impl StepResult {
    /// Returns the name, as JSON has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Refused => "refused",
            Self::NotReached => "not_reached",
        }
    }
}

/// The steps of a request for an endpoint that is not rejected.
fn expected(endpoint: Option<&Endpoint>, limited: bool) -> Vec<Step> {
    let Some(endpoint) = endpoint.filter(|endpoint| **endpoint != Endpoint::Health) else {
        return vec![Step::Endpoint];
    };
    let further: &[Step] = match endpoint {
        Endpoint::Usage => return vec![Step::Endpoint, Step::Credential, Step::Key],
        Endpoint::Models
        | Endpoint::Model { .. }
        | Endpoint::GenerateModels
        | Endpoint::GenerateModel { .. }
        | Endpoint::Health
        | Endpoint::Preflight => {
            return vec![Step::Endpoint, Step::Credential, Step::Key, Step::List];
        }
        Endpoint::Messages => &[Step::Version, Step::Body, Step::Model],
        Endpoint::CountTokens => &[Step::Version, Step::Rights, Step::Body, Step::Model],
        Endpoint::ImagesGenerations
        | Endpoint::ImagesEdits
        | Endpoint::Generate { .. }
        | Endpoint::CreateCache => &[Step::Rights, Step::Body, Step::Model],
        Endpoint::AccountResource => &[Step::Rights, Step::Body],
        Endpoint::Responses
        | Endpoint::Compact
        | Endpoint::InputTokens
        | Endpoint::ChatCompletions
        | Endpoint::Embeddings => &[Step::Body, Step::Model],
    };
    let first = [Step::Endpoint, Step::Credential, Step::Key, Step::Route];
    let last = limited.then_some(Step::Limits);
    let steps = first.into_iter().chain(further.iter().copied());
    steps.chain(last).collect()
}

/// The endpoint, as text.
pub fn endpoint(found: &Result<Endpoint, Mismatch>) -> String {
    match found {
        Ok(endpoint) => match endpoint.protocol() {
            Some(protocol) => t!(
                "{endpoint}, of protocol {protocol}",
                endpoint = endpoint.name(),
                protocol = protocol
            ),
            None if *endpoint == Endpoint::Health => {
                t!("healthz: no key is asked for").into_owned()
            }
            None => t!(
                "{endpoint}: the place of the key decides the protocol",
                endpoint = endpoint.name()
            ),
        },
        Err(Mismatch::UnknownPath { .. }) => t!("there is no such path").into_owned(),
        Err(Mismatch::NotServed { .. }) => t!("the endpoint is not served here").into_owned(),
        Err(Mismatch::WrongMethod { allow, .. }) => {
            t!("the path takes {methods} only", methods = allow)
        }
    }
}

/// The keys that a request presents, as the gateway reads them.
pub struct Credentials {
    /// Each place that the endpoint reads, and its content.
    read: Vec<(CredentialForm, PresentedCredential)>,
}

impl Credentials {
    /// The keys of a request.
    pub fn new(endpoint: &Endpoint, head: &Head, target: &RequestTarget<'_>) -> Self {
        let mut read = Vec::new();
        for form in CredentialForm::of(endpoint) {
            let presented = form.read(head, target);
            let malformed = presented == PresentedCredential::Malformed;
            read.push((*form, presented));
            if malformed {
                break;
            }
        }
        Self { read }
    }

    /// The places with a key, or those where one is expected.
    pub fn found(&self) -> String {
        let places = |wanted: fn(&PresentedCredential) -> bool| {
            let read = self.read.iter().filter(|(_, presented)| wanted(presented));
            read.map(|(form, _)| place(*form)).collect::<Vec<_>>()
        };
        let malformed = places(|presented| *presented == PresentedCredential::Malformed);
        let keys = places(|presented| matches!(presented, PresentedCredential::Key(_)));
        if !keys.is_empty() {
            return t!("a key in {places}", places = keys.join(&t!(" and in ")));
        }
        match malformed.first() {
            Some(place) => t!(
                "what is in {place} is no key: it is empty, repeated, too long, of another scheme, or has other characters than visible ASCII without a comma",
                place = place
            ),
            None => t!(
                "no key in {places}",
                places = places(|_| true).join(&t!(", nor in "))
            ),
        }
    }

    /// The state of each key in the document.
    pub fn standings(
        &self,
        gateway: &LocalGateway,
        asker: Option<&KeyHolder>,
        good: bool,
    ) -> String {
        let keys = self
            .read
            .iter()
            .filter_map(|(form, presented)| match presented {
                PresentedCredential::Key(key) => Some((form, key)),
                PresentedCredential::Absent | PresentedCredential::Malformed => None,
            });
        let said = keys.map(|(form, key)| {
            if *form == CredentialForm::Query && !gateway.policy().query_key {
                return t!("keys in the query are not taken (query_key is not true)").into_owned();
            }
            let Some(record) = gateway.world.key(&key.digest()) else {
                let feed = if gateway.policy().keys_feed.is_some() {
                    t!(", and what its feed knows is not known here (--group stands for such a key)")
                } else {
                    Cow::default()
                };
                return format!("{}{feed}", t!("the document does not know this key"));
            };
            let id = &record.id;
            if asker.is_some_and(KeyHolder::is_anybody) {
                return taken(
                    &t!("some good key of the group {group}", group = record.group),
                    record,
                    *form,
                    good,
                );
            }
            match authenticate(key, &gateway.in_force, &gateway.world) {
KeyStatus::Valid { .. } => {
                    taken(&t!("{key} is good", key = id), record, *form, good)
                }
                KeyStatus::Ended(_) if record.disabled => t!("{key} is disabled", key = id),
                KeyStatus::Ended(_) | KeyStatus::Invalid | KeyStatus::Undecided => {
                    match record.expires_at.and_then(timestamp::unix_text) {
                        Some(end) => t!("{key} expired at {moment}", key = id, moment = end),
                        None => t!("{key} cannot be judged", key = id),
                    }
                }
            }
        });
        said.collect::<Vec<_>>().join("; ")
    }
}

/// The text on a valid key. One that is rejected nevertheless is in a place that its group does not accept.
fn taken(text: &str, record: &KeyRecord, form: CredentialForm, good: bool) -> String {
    if good {
        text.to_owned()
    } else {
        let (place, group) = (place(form), &record.group);
        t!(
            "{key}, but the group {group} takes none in {place} here",
            key = text,
            group = group,
            place = place
        )
    }
}

fn place(form: CredentialForm) -> Cow<'static, str> {
    match form {
        CredentialForm::Bearer => "authorization: Bearer".into(),
        CredentialForm::XApiKey => "x-api-key".into(),
        CredentialForm::VcApiKey => t!("x-goog-api-key or x-vc-api-key"),
        CredentialForm::Query => t!("the query parameter key"),
    }
}

/// The steps that a request came to, in order, and behind a rejection those that it would have come to.
pub fn ordered(
    ran: &RequestResult,
    endpoint: Option<&Endpoint>,
    limited: bool,
    mut reason: impl FnMut(Step) -> String,
) -> Vec<DecisionStep> {
    let end = ran.refused_at();
    let expected = expected(endpoint, limited);
    // The path of every request leads past limits, also where there are none.
    let told = |step: &Step| *step != Step::Limits || limited || end == Some(*step);
    let reached = ran
        .steps
        .iter()
        .copied()
        .filter(told)
        .map(|step| DecisionStep {
            step,
            result: if end == Some(step) {
                StepResult::Refused
            } else {
                StepResult::Good
            },
            reason: reason(step),
        });
    let missed = expected
        .into_iter()
        .filter(|step| end.is_some() && !ran.steps.contains(step));
    let missed = missed.map(|step| DecisionStep {
        step,
        result: StepResult::NotReached,
        reason: String::new(),
    });
    reached
        .collect::<Vec<_>>()
        .into_iter()
        .chain(missed)
        .collect()
}
