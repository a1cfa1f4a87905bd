//! The upstream's side of a request: where it goes, since when, what was reserved for it.

use super::edits::HeaderEdit;
use super::environment::{Clock, Forwarding};
use super::limits::LimitsService;
use super::request::AuthenticatedCaller;
use super::request_body::RequestBody;
use super::route::Route;
use super::several_accounts::SeveralAccounts;
use crate::limits::service::{Descriptors, ServiceTokens};
use crate::limits::{Count, Reservation};
use crate::money::RequestTimes;
use crate::protocol::EndpointSpec;

/// The upstream's side of a request.
#[derive(Debug)]
pub(super) struct UpstreamRequest {
    /// The fixed properties of the endpoint.
    pub spec: &'static EndpointSpec,
    /// The source that serves the request.
    pub route: Route,
    /// The time at which the head was accepted, in microseconds of the steady clock.
    pub began_us: u64,
    /// The reservation against the caller's limits.
    pub reservation: Option<Reservation>,
    /// The limits service, where it is to be asked.
    pub service: Option<LimitsService>,
    /// The accounts that it goes to, where its source has several.
    pub several: Option<Box<SeveralAccounts>>,
    /// The body.
    pub body: RequestBody,
}

impl UpstreamRequest {
    /// Returns the times of the request, if it is over now: its prices may depend on them.
    pub(super) fn times(&self, clock: &impl Clock) -> RequestTimes {
        const SECOND: u64 = 1_000_000;
        let (ended_us, took_us) = (
            clock.wall_us(),
            clock.now_us().saturating_sub(self.began_us),
        );
        RequestTimes {
            began: ended_us.saturating_sub(took_us) / SECOND,
            ended: ended_us / SECOND,
        }
    }

    /// Adds the headers that lead to the first of several accounts.
    pub(super) fn dispatch(
        &mut self,
        headers: &mut Vec<HeaderEdit>,
        environment: &impl Forwarding,
    ) {
        if let Some(several) = &mut self.several {
            several.dispatch(headers, &self.route, &self.body, self.began_us, environment);
        }
    }

    /// Whether the response is a stream whose model may reason where nobody sees it.
    pub(super) fn may_reason_unseen(&self) -> bool {
        let models = self.body.models();
        let asked = self.body.scanner().asks_for_reasoning();
        self.body.stream && (asked || models.is_thinking() || !self.body.sent_json)
    }

    /// Returns the descriptors under which the limits service counts the request, where it is to be asked.
    pub(super) fn ask_service(&mut self, caller: &AuthenticatedCaller) -> Option<Descriptors> {
        let model = self.body.models().model();
        self.service
            .as_mut()
            .map(|service| service.ask(caller, model))
    }

    /// Returns the tokens to report to the limits service, of those that were used.
    pub(super) fn counted(&self, tokens: [Count; 2]) -> Option<ServiceTokens> {
        let service = self.service.as_ref()?;
        service.used(self.spec, &self.body, tokens)
    }
}
