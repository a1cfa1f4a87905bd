//! Runs one request, from its headers to the end of its body.

use trilane::exchange::{Edits, Exchange, HeaderEdit, Outcome, Step};
use trilane::head::Head;
use trilane::ledger::{Ending, Record};
use trilane::reply::Reply;

use super::LocalGateway;
use super::world::NotSent;

/// The size of a body chunk, in bytes: about what Envoy reads at once.
const CHUNK: usize = 16 * 1024;

/// The result of a request.
#[derive(Debug)]
pub struct RequestResult {
    /// The gateway's own response: an error, or a list.
    pub reply: Option<Reply>,
    /// Whether the headers were forwarded. With a reply, the rest of the body then ended the request.
    pub forwarded: bool,
    /// The header edits.
    pub headers: Vec<HeaderEdit>,
    /// The body edits.
    pub body: Vec<BodyChange>,
    /// The steps of the decision, in the order in which each was begun last.
    pub steps: Vec<Step>,
    /// The usage record.
    pub record: Option<Record>,
}

/// A replacement in the body.
#[derive(Debug)]
pub struct BodyChange {
    /// The offset in the client's body, in bytes.
    pub at: usize,
    /// The number of bytes that are replaced.
    pub length: usize,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

impl RequestResult {
    /// Whether the gateway rejects the request.
    pub fn is_refused(&self) -> bool {
        let record = self.record.as_ref();
        self.reply.is_some() && record.is_none_or(|record| record.ending != Ending::Answered)
    }

    /// The step that rejects it.
    pub fn refused_at(&self) -> Option<Step> {
        let last = self.steps.last().copied();
        last.filter(|_| self.is_refused())
    }
}

/// Runs a request through the gateway's own state machine.
pub fn run(gateway: &LocalGateway, head: &Head, body: &[u8]) -> RequestResult {
    let LocalGateway { in_force, world } = gateway;
    let mut exchange = Exchange::default();
    let mut ran = RequestResult {
        reply: None,
        forwarded: false,
        headers: Vec::new(),
        body: Vec::new(),
        steps: Vec::new(),
        record: None,
    };
    let mut chunks = body.chunks(CHUNK).peekable();
    let (mut read, mut gone) = (0_usize, 0_usize);
    let mut outcome = exchange.on_request_head(head, body.is_empty(), Some(in_force), world);
    loop {
        match outcome {
            Outcome::Reply(reply) => {
                ran.reply = Some(reply);
                break;
            }
            Outcome::Continue(edits) => {
                ran.note(edits, gone);
                gone = read;
            }
            Outcome::Pause => {}
        }
        let Some(chunk) = chunks.next() else {
            break;
        };
        read = read.saturating_add(chunk.len());
        outcome = exchange.on_request_body(chunk, chunks.peek().is_none(), world);
    }
    ran.steps = world.take_steps();
    ran.record = exchange.on_done(&NotSent, world);
    ran
}

impl RequestResult {
    /// Adds edits of what is forwarded; `gone` bytes of the body were forwarded before.
    fn note(&mut self, edits: Edits, gone: usize) {
        self.forwarded = true;
        self.headers.extend(edits.headers);
        self.body
            .extend(edits.body.into_iter().map(|edit| BodyChange {
                at: gone.saturating_add(edit.span.start),
                length: edit.span.len(),
                bytes: edit.bytes,
            }));
    }
}
