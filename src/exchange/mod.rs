//! One exchange, request and answer, as a state machine that knows nothing of Envoy.
//!
//! ```text
//!            head            chunk…            last chunk         answer's head
//!  Start ──► AwaitingModel ──► Forwarding ──────────────────────► Relaying ──► Done
//!    │            │                │                                 ▲
//!    └────────────┴────────────────┴──► Replied (we answered)        └ may come before the last chunk
//! ```
//!
//! A transition consumes the phase and gives the next one with an [`Outcome`], which
//! `filter::http` carries out. A call that a phase does not expect is passed or refused, never an
//! error: Envoy may abort, answer by itself or end a stream in every phase.

mod admission;
mod affinity;
mod answer;
mod charging;
mod conclusion;
mod descriptors;
mod edits;
mod estimating;
mod facts;
mod forward;
mod kept_back;
mod lists;
mod media;
mod misplaced;
mod pace;
mod quota;
mod request;
mod unasked;
mod upload;

pub use answer::AnswerHead;
pub use edits::{
    AFFINITY_HEADER, AGAIN_HEADER, BOUNDS_HEADER, BodyEdit, Edits, HeaderEdit, PATH_HEADER,
};
pub use kept_back::is_withheld;
pub use pace::Bounds;
pub use quota::Quotas;

use answer::Answer;
use facts::Facts;
use upload::Upload;

use crate::auth::KeyStore;
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::ledger::Record;
use crate::protocol::Dialect;
use crate::reply::{Rejection, Reply};

/// A clock, read only where a time is needed: each reading is a host call.
pub trait Clock {
    /// Microseconds since some moment that is the same for all VMs of a process: the steady clock, as what is
    /// measured by it lasts.
    fn now_us(&self) -> u64;
}

/// What the proxy knows of a stream when it is over. Each look is a host call, made only where it is
/// needed.
pub trait StreamEnd {
    /// Envoy's response code details: what ended the stream, where it did not end by itself.
    fn details(&self) -> Vec<u8>;
    /// The upstream account that was asked last.
    fn account(&self) -> Option<String>;
    /// How many tries there were.
    fn tries(&self) -> u64;
    /// The failed ones, as [`FailedTry::hand_over`](crate::ledger::FailedTry::hand_over) left them.
    fn failed_tries(&self) -> Vec<u8>;
}

/// One exchange: where it stands, and what is known of it.
///
/// Its methods are the proxy's callbacks. Any of them may come at any time, or never.
#[derive(Debug, Default)]
pub struct Exchange {
    phase: Phase,
    facts: Facts,
    answer: Answer,
}

impl Exchange {
    /// The request's head has come; `end` says that no body follows.
    pub fn on_request_head(
        &mut self,
        head: &Head,
        end: bool,
        in_force: Option<&InForce>,
        world: &(impl KeyStore + Clock + Quotas),
    ) -> Outcome {
        self.step(world, |phase, facts| {
            phase.on_request_head(head, end, in_force, world, facts)
        })
    }

    /// Part of what has come of the body; the rest of it follows at once with
    /// [`on_request_body`](Self::on_request_body). So a caller need not hold all of it at a time.
    pub fn on_request_bytes(&mut self, bytes: &[u8]) {
        self.phase.on_request_bytes(bytes);
    }

    /// The next bytes of the body have come; `end` says that they are the last.
    pub fn on_request_body(&mut self, bytes: &[u8], end: bool, quotas: &impl Quotas) -> Outcome {
        self.step(quotas, |phase, facts| {
            phase.on_request_body(bytes, end, facts, quotas)
        })
    }

    /// The body has ended with trailers: HTTP/2 requests may, decompressed ones do.
    pub fn on_request_trailers(&mut self, quotas: &impl Quotas) -> Outcome {
        self.on_request_body(&[], true, quotas)
    }

