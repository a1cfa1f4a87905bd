//! The callbacks of one stream: read from the host, ask the exchange, carry out what it says.

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

use super::host;
use super::view::SharedView;
use crate::exchange::{Outcome, Phase};

/// How much of a body is copied out of Envoy at a time, in bytes. An inflated body may come by the
/// hundred megabytes at once, and the memory of a VM never shrinks again.
const PIECE: usize = 64 * 1024;

/// One stream.
#[derive(Debug)]
pub(super) struct HttpExchange {
    view: Rc<SharedView>,
    phase: Phase,
    /// Bytes of the request body that the host holds and the exchange has read.
    held: usize,
}

impl HttpExchange {
    pub(super) fn new(view: Rc<SharedView>) -> Self {
        Self {
            view,
            phase: Phase::Start,
            held: 0,
        }
    }

    /// The one place where outcomes turn into host calls.
    fn apply(&mut self, (phase, outcome): (Phase, Outcome)) -> Action {
        self.phase = phase;
        match outcome {
            Outcome::Continue(edits) => {
                host::edit_request_head(&edits.headers);
                if let Some(edit) = &edits.body {
                    host::edit_request_body(edit);
                }
                self.held = 0;
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
        let in_force = self.view.refresh();
        let transition = self.phase.take().on_request_head(
            &host::request_head(),
            end_of_stream,
            in_force.as_deref(),
            &*self.view,
        );
        self.apply(transition)
    }

    fn on_http_request_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        // While a body is held the host counts it from its start, else this chunk only.
        let mut at = self.held;
        while body_size.saturating_sub(at) > PIECE {
            self.phase.on_request_bytes(&host::request_body(at, PIECE));
            at = at.saturating_add(PIECE);
        }
        let new = host::request_body(at, body_size.saturating_sub(at));
        let transition = self.phase.take().on_request_body(&new, end_of_stream);
        self.held = body_size;
        self.apply(transition)
    }

    fn on_http_request_trailers(&mut self, _num_trailers: usize) -> Action {
        let transition = self.phase.take().on_request_trailers();
        self.apply(transition)
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        let status = host::response_status().unwrap_or(0);
        match self
            .phase
            .take()
            .on_response_head(status, host::response_origin)
        {
            // Nothing of an answer is changed, and no edit of the request may happen any more.
            (phase, Outcome::Continue(_) | Outcome::Pause) => {
                self.phase = phase;
                Action::Continue
            }
            (phase, outcome @ Outcome::Reply(_)) => self.apply((phase, outcome)),
        }
    }

    fn on_log(&mut self) {
        self.phase.on_done();
    }
}
