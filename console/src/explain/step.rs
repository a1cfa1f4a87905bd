//! The steps of a decision, in the gateway's order, and their results.

use serde::Serialize;
use trilane::auth::{CredentialForm, KeyStatus, PresentedCredential, authenticate};
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
    pub step: StepName,
    /// The result of the step.
    pub result: StepResult,
    /// The reason, or what was found.
    pub reason: String,
}

/// A step of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    /// Method and path.
    Endpoint,
    /// The key in its place.
    Credential,
    /// Whether the key is good.
    Key,
    /// A list of models.
    List,
    /// From the key's group to a source.
    Route,
    /// The version header of protocol B.
    Version,
    /// The endpoints that the group allows.
    Rights,
    /// The body's head and form.
    Body,
    /// The model and who may use it.
    Model,
    /// The limits of key and group.
    Limits,
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

impl StepName {
    /// Returns the name, as JSON has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Credential => "credential",
            Self::Key => "key",
            Self::List => "list",
            Self::Route => "route",
            Self::Version => "version",
            Self::Rights => "rights",
            Self::Body => "body",
            Self::Model => "model",
            Self::Limits => "limits",
        }
    }

    /// The steps of a request for an endpoint, in order.
    pub fn of(endpoint: Option<&Endpoint>, limited: bool) -> Vec<Self> {
        let Some(endpoint) = endpoint.filter(|endpoint| **endpoint != Endpoint::Health) else {
            return vec![Self::Endpoint];
        };
        let further: &[Self] = match endpoint {
            Endpoint::Usage => return vec![Self::Endpoint, Self::Credential, Self::Key],
            Endpoint::Models
            | Endpoint::Model { .. }
            | Endpoint::GenerateModels
            | Endpoint::GenerateModel { .. }
            | Endpoint::Health => {
                return vec![Self::Endpoint, Self::Credential, Self::Key, Self::List];
            }
            Endpoint::Messages => &[Self::Version, Self::Body, Self::Model],
            Endpoint::CountTokens => &[Self::Version, Self::Rights, Self::Body, Self::Model],
            Endpoint::ImagesGenerations | Endpoint::ImagesEdits => {
                &[Self::Rights, Self::Body, Self::Model]
            }
            // The path names the model.
            Endpoint::Generate { .. } => &[Self::Rights, Self::Model, Self::Body],
            Endpoint::AccountResource => &[Self::Rights, Self::Body],
            Endpoint::CreateCache => &[Self::Rights, Self::Body, Self::Model],
            Endpoint::Responses | Endpoint::ChatCompletions => &[Self::Body, Self::Model],
        };
        let first = [Self::Endpoint, Self::Credential, Self::Key, Self::Route];
        let last = limited.then_some(Self::Limits);
        first
            .into_iter()
            .chain(further.iter().copied())
            .chain(last)
            .collect()
    }

    /// The step that rejects a request with this error code.
    pub fn of_code(code: &str, endpoint: Option<&Endpoint>, presented: bool) -> Self {
        let is_list = Self::of(endpoint, false).contains(&Self::List);
        match code {
            "invalid_api_key" if presented => Self::Key,
            "invalid_api_key" => Self::Credential,
            "protocol_not_allowed" | "model_not_found" | "invalid_parameter" if is_list => {
                Self::List
            }
            "protocol_not_allowed" => Self::Route,
            "invalid_version" => Self::Version,
            "images_not_supported" | "count_tokens_not_supported" | "caches_not_supported" => {
                Self::Rights
            }
            "not_found" | "invalid_parameter" if endpoint.is_some() => Self::Rights,
            "request_body_encoding_unsupported"
            | "unsupported_media_type"
            | "request_too_large"
            | "member_not_allowed"
            | "invalid_body" => Self::Body,
            "model_missing" | "model_mismatch" | "model_not_found" | "model_not_entitled" => {
                Self::Model
            }
            "rate_limit_exceeded"
            | "insufficient_quota"
            | "model_not_priced"
            | "server_is_overloaded"
            | "ledger_unwritable" => Self::Limits,
            _ => Self::Endpoint,
        }
    }
}

