//! The request's side of the state machine.

use core::mem;
use std::rc::Rc;

use serde_json::json;

use super::admission::{self, Admitted};
use super::descriptors;
use super::facts::Facts;
use super::forward::head_edits;
use super::lists::{self, Asked};
use super::media::{self, Media};
use super::misplaced::misplaced;
use super::quota::{self, Quotas};
use super::upload::{AskUsage, Expectation, Step, Upload};
use super::{Asker, Clock, Outcome, Phase};
use crate::auth::{Form, KeyStore};
use crate::body::BodyError;
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::lane::Protocol;
use crate::protocol::query::Target;
use crate::protocol::{Dialect, Endpoint, Mismatch, match_request};
use crate::reply::{Rejection, Reply};
use crate::routing::Route;

impl Phase {
    /// The request's head has come; `end` says that no body follows.
    pub(super) fn on_request_head(
        self,
        head: &Head,
        end: bool,
        in_force: Option<&InForce>,
        world: &(impl KeyStore + Clock + Quotas),
        facts: &mut Facts,
    ) -> (Self, Outcome) {
        match self {
            Self::Start => {}
            Self::Forwarding(_) | Self::Relaying(_) => return (self, Outcome::pass()),
            // Undecided, or decided against: a second head, which Envoy never sends, changes nothing.
            Self::AwaitingModel(_) | Self::Replied | Self::Done => return (self, Outcome::Pause),
        }
        let target = Target::parse(head.target());
        facts.note_head(head, &target);
        let request_id = head.get("x-request-id").and_then(plain_id);
        let asker = |dialect| Asker {
            dialect,
            request_id: request_id.clone(),
        };
        let endpoint = match match_request(head.method(), target.path) {
            Ok(endpoint) => endpoint,
            Err(mismatch) => return refuse_mismatch(mismatch, head, asker, facts),
        };
        let asker = asker(Dialect::of(endpoint.protocol(), head));
        facts.protocol = endpoint.protocol();
        facts.note_wire(&endpoint);
        let decided = if endpoint == Endpoint::Health {
            health(in_force, &asker)
        } else {
            let request = Request {
                head,
                end,
                target: &target,
                endpoint: &endpoint,
            };
            decide(&request, in_force, world, &asker, facts)
        };
        facts.endpoint = Some(endpoint);
        decided.unwrap_or_else(|rejection| asker.refuse(rejection, facts))
    }

    /// The next bytes of the body have come; `end` says that they are the last.
    pub(super) fn on_request_body(
        self,
        bytes: &[u8],
        end: bool,
        facts: &mut Facts,
        quotas: &impl Quotas,
    ) -> (Self, Outcome) {
        let next = match self {
            Self::AwaitingModel(_) | Self::Forwarding(_) => Self::Forwarding,
            _ => Self::Relaying,
        };
        match self {
            Self::AwaitingModel(upload) | Self::Forwarding(upload) | Self::Relaying(upload) => {
                read(upload, bytes, end, next, facts, quotas)
            }
            // Refused: what the client still sends goes nowhere.
            Self::Replied => (Self::Replied, Outcome::Pause),
            // A body without a head, which Envoy never hands over: nothing is known of it.
            Self::Start => nobody().refuse(Rejection::Internal, facts),
            Self::Done => (Self::Done, Outcome::Pause),
        }
    }

    /// See [`Exchange::on_request_bytes`](super::Exchange::on_request_bytes).
    pub(super) fn on_request_bytes(&mut self, bytes: &[u8]) {
        if let Self::AwaitingModel(upload) | Self::Forwarding(upload) | Self::Relaying(upload) =
            self
        {
            upload.read_ahead(bytes);
        }
    }

    /// Takes the phase out, to hand it to a transition.
    pub(super) fn take(&mut self) -> Self {
        mem::replace(self, Self::Done)
    }
}

/// What the head says.
struct Request<'a> {
    head: &'a Head,
    /// Whether that is all: no body follows.
    end: bool,
    target: &'a Target<'a>,
    endpoint: &'a Endpoint,
}

