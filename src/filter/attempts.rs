//! The filter of attempts by way of the account hop, and the log of attempts that did not go well.

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use super::host::{self, Host};
use crate::exchange::{ACCOUNT_HEADER, FINAL_HEADER, JUDGED_HEADER, PATH_HEADER};
use crate::failover::attempt::{Attempt, AttemptDecision, NO_MORE_ATTEMPTS, ResponseDecision};
use crate::failover::{Registry, note_report};

/// The root with the id `tries`, for the filter in the cluster that leads to the hop.
#[derive(Debug)]
pub(super) struct AttemptsRoot(pub Rc<Registry>);

impl Context for AttemptsRoot {}

impl RootContext for AttemptsRoot {
    fn on_configure(&mut self, _size: usize) -> bool {
        self.0.note_hop();
        true
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(HttpAttempt {
            requests: Rc::clone(&self.0),
            attempt: Attempt::default(),
            held: 0,
            holds_response: false,
        }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// One attempt.
#[derive(Debug)]
struct HttpAttempt {
    requests: Rc<Registry>,
    attempt: Attempt,
    /// The number of bytes of the body that are held.
    held: usize,
    /// Whether the response is held.
    holds_response: bool,
}

impl HttpAttempt {
    /// Does what a course asks for.
    fn take(&self, course: AttemptDecision) -> Action {
        match course {
            AttemptDecision::To {
                cluster,
                path,
                model,
                without_usage,
                is_held,
            } => {
                let (model, usage) = (model.as_deref(), without_usage.as_ref());
                if is_held && !host::change_held_body(self.held, model, usage) {
                    host::send_status(NO_MORE_ATTEMPTS);
                    return Action::Pause;
                }
                host::set_request_header(ACCOUNT_HEADER, cluster.as_bytes());
                if let Some(path) = path {
                    host::set_request_header(PATH_HEADER, &path);
                }
                Action::Continue
            }
            AttemptDecision::Wait => Action::Pause,
            AttemptDecision::Refused => {
                host::send_status(NO_MORE_ATTEMPTS);
                Action::Pause
            }
        }
    }

    /// More of the body has come, or its end.
    fn on_body(&mut self, end: bool) -> Action {
        let course = self
            .attempt
            .on_request_body(self.held, end, &self.requests, &Host);
        course.map_or(Action::Continue, |course| self.take(course))
    }

    /// Does what a decision on the response asks for.
    fn treat(&mut self, decision: ResponseDecision) -> Action {
        self.holds_response = decision == ResponseDecision::Held;
        match decision {
            ResponseDecision::Held => return Action::Pause,
            ResponseDecision::Passes => {}
            ResponseDecision::Final => host::set_response_header(FINAL_HEADER, "1"),
            // Envoy makes another attempt after any response with this header.
            ResponseDecision::AskedAgain => {
                host::set_response_header(JUDGED_HEADER, "usage_option")
            }
        }
        Action::Continue
    }

    /// More of the response has come, `size` bytes so far, or its end.
    fn on_response_body(&mut self, size: usize, end: bool) -> Action {
        if !self.holds_response {
            return Action::Continue;
        }
        let decision = self
            .attempt
            .on_response_body(size, end, &self.requests, &Host);
        self.treat(decision)
    }
}

impl Context for HttpAttempt {
    /// Upstream filters have no `on_log`.
    fn on_done(&mut self) -> bool {
        self.attempt.on_done();
        true
    }
}

impl HttpContext for HttpAttempt {
    fn on_http_request_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        let course = self.attempt.on_request(&self.requests, &Host);
        self.take(course)
    }

    fn on_http_request_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        self.held = body_size;
        self.on_body(end_of_stream)
    }

    fn on_http_request_trailers(&mut self, _num_trailers: usize) -> Action {
        self.on_body(true)
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, end_of_stream: bool) -> Action {
        let decision = self
            .attempt
            .on_response(end_of_stream, &self.requests, &Host);
        self.treat(decision)
    }

    fn on_http_response_body(&mut self, body_size: usize, end_of_stream: bool) -> Action {
        self.on_response_body(body_size, end_of_stream)
    }

    fn on_http_response_trailers(&mut self, _num_trailers: usize) -> Action {
        self.on_response_body(usize::MAX, true)
    }
}

/// The root with the id `attempts`, for Envoy's log of upstream requests. Its filter there lets through attempts that did
/// not go well.
#[derive(Debug)]
pub(super) struct AttemptLogRoot(pub Rc<Registry>);

impl Context for AttemptLogRoot {}

impl RootContext for AttemptLogRoot {
    fn on_log(&mut self) {
        note_report(&host::attempt_report(), &self.0, &Host);
    }
}