/// The endpoint, as text.
pub fn endpoint(found: &Result<Endpoint, Mismatch>) -> String {
    match found {
        Ok(endpoint) => match endpoint.protocol() {
            Some(protocol) => format!("{}, of protocol {protocol}", endpoint.name()),
            None if *endpoint == Endpoint::Health => "healthz: no key is asked for".to_owned(),
            None => format!(
                "{}: the place of the key decides the protocol",
                endpoint.name()
            ),
        },
        Err(Mismatch::UnknownPath { .. }) => "there is no such path".to_owned(),
        Err(Mismatch::NotServed { .. }) => "the endpoint is not served here".to_owned(),
        Err(Mismatch::WrongMethod { allow, .. }) => format!("the path takes {allow} only"),
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

    /// Whether there is any key.
    pub fn any(&self) -> bool {
        self.read
            .iter()
            .any(|(_, presented)| matches!(presented, PresentedCredential::Key(_)))
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
            return format!("a key in {}", keys.join(" and in "));
        }
        match malformed.first() {
            Some(place) => format!(
                "what is in {place} is no key: it is empty, repeated, too long, of another scheme, or has \
                 other characters than visible ASCII without a comma"
            ),
            None => format!("no key in {}", places(|_| true).join(", nor in ")),
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
                return "keys in the query are not taken (query_key is not true)".to_owned();
            }
            let Some(record) = gateway.world.key(&key.digest()) else {
                let feed = if gateway.policy().keys_feed.is_some() {
                    ", and what its feed knows is not known here (--group stands for such a key)"
                } else {
                    ""
                };
                return format!("the document does not know this key{feed}");
            };
            let id = &record.id;
            if asker.is_some_and(KeyHolder::is_anybody) {
                return taken(
                    &format!("some good key of the group {}", record.group),
                    record,
                    *form,
                    good,
                );
            }
            match authenticate(key, &gateway.in_force, &gateway.world) {
                KeyStatus::Valid { .. } => taken(&format!("{id} is good"), record, *form, good),
                KeyStatus::Invalid | KeyStatus::Undecided if record.disabled => {
                    format!("{id} is disabled")
                }
                KeyStatus::Invalid | KeyStatus::Undecided => {
                    match record.expires_at.and_then(timestamp::unix_text) {
                        Some(end) => format!("{id} expired at {end}"),
                        None => format!("{id} cannot be judged"),
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
        format!("{text}, but the group {group} takes none in {place} here")
    }
}

fn place(form: CredentialForm) -> &'static str {
    match form {
        CredentialForm::Bearer => "authorization: Bearer",
        CredentialForm::XApiKey => "x-api-key",
        CredentialForm::VcApiKey => "x-goog-api-key or x-vc-api-key",
        CredentialForm::Query => "the query parameter key",
    }
}

/// The steps in order: those before the end are good, those after it were not reached.
pub fn ordered(
    names: &[StepName],
    ran: &RequestResult,
    end: Option<StepName>,
    mut reason: impl FnMut(StepName) -> String,
) -> Vec<DecisionStep> {
    let end_at = end.and_then(|end| names.iter().position(|name| *name == end));
    let steps = names.iter().enumerate().map(|(position, &step)| {
        let result = match end_at {
            Some(end) if position == end => StepResult::Refused,
            // A body may prove invalid after the model was known and the headers were forwarded.
            Some(end) if position > end && !ran.forwarded => StepResult::NotReached,
            _ => StepResult::Good,
        };
        let reason = if result == StepResult::NotReached {
            String::new()
        } else {
            reason(step)
        };
        DecisionStep {
            step,
            result,
            reason,
        }
    });
    steps.collect()
}
