//! The filter of attempts: it stands among the upstream filters of a cluster with several accounts.

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use super::host::{self, Host};
use crate::attempt::{Attempt, Dispatch};
use crate::exchange::AGAIN_HEADER;

/// The header with which the hop to an account turns a request back: the route there answers for it.
const SKIP: &str = "x-trilane-skip";
/// The status of an attempt that is not made because there are to be no more.
const OVER: u16 = 408;

/// The root with the id `tries`.
#[derive(Debug)]
pub(super) struct AttemptsRoot;

impl Context for AttemptsRoot {}

impl RootContext for AttemptsRoot {
    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(HttpAttempt(Attempt::default())))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// One attempt.
#[derive(Debug)]
struct HttpAttempt(Attempt);

impl Context for HttpAttempt {
    /// Upstream filters have no `on_log`.
    fn on_done(&mut self) -> bool {
        self.0.on_done(&Host);
        true
    }
}

impl HttpContext for HttpAttempt {
    fn on_http_request_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        match self.0.on_request(&Host) {
            Dispatch::First => {}
            // Every attempt has the same head, with what was done to it at the one before.
            Dispatch::Again => host::set_request_header(SKIP, None),
            Dispatch::TurnedBack => host::set_request_header(SKIP, Some("1")),
            Dispatch::Refused => {
                host::send_status(OVER);
                return Action::Pause;
            }
        }
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        if self.0.on_response(&Host) {
            host::set_response_header(AGAIN_HEADER, "1");
        }
        Action::Continue
    }
}