    /// The answer's head has come; `end` says that no body follows. It goes on with a few headers
    /// changed, or is replaced by ours.
    pub fn on_answer_head(
        &mut self,
        head: &impl AnswerHead,
        end: bool,
        quotas: &impl Quotas,
    ) -> Outcome {
        let Self {
            phase,
            facts,
            answer,
        } = self;
        let phase_then = phase.take();
        // What we answered has been told what is left already.
        let ours = matches!(phase_then, Phase::Replied);
        let (next, mut outcome) = phase_then.on_response_head(head, facts, answer);
        *phase = next;
        answer.ended |= end;
        match &mut outcome {
            Outcome::Continue(edits) if !ours => quota::add_to_answer(edits, facts, quotas),
            Outcome::Reply(reply) => quota::add_to_reply(reply, facts, quotas),
            Outcome::Continue(_) | Outcome::Pause => {}
        }
        outcome
    }

    /// Whether the bytes of the answer are to be given to [`on_answer_body`](Self::on_answer_body);
    /// else their number will do.
    pub fn reads_answer(&self) -> bool {
        self.answer.is_metered()
    }

    /// Whether something may be taken out of the answer's body: then
    /// [`on_answer_body`](Self::on_answer_body) must be given all bytes that pass at once.
    pub fn edits_answer(&self) -> bool {
        self.answer.is_edited()
    }

    /// `len` bytes of the answer's body pass. Gives what goes on in their place, where that is something else.
    pub fn on_answer_body(
        &mut self,
        bytes: &[u8],
        len: usize,
        end: bool,
        clock: &impl Clock,
    ) -> Option<Vec<u8>> {
        self.answer.ended |= end;
        self.answer.pass(bytes, len, end, clock)
    }

    /// The answer has ended with trailers.
    pub fn on_answer_trailers(&mut self) {
        self.answer.ended = true;
    }

    /// The exchange is over, however it ended: gives its record, once. `None` for a request whose
    /// head never came here.
    pub fn on_done(
        &mut self,
        stream: &impl StreamEnd,
        world: &(impl Clock + Quotas),
    ) -> Option<Record> {
        let phase = self.phase.take();
        let mut facts = core::mem::take(&mut self.facts);
        let answer = core::mem::take(&mut self.answer);
        if matches!(phase, Phase::Start | Phase::Done) {
            return None;
        }
        let grant = facts.grant.take();
        let mut record = conclusion::conclude(&phase, facts, answer, stream, world);
        quota::settle(grant, &mut record, world);
        Some(record)
    }

    /// Lets the request take a step, and tells whoever is answered what is left of the limits.
    fn step(
        &mut self,
        quotas: &impl Quotas,
        transition: impl FnOnce(Phase, &mut Facts) -> (Phase, Outcome),
    ) -> Outcome {
        let (phase, mut outcome) = transition(self.phase.take(), &mut self.facts);
        self.phase = phase;
        if let Outcome::Reply(reply) = &mut outcome {
            quota::add_to_reply(reply, &self.facts, quotas);
        }
        outcome
    }
}

/// Where one exchange stands.
#[derive(Debug, Default)]
enum Phase {
    /// Nothing has come yet.
    #[default]
    Start,
    /// The key is good; the head is held because the body must say which model.
    AwaitingModel(Box<Upload>),
    /// The head is on its way upstream; the rest of the body is watched as it follows.
    Forwarding(Box<Upload>),
    /// An answer passes through; what is left of the request body is still watched.
    Relaying(Box<Upload>),
    /// We answered; the local reply passes untouched.
    Replied,
    /// Nothing more will come.
    Done,
}

/// What is to be done with what just came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Let it go on, changed like this.
    Continue(Edits),
    /// Hold it, with what was held before.
    Pause,
    /// Answer now.
    Reply(Reply),
}

impl Outcome {
    /// Let it go on unchanged.
    pub fn pass() -> Self {
        Self::Continue(Edits::default())
    }
}

/// Who asked and in which words the answer must be written.
#[derive(Debug, Clone)]
struct Asker {
    dialect: Dialect,
    request_id: Option<String>,
}

impl Asker {
    fn refuse(&self, rejection: Rejection, facts: &mut Facts) -> (Phase, Outcome) {
        facts.note_refusal(&rejection);
        let reply = rejection.into_reply(self.dialect, self.request_id.as_deref());
        (Phase::Replied, Outcome::Reply(reply))
    }
}

#[cfg(test)]
mod tests;
