//! The callbacks of one stream: read from the host, ask the exchange, carry out what it says.

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

use super::host::{self, Host, ResponseHead, StreamOver};
use crate::exchange::{Exchange, Outcome, PROBE_HEADER};
use crate::failover::MAX_ANSWER;
use crate::held_body::{COPY_BYTES, HeldBody, split};
use crate::limits::service::{Descriptors, ServiceTokens};
use crate::metrics::ExchangeStats;
use crate::worker::Worker;

// Every stream has one: docs/memory.md says what that comes to.
const _: () = assert!(size_of::<HttpExchange>() <= 96);

/// One stream.
#[derive(Debug)]
pub(super) struct HttpExchange {
    worker: Rc<Worker>,
    stats: Rc<ExchangeStats>,
    exchange: Exchange,
    body: HeldBody,
}

impl HttpExchange {
    pub(super) fn new(worker: Rc<Worker>, stats: Rc<ExchangeStats>) -> Self {
        Self {
            worker,
            stats,
            exchange: Exchange::default(),
            body: HeldBody::default(),
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
                let withheld = host::take_request_body_end(self.body.size(), edits.withheld);
                // From the last place to the first, so that none moves before its turn.
                for edit in edits.body.iter().rev() {
                    host::edit_request_body(edit);
                }
                self.body.release(withheld);
                Action::Continue
            }
            Outcome::Pause => Action::Pause,
            Outcome::Reply(reply) => {
                if self.exchange.is_probe() {
                    host::set_request_header(PROBE_HEADER, b"1");
                    self.stats.count_probe(&Host);
                }
                host::send(&reply);
                Action::Pause
            }
        }
    }
}

impl HttpExchange {
    /// Decides on a response whose head is held, by up to `size` bytes of its body.
    fn judge_response(&mut self, size: usize) -> Action {
        let words = host::response_body(0, size.min(MAX_ANSWER.saturating_add(1)));
        let head = ResponseHead::default();
        let environment = self.worker.environment(&Host);
        match self.exchange.on_held_response(&head, &words, &environment) {
            Outcome::Continue(edits) => {
                host::edit_response_head(&edits.headers);
                Action::Continue
            }
            held => self.apply(held),
        }
    }
}

impl Context for HttpExchange {}

impl HttpContext for HttpExchange {
    fn on_http_request_headers(&mut self, _num_headers: usize, end_of_stream: bool) -> Action {
        let environment = self.worker.environment(&Host);
        let outcome = self.exchange.on_request_head(
            &host::request_head(),
            end_of_stream,
            environment.in_force().as_deref(),
            &environment,
        );
        self.apply(outcome)
    }

    fn on_http_request_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        let withheld = self.body.take_withheld();
        host::put_before_request_body(&withheld);
        let body_size = body_size.saturating_add(withheld.len());
        let (pieces, rest) = split(self.body.unread(body_size));
        for piece in pieces {
            self.exchange.on_request_bytes(&host::request_body(piece));
        }
        let environment = self.worker.environment(&Host);
        let outcome =
            self.exchange
                .on_request_body(&host::request_body(rest), end_of_stream, &environment);
        let packed = self.body.hold(body_size);
        if let (Outcome::Pause, Some(size)) = (&outcome, packed) {
            host::pack_request_body(size, COPY_BYTES);
        }
        self.apply(outcome)
    }

    fn on_http_request_trailers(&mut self, _num_trailers: usize) -> Action {
        let environment = self.worker.environment(&Host);
        let outcome = self.exchange.on_request_trailers(&environment);
        self.apply(outcome)
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, end_of_stream: bool) -> Action {
        let head = ResponseHead::default();
        let environment = self.worker.environment(&Host);
        match self
            .exchange
            .on_response_head(&head, end_of_stream, &environment)
        {
            Outcome::Continue(edits) => {
                host::edit_response_head(&edits.headers);
                Action::Continue
            }
            Outcome::Pause => Action::Pause,
            reply @ Outcome::Reply(_) => self.apply(reply),
        }
    }

    /// Forwards a response as it comes, but for an event that the client did not ask for, and an error that is held until its
    /// words are known.
    fn on_http_response_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        if self.exchange.holds_response() {
            // What is held comes again, with the next bytes.
            if !end_of_stream && body_size <= MAX_ANSWER {
                return Action::Pause;
            }
            let held = self.judge_response(body_size);
            if held == Action::Pause {
                return held;
            }
        }
        let environment = self.worker.environment(&Host);
        if !self.exchange.reads_response() {
            self.exchange
                .on_response_body(&[], body_size, end_of_stream, &environment);
            return Action::Continue;
        }
        let mut at = 0_usize;
        while !self.exchange.edits_response() && body_size.saturating_sub(at) > COPY_BYTES {
            let piece = host::response_body(at, COPY_BYTES);
            self.exchange
                .on_response_body(&piece, COPY_BYTES, false, &environment);
            at = at.saturating_add(COPY_BYTES);
        }
        let rest = body_size.saturating_sub(at);
        let piece = host::response_body(at, rest);
        let edited = self
            .exchange
            .on_response_body(&piece, rest, end_of_stream, &environment);
        if let Some(bytes) = edited {
            host::replace_response_body(body_size, &bytes);
        }
        Action::Continue
    }

    fn on_http_response_trailers(&mut self, _num_trailers: usize) -> Action {
        if self.exchange.holds_response() {
            let held = self.judge_response(MAX_ANSWER.saturating_add(1));
            if held == Action::Pause {
                return held;
            }
        }
        self.exchange.on_response_trailers();
        host::withhold_response_trailers();
        Action::Continue
    }

    /// Always comes, however the stream ended, and before Envoy writes its access log.
    fn on_log(&mut self) {
        if self.exchange.is_probe() {
            return;
        }
        let environment = self.worker.environment(&Host);
        if let Some(record) = self.exchange.on_done(&StreamOver, &environment) {
            host::publish_record(&record.to_members());
            for (name, value) in record.counted.into_iter().flat_map(ServiceTokens::state) {
                host::publish_state(name, &value);
            }
            self.stats.count(&record, &Host);
        }
    }
}
