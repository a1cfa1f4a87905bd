//! One exchange, request and response, as a state machine that knows nothing of Envoy.
//!
//! `phase.rs` has the phases and all transitions between them, each with what is known of the
//! exchange there. `filter::http` calls [`Exchange`] and carries out the [`Outcome`].
//!
//! The request: `decision` decides by the head (`authentication`, `authorization`), `request_body` and `model_check` read the body, `limits` counts.
//! The response: `response_head` decides by the head, `response` reads the body.
//! The end: `record` builds the record.

mod admitted_request;
mod affinity;
mod attempts;
mod authentication;
mod authorization;
mod charging;
mod cors;
mod decision;
mod edits;
mod environment;
mod estimating;
mod include_usage;
mod key_place;
mod later_source;
mod limits;
mod lists;
mod media;
mod misplaced;
mod model_check;
mod outcome;
mod phase;
mod record;
mod recorded_key;
mod reply_context;
mod request;
mod request_body;
mod request_labels;
mod response;
mod response_head;
mod route;
mod several_accounts;
mod silence;
mod step;
mod stripped_headers;
mod upstream_head;
mod upstream_request;
mod usage_event_filter;
mod usage_report;

pub use edits::{
    ACCOUNT_HEADER, BodyEdit, Edits, FINAL_HEADER, HeaderEdit, JUDGE_HEADER, JUDGED_HEADER,
    PATH_HEADER, PROBE_HEADER,
};
pub use environment::{
    AccountStates, ClientAddress, Clock, Environment, Forwarding, LedgerState, Origin,
    ResponseHeaders, StreamEnd,
};
pub use outcome::Outcome;
pub use route::Route;
pub use step::{Step, Trace};
pub use stripped_headers::is_withheld;

pub use crate::limits::Quotas;

use std::rc::Rc;

use phase::Phase;
use request_labels::request_labels;

use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::ledger::{Record, RequestLabels};

/// One exchange.
///
/// Its methods are the proxy's callbacks. Any of them may come at any time, or never.
#[derive(Debug, Default)]
pub struct Exchange {
    phase: Phase,
    /// The value of `access-control-allow-origin`, where scripts of a web page may read the answer.
    readable_by: Option<Rc<str>>,
    /// The client, session and labels that the request names. Its headers are gone when the record is written.
    labels: Option<Box<RequestLabels>>,
}

impl Exchange {
    /// The request's head has come; `end` says that no body follows.
    pub fn on_request_head(
        &mut self,
        head: &Head,
        end: bool,
        in_force: Option<&InForce>,
        environment: &impl Environment,
    ) -> Outcome {
        self.readable_by = in_force.and_then(|it| cors::allowed_origin(&it.policy, head));
        let labels = in_force.map_or(&[][..], |it| it.policy.labels.as_slice());
        self.labels = request_labels(head, labels);
        self.step(|phase| phase.on_request_head(head, end, in_force, environment))
    }

    /// A part of the request body has come; [`on_request_body`](Self::on_request_body) follows at once with more of it. So a
    /// caller need not hold all of a large chunk at a time.
    pub fn on_request_bytes(&mut self, bytes: &[u8]) {
        self.phase.on_request_bytes(bytes);
    }

    /// The next bytes of the request body have come; `end` says that they are the last.
    pub fn on_request_body(
        &mut self,
        bytes: &[u8],
        end: bool,
        environment: &impl Forwarding,
    ) -> Outcome {
        self.step(|phase| phase.on_request_body(bytes, end, environment))
    }

    /// The request body has ended with trailers: HTTP/2 requests may, decompressed ones do.
    pub fn on_request_trailers(&mut self, environment: &impl Forwarding) -> Outcome {
        self.on_request_body(&[], true, environment)
    }

    /// The response's head has come; `end` says that no body follows. It is relayed with a few headers
    /// changed, or replaced by a local reply.
    pub fn on_response_head(
        &mut self,
        head: &impl ResponseHeaders,
        end: bool,
        environment: &impl Forwarding,
    ) -> Outcome {
        let outcome = self.step(|phase| phase.on_response_head(head, end, environment));
        self.opened(outcome, head)
    }

    /// Whether the response's head is held until [`on_held_response`](Self::on_held_response) has had its body.
    pub fn holds_response(&self) -> bool {
        self.phase.holds_response()
    }

    /// The body of a response whose head is held has come: `words` is all of it, or more than
    /// [`MAX_ANSWER`](crate::failover::MAX_ANSWER) bytes. Where it is relayed, [`on_response_body`](Self::on_response_body)
    /// follows with the same bytes.
    pub fn on_held_response(
        &mut self,
        head: &impl ResponseHeaders,
        words: &[u8],
        environment: &impl Forwarding,
    ) -> Outcome {
        let outcome = self.step(|phase| phase.on_held_response(head, words, environment));
        self.opened(outcome, head)
    }

    /// Whether the bytes of the response are to be given to [`on_response_body`](Self::on_response_body);
    /// else their number will do.
    pub fn reads_response(&self) -> bool {
        self.phase.response().is_some_and(|it| it.is_metered())
    }

    /// Whether something may be taken out of the response's body: then
    /// [`on_response_body`](Self::on_response_body) must be given all bytes that pass at once.
    pub fn edits_response(&self) -> bool {
        self.phase.response().is_some_and(|it| it.is_edited())
    }

    /// `len` bytes of the response's body pass. Gives what goes on in their place, where that is something else.
    pub fn on_response_body(
        &mut self,
        bytes: &[u8],
        len: usize,
        end: bool,
        clock: &impl Clock,
    ) -> Option<Vec<u8>> {
        let response = self.phase.response_mut()?;
        response.pass(bytes, len, end, clock)
    }

    /// The response has ended with trailers.
    pub fn on_response_trailers(&mut self) {
        if let Some(response) = self.phase.response_mut() {
            response.ended = true;
        }
    }

    /// Whether a probe was answered, which has no line in the ledger.
    pub fn is_probe(&self) -> bool {
        self.phase.is_probe()
    }

    /// The exchange is over, however it ended: gives its record, once. `None` for a request whose
    /// head never came here.
    pub fn on_done(
        &mut self,
        stream: &impl StreamEnd,
        environment: &impl Forwarding,
    ) -> Option<Record> {
        let mut record = self.phase.take().on_done(stream, environment)?;
        record.labels = self.labels.take();
        Some(record)
    }

    /// Takes a transition.
    fn step(&mut self, transition: impl FnOnce(Phase) -> (Phase, Outcome)) -> Outcome {
        let (phase, mut outcome) = transition(self.phase.take());
        self.phase = phase;
        if let (Outcome::Reply(reply), Some(origin)) = (&mut outcome, &self.readable_by) {
            cors::open_reply(reply, origin);
        }
        outcome
    }

    /// The outcome for a response's head, which scripts may read where it is relayed.
    fn opened(&self, mut outcome: Outcome, head: &impl ResponseHeaders) -> Outcome {
        if let (Outcome::Continue(edits), Some(origin)) = (&mut outcome, &self.readable_by) {
            cors::open_response(edits, origin, head);
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