/// The decision, in the order in which the reasons to refuse are looked at.
fn decide(
    request: &Request<'_>,
    in_force: Option<&InForce>,
    world: &(impl KeyStore + Clock + Quotas),
    asker: &Asker,
    facts: &mut Facts,
) -> Result<(Phase, Outcome), Rejection> {
    let &Request {
        head,
        end,
        target,
        endpoint,
    } = request;
    if asks_for_websocket(head) {
        return Err(Rejection::UpgradeRequired);
    }
    // HTTP/2 carries any byte in a target; an HTTP/1 upstream would see another request, or none.
    if !head.target().iter().all(u8::is_ascii_graphic) {
        return Err(Rejection::BadTarget);
    }
    let admitted =
        admission::admit(head, target, endpoint, in_force, world).map_err(|denied| {
            match (denied.rejection, in_force) {
                (Rejection::Unauthenticated, Some(in_force)) => {
                    let other = |form: &Form| !denied.not_good.contains(form);
                    let forms = Form::ALL.into_iter().filter(other);
                    misplaced(forms, head, target, endpoint, in_force, world, facts)
                }
                (rejection, _) => rejection,
            }
        });
    let Admitted { key, group, form } = admitted?;
    let policy = &in_force.ok_or(Rejection::NotReady)?.policy;
    let protocol = admission::protocol_of(endpoint, form);
    facts.note_key(&key);
    facts.subjects = quota::subjects(&key, &group);
    facts.currency = policy.currency.clone();
    facts.group = Some(Rc::clone(&group));
    facts.protocol = Some(protocol);
    if let Some(asked) = list_asked(endpoint) {
        let body = lists::answer(&group, protocol, asked, target)?;
        let dialect = match protocol {
            Protocol::C => Dialect::Native(Protocol::C),
            Protocol::A | Protocol::B => asker.dialect,
        };
        let reply = Reply::written(200, body, dialect, asker.request_id.as_deref());
        return Ok((Phase::Replied, Outcome::Reply(reply)));
    }
    let route = admission::authorize(head, target, endpoint, protocol, &group)?;
    let (expects, upstream_model) = path_model(endpoint, &route, facts)?;
    let mut edits = head_edits(head, target, endpoint, &route, &key.id, &upstream_model);
    let needs_body = *endpoint != Endpoint::AccountResource;
    let content_length = check_body_head(head, policy.max_body, end && needs_body)?;
    let Media { scanner, edit } = if end && !needs_body {
        Media::none()
    } else {
        media::judge(head, *endpoint == Endpoint::ImagesEdits)?
    };
    edits.headers.extend(edit);
    facts.route = Some(route.clone());
    facts.limits_service = policy.limits_service;
    descriptors::require_service(facts, world)?;
    facts.began_us = Some(world.now_us());
    let ask_usage = match endpoint {
        Endpoint::ChatCompletions => AskUsage::of(&route.source),
        _ => AskUsage::No,
    };
    let mut upload = Upload::new(
        asker.clone(),
        route,
        expects,
        scanner,
        policy,
        content_length,
        edits,
    );
    upload.ask_for_usage(ask_usage);
    upload.hold_for(quota::needs(facts));
    let upload = Box::new(upload);
    Ok(if end {
        read(upload, &[], true, Phase::Forwarding, facts, world)
    } else {
        (Phase::AwaitingModel(upload), Outcome::Pause)
    })
}

fn read(
    mut upload: Box<Upload>,
    bytes: &[u8],
    end: bool,
    next: fn(Box<Upload>) -> Phase,
    facts: &mut Facts,
    quotas: &impl Quotas,
) -> (Phase, Outcome) {
    let held = !upload.head_gone();
    let mut step = upload.read(bytes, end, facts);
    if held && matches!(step, Ok(Step::Release(_))) {
        // Limits come last: a request that is refused for another reason costs nothing.
        step = quota::admit(&upload, facts, quotas).and(step);
        if let Ok(Step::Release(edits)) = &mut step {
            edits.descriptors = descriptors::of(facts);
        }
    }
    match step {
        Err(rejection) => upload.asker.refuse(rejection, facts),
        Ok(Step::Hold) if upload.head_gone() => (next(upload), Outcome::Pause),
        Ok(Step::Hold) => (Phase::AwaitingModel(upload), Outcome::Pause),
        Ok(Step::Release(edits)) => (next(upload), Outcome::Continue(edits)),
    }
}

