//! One exchange, request and response, as a state machine that knows nothing of Envoy.
//!
//! `phase` has the phases and all transitions between them, each with what is known of the exchange there. `filter::http`
//! calls [`Exchange`] and carries out the [`Outcome`]. A file imports only
//! files that stand below it, or behind it.
//!
//! | file | what |
//! |---|---|
//! | `phase` | the state machine: what comes, in which phase, and what follows |
//! | `decision`, `local_replies` | on a request's head: the order of the reasons to reject it; replies to what is asked of the gateway itself |
//! | `response_head` | on a response's head: relayed, held, or replaced by a local reply |
//! | `admitted_request` | a request that goes upstream: its body is read, its limits are reserved, its head is released |
//! | `record` | the end: the usage is completed, the limits are settled, and the record is built |
//! | `limits` | what a request reserves, what it has used, and what its client learns of that |
//! | `charging`, `estimating` | its cost, and its usage where that is not known |
//! | `upstream_request` | its source; `dispatch` and `attempts` of several accounts |
//! | `response` | the response on its way back, and its meter |
//! | `request_body`, `model_check`, `media` | the body as it streams, the models that it names, its form |
//! | `include_usage` | the usage of a stream that the client did not ask for |
//! | `upstream_head`, `cors` | headers that change, or stay here |
//! | `authentication`, `route` | the caller, and its way to a source with the rights there |
//! | `request_head` | what a request says in its head |
//! | `environment`, `outcome` | what the exchange asks of its surroundings, and what it tells them to do |

mod admitted_request;
mod attempts;
mod authentication;
mod charging;
mod cors;
mod decision;
mod dispatch;
mod environment;
mod estimating;
mod include_usage;
mod limits;
mod local_replies;
mod media;
mod model_check;
mod outcome;
mod phase;
mod record;
mod request_body;
mod request_head;
mod response;
mod response_head;
mod route;
mod upstream_head;
mod upstream_request;

pub use environment::{
    AccountStates, ClientAddress, Clock, Environment, Forwarding, LedgerState, Origin,
    ResponseHeaders, Step, StreamEnd, Trace,
};
pub use outcome::{
    ACCOUNT_HEADER, BodyEdit, Edits, FINAL_HEADER, HeaderEdit, JUDGE_HEADER, JUDGED_HEADER,
    Outcome, PATH_HEADER, PROBE_HEADER,
};
pub use route::Route;
pub use upstream_head::is_withheld;

pub use crate::limits::Quotas;

use std::rc::Rc;

use phase::Phase;
use request_head::request_labels;

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
