//! The request's side of the state machine.

use core::mem;

use serde_json::json;

use super::admission::{self, Admitted};
use super::forward::head_edits;
use super::lists::{self, Asked};
use super::upload::{Expectation, Step, Upload};
use super::{Asker, Outcome, Phase};
use crate::auth::World;
use crate::body::{BodyError, BodyScanner};
use crate::config::snapshot::InForce;
use crate::head::{Head, Occurrence};
use crate::lane::Protocol;
use crate::protocol::query::Target;
use crate::protocol::{Dialect, Endpoint, Mismatch, match_request};
use crate::reply::{Rejection, Reply};
use crate::routing::Route;

impl Phase {
    /// The request's head has come; `end` says that no body follows.
    pub fn on_request_head(
        self,
        head: &Head,
        end: bool,
        in_force: Option<&InForce>,
        world: &impl World,
    ) -> (Self, Outcome) {
        match self {
            Self::Start => {}
            Self::Forwarding(_) | Self::Relaying(_) => return (self, Outcome::pass()),
            // Undecided, or decided against: a second head, which Envoy never sends, changes nothing.
            Self::AwaitingModel(_) | Self::Replied | Self::Done => return (self, Outcome::Pause),
        }
        let target = Target::parse(head.target());
        let request_id = head.get("x-request-id").and_then(plain_id);
        let asker = |dialect| Asker {
            dialect,
            request_id: request_id.clone(),
        };
        let endpoint = match match_request(head.method(), target.path) {
            Ok(endpoint) => endpoint,
            Err(mismatch) => return refuse_mismatch(mismatch, head, asker),
        };
        let asker = asker(Dialect::of(endpoint.protocol(), head));
        if endpoint == Endpoint::Health {
            return health(in_force, &asker);
        }
        match decide(head, end, &target, &endpoint, in_force, world, &asker) {
            Ok(decided) => decided,
            Err(rejection) => asker.refuse(rejection),
        }
    }

    /// The next bytes of the body have come; `end` says that they are the last.
    pub fn on_request_body(self, bytes: &[u8], end: bool) -> (Self, Outcome) {
        match self {
            Self::AwaitingModel(upload) => read(upload, bytes, end, Self::Forwarding),
            Self::Forwarding(upload) => read(upload, bytes, end, Self::Forwarding),
            Self::Relaying(upload) => read(upload, bytes, end, Self::Relaying),
            // Refused: what the client still sends goes nowhere.
            Self::Replied => (Self::Replied, Outcome::Pause),
            // A body without a head, which Envoy never hands over: nothing is known of it.
            Self::Start => nobody().refuse(Rejection::Internal),
            Self::Done => (Self::Done, Outcome::Pause),
        }
    }

    /// Part of what has come of the body; the rest of it follows at once with
    /// [`on_request_body`](Self::on_request_body). So a caller need not hold all of it at a time.
    pub fn on_request_bytes(&mut self, bytes: &[u8]) {
        if let Self::AwaitingModel(upload) | Self::Forwarding(upload) | Self::Relaying(upload) =
            self
        {
            upload.read_ahead(bytes);
        }
    }

    /// The body has ended with trailers: HTTP/2 requests may, decompressed ones do.
    pub fn on_request_trailers(self) -> (Self, Outcome) {
        self.on_request_body(&[], true)
    }

    /// The exchange is over, however it ended.
    pub fn on_done(&mut self) {
        *self = Self::Done;
    }

    /// Takes the phase out, to hand it to a transition.
    pub fn take(&mut self) -> Self {
        mem::replace(self, Self::Done)
    }
}

