//! The filter that watches single tries, where a source has several accounts: it stands among the
//! upstream filters of the source's cluster, once for each try of an exchange.

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use super::host;
use crate::exchange::{AGAIN_HEADER, BOUNDS_HEADER, Bounds};
use crate::ledger::{AttemptFailure, FailedAttempt};

/// What makes the way to an account turn back at once: the route there answers for it.
///
/// Not this filter: Envoy makes no other try after an answer of its own filters.
const SKIP: &str = "x-trilane-skip";
/// The status of a try that was not made because there are to be no more.
const OVER: u16 = 408;

/// The root with the id `tries`.
#[derive(Debug)]
pub(super) struct TriesRoot;

impl Context for TriesRoot {}

impl RootContext for TriesRoot {
    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Try {
            bounds: None,
            failed_before: 0,
            skipped: false,
            over: false,
        }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// One try.
///
/// Envoy chooses its account. It may choose one again that has failed, in another of the source's clusters: then
/// the try ends here at once, and the next one finds another account.
#[derive(Debug)]
struct Try {
    bounds: Option<Bounds>,
    /// How many tries of the request have failed.
    failed_before: usize,
    /// Its account has failed already.
    skipped: bool,
    /// Nothing more is to be noted of it.
    over: bool,
}

impl Context for Try {
    /// Upstream filters have no `on_log`.
    fn on_done(&mut self) -> bool {
        if !self.over && !self.skipped {
            let account = host::upstream_account().unwrap_or_default();
            note(&FailedAttempt::unanswered(account));
        }
        true
    }
}

impl HttpContext for Try {
    fn on_http_request_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        let bounds = host::request_header(BOUNDS_HEADER);
        self.bounds = bounds.and_then(|text| Bounds::read(&text));
        let handed = host::failed_tries();
        if handed.is_empty() {
            return Action::Continue;
        }
        let failed = FailedAttempt::parse_list(&handed);
        let account = host::upstream_account().unwrap_or_default();
        self.failed_before = failed.len();
        let more = self.may_go_on(self.failed_before);
        if !more || self.is_late() {
            // After a try that came to no answer Envoy makes another by itself, whatever the bounds are.
            if more {
                note(&FailedAttempt::not_made(account));
            }
            self.over = true;
            host::send_status(OVER);
            return Action::Pause;
        }
        self.skipped = failed.iter().any(|one| one.account == account);
        // Every try has the same head, with what was done to it at the try before.
        host::set_request_header(SKIP, self.skipped.then_some("1"));
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        if core::mem::replace(&mut self.over, true) {
            return Action::Continue;
        }
        let report = host::take_hop_report();
        if self.skipped {
            host::set_response_header(AGAIN_HEADER, "1");
            return Action::Continue;
        }
        let status = host::response_status();
        if status >= 400 {
            let account = host::upstream_account().unwrap_or_default();
            let failed = FailedAttempt::answered(account, status, &report);
            note(&failed);
            let more = self.may_go_on(self.failed_before.saturating_add(1));
            if failed.kind != AttemptFailure::Request && more && !self.is_late() {
                host::set_response_header(AGAIN_HEADER, "1");
            }
        }
        Action::Continue
    }
}

impl Try {
    /// Whether there may be another try after so many failed ones.
    fn may_go_on(&self, failed: usize) -> bool {
        self.bounds.is_none_or(|bounds| failed < bounds.attempts)
    }

    /// Whether the time for further tries is over.
    fn is_late(&self) -> bool {
        self.bounds
            .is_some_and(|bounds| host::steady_us() > bounds.until_us)
    }
}

/// Leaves a failed try for the exchange's record.
fn note(failed: &FailedAttempt) {
    host::publish_tries(&failed.append_to(host::failed_tries()));
}