fn refuse_mismatch(
    mismatch: Mismatch,
    head: &Head,
    asker: impl Fn(Dialect) -> Asker,
    facts: &mut Facts,
) -> (Phase, Outcome) {
    let (protocol, rejection) = match mismatch {
        Mismatch::UnknownPath { protocol, advice } => (protocol, Rejection::UnknownPath { advice }),
        Mismatch::NotServed { protocol } => (protocol, Rejection::EndpointNotServed),
        Mismatch::WrongMethod { protocol, .. } if asks_for_websocket(head) => {
            (protocol, Rejection::UpgradeRequired)
        }
        Mismatch::WrongMethod { protocol, allow } => (protocol, Rejection::WrongMethod { allow }),
    };
    facts.protocol = protocol;
    asker(Dialect::of(protocol, head)).refuse(rejection, facts)
}

fn health(in_force: Option<&InForce>, asker: &Asker) -> Result<(Phase, Outcome), Rejection> {
    in_force
        .filter(|p| p.is_ready())
        .ok_or(Rejection::NotReady)?;
    let reply = Reply::json(200, &json!({"status": "ok"}), asker.dialect, None);
    Ok((Phase::Replied, Outcome::Reply(reply)))
}

fn list_asked(endpoint: &Endpoint) -> Option<Asked<'_>> {
    match endpoint {
        Endpoint::Models | Endpoint::GenerateModels => Some(Asked::List),
        Endpoint::Model { id } | Endpoint::GenerateModel { id } => Some(Asked::One(id)),
        _ => None,
    }
}

/// What the body must say about the model, and the model's name in the upstream's path.
fn path_model(
    endpoint: &Endpoint,
    route: &Route,
    facts: &mut Facts,
) -> Result<(Expectation, String), Rejection> {
    match endpoint {
        Endpoint::Generate {
            model: name,
            method,
            ..
        } => {
            let model = route.model(name)?;
            facts.note_model(name, Some(model));
            facts.stream = method == "streamGenerateContent";
            let upstream = model.upstream.as_ref().unwrap_or(name).clone();
            let expects = Expectation::SameAs {
                id: model.id.clone(),
                upstream: model.upstream.clone(),
            };
            Ok((expects, upstream))
        }
        Endpoint::AccountResource => Ok((Expectation::Any, String::new())),
        _ => Ok((Expectation::Named, String::new())),
    }
}

/// Refuses a body by its head alone: too long, still encoded, or `missing`. Gives its length, where
/// the head tells.
fn check_body_head(head: &Head, max_body: u64, missing: bool) -> Result<Option<u64>, Rejection> {
    let encoded = head
        .values("content-encoding")
        .any(|value| !value.trim_ascii().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(Rejection::EncodingNotSupported);
    }
    if missing {
        return Err(Rejection::Body(BodyError::Empty));
    }
    let length = head
        .get("content-length")
        .and_then(|value| core::str::from_utf8(value).ok())
        .and_then(|text| text.parse::<u64>().ok());
    match length {
        Some(length) if length > max_body => Err(Rejection::TooLarge { limit: max_body }),
        length => Ok(length),
    }
}

fn asks_for_websocket(head: &Head) -> bool {
    head.values("upgrade")
        .any(|value| value.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

/// An id that is safe to repeat in a header.
fn plain_id(value: &[u8]) -> Option<String> {
    let good = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:".contains(b);
    let plain = !value.is_empty() && value.len() <= 128 && value.iter().all(good);
    let text = core::str::from_utf8(value).ok().filter(|_| plain)?;
    Some(text.to_owned())
}

fn nobody() -> Asker {
    Asker {
        dialect: Dialect::Shared(Protocol::A),
        request_id: None,
    }
}
