//! The callbacks of one stream: read from the host, ask the exchange, carry out what it says.

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

use super::exchange_stats::ExchangeStats;
use super::host::{self, ResponseHead, StreamOver};
use super::view::SharedView;
use crate::exchange::{Exchange, Outcome};
use crate::limits::service::{Descriptors, Tokens};

/// How much of a body is copied out of Envoy at a time, in bytes. An inflated body may come by the
/// hundred megabytes at once, and the memory of a VM never shrinks again.
const PIECE: usize = 64 * 1024;
/// Envoy keeps each chunk in the memory that it was read into: units of so many bytes, however short the chunk.
const UNIT: usize = 16 * 1024;
/// Chunks shorter than this are copied by Envoy into free memory behind the one before.
const JOINED: usize = 512;
/// So much free memory behind the chunks of a held body is let be, in bytes.
const LOOSE: usize = 8 * UNIT;

// Every stream has one: docs/memory.md says what that comes to.
const _: () = assert!(size_of::<HttpExchange>() <= 80);

/// One stream.
#[derive(Debug)]
pub(super) struct HttpExchange {
    view: Rc<SharedView>,
    stats: Rc<ExchangeStats>,
    exchange: Exchange,
    /// Bytes of the request body that the host holds and the exchange has read.
    held: usize,
    /// Memory that the host may have taken up for them beyond their length since they were packed last, in bytes.
    loose: usize,
}

impl HttpExchange {
    pub(super) fn new(view: Rc<SharedView>, stats: Rc<ExchangeStats>) -> Self {
        Self {
            view,
            stats,
            exchange: Exchange::default(),
            held: 0,
            loose: 0,
        }
    }

    /// A part of the body is held, and its last chunk has this length. A body that comes in small chunks would take up many
    /// times its length otherwise.
    ///
    /// The body is packed when more memory is loose than it is long. So it never takes up more than twice its length and
    /// [`LOOSE`], and all packing together copies less than was ever loose: 32 times the body (`UNIT / JOINED`) at most.
    fn pack(&mut self, chunk: usize) {
        if chunk >= JOINED {
            let used = chunk.checked_rem(UNIT).filter(|used| *used > 0);
            let free = used.map_or(0, |used| UNIT.saturating_sub(used));
            self.loose = self.loose.saturating_add(free);
        }
        if self.loose > self.held.max(LOOSE) {
            host::pack_request_body(self.held, PIECE);
            self.loose = 0;
        }
    }

    /// The one place where outcomes turn into host calls.
    fn apply(&mut self, outcome: Outcome) -> Action {
        match outcome {
            Outcome::Continue(edits) => {
                host::edit_request_head(&edits.headers);
                for (name, value) in edits.descriptors.iter().flat_map(Descriptors::state) {
                    host::publish_state(name, value);
                }
                // From the last place to the first, so that none moves before its turn.
                for edit in edits.body.iter().rev() {
                    host::edit_request_body(edit);
                }
                self.held = 0;
                self.loose = 0;
                Action::Continue
            }
            Outcome::Pause => Action::Pause,
            Outcome::Reply(reply) => {
                host::send(&reply);
                Action::Pause
            }
        }
    }
}

impl Context for HttpExchange {}

impl HttpContext for HttpExchange {
    fn on_http_request_headers(&mut self, _num_headers: usize, end_of_stream: bool) -> Action {
        let moment = self.view.moment();
        let outcome = self.exchange.on_request_head(
            &host::request_head(),
            end_of_stream,
            moment.in_force().as_deref(),
            &moment,
        );
        self.apply(outcome)
    }

    fn on_http_request_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        // While a body is held the host counts it from its start, else this chunk only.
        let mut at = self.held;
        while body_size.saturating_sub(at) > PIECE {
            self.exchange
                .on_request_bytes(&host::request_body(at, PIECE));
            at = at.saturating_add(PIECE);
        }
        let new = host::request_body(at, body_size.saturating_sub(at));
        let outcome = self
            .exchange
            .on_request_body(&new, end_of_stream, &self.view.moment());
        let chunk = body_size.saturating_sub(self.held);
        self.held = body_size;
        if matches!(outcome, Outcome::Pause) {
            self.pack(chunk);
        }
        self.apply(outcome)
    }

    fn on_http_request_trailers(&mut self, _num_trailers: usize) -> Action {
        let outcome = self.exchange.on_request_trailers(&self.view.moment());
        self.apply(outcome)
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, end_of_stream: bool) -> Action {
        let head = ResponseHead::default();
        let moment = self.view.moment();
        match self
            .exchange
            .on_response_head(&head, end_of_stream, &moment)
        {
            Outcome::Continue(edits) => {
                host::edit_response_head(&edits.headers);
                Action::Continue
            }
            // An answer is never held.
            Outcome::Pause => Action::Continue,
            reply @ Outcome::Reply(_) => self.apply(reply),
        }
    }

    /// Never pauses: what has come goes on at once, but for an event that the client did not ask for.
    fn on_http_response_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        let moment = self.view.moment();
        if !self.exchange.reads_response() {
            self.exchange
                .on_response_body(&[], body_size, end_of_stream, &moment);
            return Action::Continue;
        }
        let mut at = 0_usize;
        while !self.exchange.edits_response() && body_size.saturating_sub(at) > PIECE {
            let piece = host::response_body(at, PIECE);
            self.exchange
                .on_response_body(&piece, PIECE, false, &moment);
            at = at.saturating_add(PIECE);
        }
        let rest = body_size.saturating_sub(at);
        let piece = host::response_body(at, rest);
        let edited = self
            .exchange
            .on_response_body(&piece, rest, end_of_stream, &moment);
        if let Some(bytes) = edited {
            host::replace_response_body(body_size, &bytes);
        }
        Action::Continue
    }

    fn on_http_response_trailers(&mut self, _num_trailers: usize) -> Action {
        self.exchange.on_response_trailers();
        Action::Continue
    }

    /// Always comes, whatever became of the stream, and before Envoy writes its access log.
    fn on_log(&mut self) {
        if let Some(record) = self.exchange.on_done(&StreamOver, &self.view.moment()) {
            host::publish_record(&record.to_members());
            for (name, value) in record.counted.into_iter().flat_map(Tokens::state) {
                host::publish_state(name, &value);
            }
            self.stats.count(&record);
        }
    }
}