/// The decision, in the order in which the reasons to refuse are looked at.
fn decide(
    head: &Head,
    end: bool,
    target: &Target<'_>,
    endpoint: &Endpoint,
    in_force: Option<&InForce>,
    world: &impl World,
    asker: &Asker,
) -> Result<(Phase, Outcome), Rejection> {
    if asks_for_websocket(head) {
        return Err(Rejection::UpgradeRequired);
    }
    // HTTP/2 carries any byte in a target; an HTTP/1 upstream would see another request, or none.
    if !head.target().iter().all(u8::is_ascii_graphic) {
        return Err(Rejection::BadTarget);
    }
    let Admitted { group, form } = admission::admit(head, target, endpoint, in_force, world)?;
    let policy = &in_force.ok_or(Rejection::NotReady)?.policy;
    let protocol = admission::protocol_of(endpoint, form);
    if let Some(asked) = list_asked(endpoint) {
        let body = lists::answer(&group, protocol, asked, target)?;
        let dialect = match protocol {
            Protocol::C => Dialect::Native(Protocol::C),
            Protocol::A | Protocol::B => asker.dialect,
        };
        let reply = Reply::json(200, &body, dialect, asker.request_id.as_deref());
        return Ok((Phase::Replied, Outcome::Reply(reply)));
    }
    let route = admission::authorize(head, endpoint, protocol, &group)?;
    let (expects, upstream_model) = path_model(endpoint, &route)?;
    let edits = head_edits(head, target, endpoint, &route, &upstream_model);
    let needs_body = *endpoint != Endpoint::AccountResource;
    let content_length = check_body_head(head, policy.max_body, end && needs_body)?;
    let upload = Upload::new(
        asker.clone(),
        route,
        expects,
        scanner(head, endpoint)?,
        policy,
        content_length,
        edits,
    );
    let upload = Box::new(upload);
    Ok(if end {
        read(upload, &[], true, Phase::Forwarding)
    } else {
        (Phase::AwaitingModel(upload), Outcome::Pause)
    })
}

fn read(
    mut upload: Box<Upload>,
    bytes: &[u8],
    end: bool,
    next: fn(Box<Upload>) -> Phase,
) -> (Phase, Outcome) {
    match upload.read(bytes, end) {
        Err(rejection) => upload.asker.refuse(rejection),
        Ok(Step::Hold) if upload.head_gone() => (next(upload), Outcome::Pause),
        Ok(Step::Hold) => (Phase::AwaitingModel(upload), Outcome::Pause),
        Ok(Step::Release(edits)) => (next(upload), Outcome::Continue(edits)),
    }
}

fn refuse_mismatch(
    mismatch: Mismatch,
    head: &Head,
    asker: impl Fn(Dialect) -> Asker,
) -> (Phase, Outcome) {
    match mismatch {
        Mismatch::UnknownPath { protocol, advice } => {
            asker(Dialect::of(protocol, head)).refuse(Rejection::UnknownPath { advice })
        }
        Mismatch::WrongMethod { protocol, .. } if asks_for_websocket(head) => {
            asker(Dialect::of(protocol, head)).refuse(Rejection::UpgradeRequired)
        }
        Mismatch::WrongMethod { protocol, allow } => {
            asker(Dialect::of(protocol, head)).refuse(Rejection::WrongMethod { allow })
        }
    }
}

fn health(in_force: Option<&InForce>, asker: &Asker) -> (Phase, Outcome) {
    if in_force.is_none() {
        return asker.refuse(Rejection::NotReady);
    }
    let reply = Reply::json(200, &json!({"status": "ok"}), asker.dialect, None);
    (Phase::Replied, Outcome::Reply(reply))
}

fn list_asked(endpoint: &Endpoint) -> Option<Asked<'_>> {
    match endpoint {
        Endpoint::Models | Endpoint::GenerateModels => Some(Asked::List),
        Endpoint::Model { id } | Endpoint::GenerateModel { id } => Some(Asked::One(id)),
        _ => None,
    }
}

/// What the body must say about the model, and the model's name in the upstream's path.
fn path_model(endpoint: &Endpoint, route: &Route) -> Result<(Expectation, String), Rejection> {
    match endpoint {
        Endpoint::Generate { model: name, .. } => {
            let model = route.model(name)?;
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

/// The scanner for the body's form: JSON, or for image edits what the content type says.
fn scanner(head: &Head, endpoint: &Endpoint) -> Result<BodyScanner, Rejection> {
    let content_type = match head.single("content-type") {
        Occurrence::Once(value) => value,
        Occurrence::Absent | Occurrence::Repeated => b"",
    };
    let is_form = content_type
        .get(..19)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/form-data"));
    if *endpoint == Endpoint::ImagesEdits && is_form {
        BodyScanner::multipart(content_type).map_err(Rejection::Body)
    } else {
        Ok(BodyScanner::json())
    }
}

fn asks_for_websocket(head: &Head) -> bool {
    head.values("upgrade")
        .any(|value| value.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

/// An id that is safe to repeat in a header.
fn plain_id(value: &[u8]) -> Option<String> {
    let good = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:".contains(b);
    (!value.is_empty() && value.len() <= 128 && value.iter().all(good))
        .then(|| String::from_utf8_lossy(value).into_owned())
}

fn nobody() -> Asker {
    Asker {
        dialect: Dialect::Shared(Protocol::A),
        request_id: None,
    }
}
