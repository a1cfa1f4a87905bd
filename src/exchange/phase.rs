//! The state machine of one exchange: all phases, and every transition between them.
//!
//! ```text
//!            request head     chunk…           last chunk         response head
//!  Start ──► AwaitingModel ──► Forwarding ──────────────────────► Relaying ──► Done
//!    │            │                │                                 ▲
//!    └────────────┴────────────────┴──► Replied (we answered)        └ may come before the last chunk
//! ```
//!
//! A transition consumes the phase and gives the next one with an [`Outcome`]. What is known of an
//! exchange is part of its phase; a call that a phase does not expect passes or is rejected, and is
//! never an error: Envoy may abort, answer by itself or end a stream in every phase.

use core::mem;

use super::admitted_request::AdmittedRequest;
use super::decision::{self, Decision};
use super::environment::{Environment, Forwarding, ResponseHeaders, StreamEnd};
use super::outcome::{Edits, HeaderEdit, Outcome};
use super::record::{LocalReply, RecordBuilder};
use super::request_body::BodyStep;
use super::response::{Response, UpstreamResult};
use super::response_head::{self, ResponseDecision};
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::ledger::Record;
use crate::limits::Quotas;
use crate::reply::{Rejection, Reply, ReplyContext};

/// The state of one exchange, and the facts known in it.
#[derive(Debug, Default)]
pub(super) enum Phase {
    /// Nothing has come yet.
    #[default]
    Start,
    /// The key is valid; the head is held because the body must say which model.
    AwaitingModel(Box<AdmittedRequest>),
    /// The head is on its way upstream; the rest of the body is read as it follows.
    Forwarding(Box<AdmittedRequest>),
    /// A response passes through; what is left of the request body is still read.
    Relaying(Box<AdmittedRequest>, Response),
    /// The request was answered here; the local reply passes untouched.
    Replied(Box<RecordBuilder>),
    /// Nothing more will come.
    Done,
}

impl Phase {
    /// The request's head has come; `end` says that no body follows.
    pub(super) fn on_request_head(
        self,
        head: &Head,
        end: bool,
        in_force: Option<&InForce>,
        environment: &impl Environment,
    ) -> (Self, Outcome) {
        match self {
            Self::Start => {}
            Self::Forwarding(_) | Self::Relaying(..) => return (self, Outcome::pass()),
            // Undecided, or decided against: a second head, which Envoy never sends, changes nothing.
            Self::AwaitingModel(_) | Self::Replied(_) | Self::Done => {
                return (self, Outcome::Pause);
            }
        }
        match decision::decide(head, end, in_force, environment) {
            Decision::Reply(known, reply) => answer(known, reply, environment),
            Decision::Reject(known, context, rejection) => {
                reject(known, &context, rejection, environment)
            }
            Decision::Forward(admitted) if end => {
                Self::Forwarding(admitted).on_request_body(&[], true, environment)
            }
            Decision::Forward(admitted) => (Self::AwaitingModel(admitted), Outcome::Pause),
        }
    }

    /// The next bytes of the request body have come; `end` says that they are the last.
    pub(super) fn on_request_body(
        self,
        bytes: &[u8],
        end: bool,
        environment: &impl Forwarding,
    ) -> (Self, Outcome) {
        let (mut admitted, response) = match self {
            Self::AwaitingModel(admitted) | Self::Forwarding(admitted) => (admitted, None),
            Self::Relaying(admitted, response) => (admitted, Some(response)),
            // A body without a head, which Envoy never hands over: nothing is known of it.
            Self::Start => {
                let context = ReplyContext::default();
                return reject(Box::default(), &context, Rejection::Internal, environment);
            }
            // Rejected: what the client still sends goes nowhere.
            Self::Replied(_) | Self::Done => return (self, Outcome::Pause),
        };
        let outcome = match admitted.read(bytes, end, environment) {
            Ok(BodyStep::Hold) => Outcome::Pause,
            Ok(BodyStep::Release(edits)) => Outcome::Continue(edits),
            Err(rejection) => {
                let context = admitted.reply.clone();
                let result = response.map_or(UpstreamResult::None, UpstreamResult::Relayed);
                let known = admitted.into_record(result);
                return reject(known, &context, rejection, environment);
            }
        };
        let next = match response {
            Some(response) => Self::Relaying(admitted, response),
            None if admitted.upstream.body.head_released() => Self::Forwarding(admitted),
            None => Self::AwaitingModel(admitted),
        };
        (next, outcome)
    }

    /// Reads a part of the request body that more follows at once.
    pub(super) fn on_request_bytes(&mut self, bytes: &[u8]) {
        if let Self::AwaitingModel(admitted)
        | Self::Forwarding(admitted)
        | Self::Relaying(admitted, _) = self
        {
            admitted.upstream.body.read_ahead(bytes);
        }
    }

    /// The response's head has come; `end` says that no body follows.
    pub(super) fn on_response_head(
        self,
        head: &impl ResponseHeaders,
        end: bool,
        environment: &impl Forwarding,
    ) -> (Self, Outcome) {
        self.on_response(head, end.then_some(&[]), end, environment)
    }

