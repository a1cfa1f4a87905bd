//! One request, from its head to the end of its body.

use trilane::exchange::{Edits, Exchange, HeaderEdit, Outcome};
use trilane::head::Head;
use trilane::ledger::{Ending, Record};
use trilane::reply::Reply;

use super::Gateway;
use super::world::NotSent;

/// How much of a body is handed over at a time, in bytes: about as much as Envoy reads at once.
const PIECE: usize = 16 * 1024;

/// What became of a request.
#[derive(Debug)]
pub struct Ran {
    /// The answer that the client gets without any upstream: an error, or a list.
    pub reply: Option<Reply>,
    /// Whether the head had left for the upstream. With a reply: the rest of the body then ended it.
    pub forwarded: bool,
    /// What changes in the head.
    pub headers: Vec<HeaderEdit>,
    /// What changes in the body.
    pub body: Vec<BodyChange>,
    /// The record of it.
    pub record: Option<Record>,
}

/// A place of the body that changes.
#[derive(Debug)]
pub struct BodyChange {
    /// Where it begins, in bytes from the beginning of the client's body.
    pub at: usize,
    /// How many bytes go.
    pub length: usize,
    /// What comes in their place.
    pub bytes: Vec<u8>,
}

impl Ran {
    /// Whether the gateway refuses the request.
    pub fn is_refused(&self) -> bool {
        let record = self.record.as_ref();
        self.reply.is_some() && record.is_none_or(|record| record.ending != Ending::Answered)
    }
}

/// Runs a request through the gateway's own state machine.
pub fn run(gateway: &Gateway, head: &Head, body: &[u8]) -> Ran {
    let Gateway { in_force, world } = gateway;
    let mut exchange = Exchange::default();
    let mut ran = Ran {
        reply: None,
        forwarded: false,
        headers: Vec::new(),
        body: Vec::new(),
        record: None,
    };
    let mut pieces = body.chunks(PIECE).peekable();
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
        let Some(piece) = pieces.next() else {
            break;
        };
        read = read.saturating_add(piece.len());
        outcome = exchange.on_request_body(piece, pieces.peek().is_none(), world);
    }
    ran.record = exchange.on_done(&NotSent, world);
    ran
}

impl Ran {
    /// Notes what goes on; `gone` bytes of the body had gone before.
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