    /// The body of a response whose head is held has come: `words` is all of it, or more than is read.
    pub(super) fn on_held_response(
        self,
        head: &impl ResponseHeaders,
        words: &[u8],
        environment: &impl Forwarding,
    ) -> (Self, Outcome) {
        self.on_response(head, Some(words), false, environment)
    }

    fn on_response(
        self,
        head: &impl ResponseHeaders,
        words: Option<&[u8]>,
        end: bool,
        environment: &impl Forwarding,
    ) -> (Self, Outcome) {
        let mut admitted = match self {
            Self::AwaitingModel(admitted)
            | Self::Forwarding(admitted)
            | Self::Relaying(admitted, _) => admitted,
            // Our own local reply, or Envoy's before the filter saw a head.
            Self::Start | Self::Replied(_) | Self::Done => return (self, Outcome::pass()),
        };
        admitted.upstream.follow_attempts();
        match response_head::decide(head, words, &admitted, environment) {
            ResponseDecision::Hold(status) => (
                Self::Relaying(admitted, Response::held(status)),
                Outcome::Pause,
            ),
            ResponseDecision::Relay(mut response, mut edits) => {
                response.ended = end;
                edits.headers.extend(admitted.limit_headers(environment));
                let detail = admitted.reply.detail();
                let detail = detail.map(|(name, text)| HeaderEdit::Set(name, text.into()));
                edits.headers.extend(detail);
                (Self::Relaying(admitted, response), Outcome::Continue(edits))
            }
            ResponseDecision::Replace(replaced, rejection) => {
                let context = admitted.reply.clone();
                let known = admitted.into_record(UpstreamResult::Replaced(replaced));
                reject(known, &context, rejection, environment)
            }
            ResponseDecision::Envoys(code) => {
                let mut edits = Edits::default();
                edits.headers.extend(admitted.limit_headers(environment));
                let mut known = admitted.into_record(UpstreamResult::None);
                known.reply = Some(LocalReply::of_envoy(code));
                (Self::Replied(known), Outcome::Continue(edits))
            }
        }
    }

    /// Whether the head of a response is held. Where a local reply took its place, that passes.
    pub(super) fn holds_response(&self) -> bool {
        matches!(self, Self::Relaying(_, response) if response.held)
    }

    /// The response that is relayed, or was until the request was rejected in its middle.
    pub(super) fn response(&self) -> Option<&Response> {
        match self {
            Self::Relaying(_, response) => Some(response),
            Self::Replied(known) => known.result.relayed(),
            Self::Start | Self::AwaitingModel(_) | Self::Forwarding(_) | Self::Done => None,
        }
    }

    /// The same, to be fed.
    pub(super) fn response_mut(&mut self) -> Option<&mut Response> {
        match self {
            Self::Relaying(_, response) => Some(response),
            Self::Replied(known) => known.result.relayed_mut(),
            Self::Start | Self::AwaitingModel(_) | Self::Forwarding(_) | Self::Done => None,
        }
    }

    /// Whether a probe was answered.
    pub(super) fn is_probe(&self) -> bool {
        matches!(self, Self::Replied(known) if known.line.is_probe())
    }

    /// The exchange is over: gives its record. `None` for one that never began, or is over already.
    pub(super) fn on_done(
        self,
        stream: &impl StreamEnd,
        environment: &impl Forwarding,
    ) -> Option<Record> {
        let known = match self {
            Self::Start | Self::Done => return None,
            Self::AwaitingModel(admitted) | Self::Forwarding(admitted) => {
                admitted.into_record(UpstreamResult::None)
            }
            Self::Relaying(admitted, response) => {
                admitted.into_record(UpstreamResult::Relayed(response))
            }
            Self::Replied(known) => known,
        };
        if let Some(several) = known.several_accounts() {
            if let Some(held) = known.result.relayed().filter(|it| it.held) {
                response_head::note_unread(held.status, several, environment);
            }
            let finished = known.result.relayed().is_some_and(|it| it.ended);
            several.end(finished, environment);
        }
        Some(known.build(stream, environment))
    }

    /// Takes the phase out, to hand it to a transition.
    pub(super) fn take(&mut self) -> Self {
        mem::replace(self, Self::Done)
    }
}

/// Answers a request as asked.
fn answer(mut known: Box<RecordBuilder>, reply: Reply, quotas: &impl Quotas) -> (Phase, Outcome) {
    known.reply = Some(LocalReply::Answered);
    replied(known, reply, quotas)
}

/// Answers a request with an error.
fn reject(
    mut known: Box<RecordBuilder>,
    context: &ReplyContext,
    rejection: Rejection,
    quotas: &impl Quotas,
) -> (Phase, Outcome) {
    known.reject(&rejection);
    replied(known, context.reject(rejection), quotas)
}

fn replied(known: Box<RecordBuilder>, mut reply: Reply, quotas: &impl Quotas) -> (Phase, Outcome) {
    let left = |caller| known.limits.headers(caller, quotas);
    reply.headers.extend(known.caller.iter().flat_map(left));
    (Phase::Replied(known), Outcome::Reply(reply))
}
