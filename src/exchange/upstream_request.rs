//! The upstream's side of a request: where it goes, since when, with what body.

use super::authorization::check_rights;
use super::edits::{Edits, HeaderEdit};
use super::environment::{AccountStates, Clock, Forwarding};
use super::include_usage::may_be_refused;
use super::request::{AuthenticatedCaller, RequestLine};
use super::request_body::RequestBody;
use super::route::Route;
use super::several_accounts::{Dispatched, SeveralAccounts};
use super::step::{Step, Trace};
use super::upstream_head::{path_at, source_edits};
use crate::failover::WayMark;
use crate::limits::Quotas;
use crate::model::Model;
use crate::money::RequestTimes;
use crate::protocol::{Endpoint, EndpointSpec};
use crate::reply::Rejection;

/// Whether a source may serve a request for a model: it allows the endpoint, and a budget of the caller can count the model.
pub(super) fn fits(
    endpoint: &Endpoint,
    route: &Route,
    model: &Model,
    caller: &AuthenticatedCaller,
    quotas: &impl Quotas,
) -> bool {
    check_rights(endpoint, route).is_ok() && (model.is_priced() || !caller.has_budget(quotas))
}

/// The upstream's side of a request.
#[derive(Debug)]
pub(super) struct UpstreamRequest {
    /// The fixed properties of the endpoint.
    pub spec: &'static EndpointSpec,
    /// The source that serves the request.
    pub route: Route,
    /// The time at which the head was accepted, in microseconds of the steady clock.
    pub began_us: u64,
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

    /// Chooses the source of an open route, if the body has named the model by now. Of one that the entry does not have, the
    /// body's check says so.
    ///
    /// # Errors
    /// The source does not allow the endpoint of this request line.
    pub(super) fn choose(
        &mut self,
        line: &RequestLine,
        caller: &AuthenticatedCaller,
        environment: &(impl Quotas + Trace),
    ) -> Result<(), Rejection> {
        let named = self.body.scanner().model().filter(|found| !found.truncated);
        let (Some(found), Ok(endpoint)) = (named, &line.endpoint) else {
            return Ok(());
        };
        let fits = |route: &Route, model: &Model| fits(endpoint, route, model, caller, environment);
        if !self.route.choose(&found.name, fits) {
            return Ok(());
        }
        if endpoint.spec().needs.is_some() {
            environment.begin(Step::Rights);
        }
        check_rights(endpoint, &self.route)?;
        // Endpoints whose body names the model have a path of their own.
        let path = endpoint.upstream_path("").unwrap_or_default();
        let source = &self.route.source;
        let edits = source_edits(&self.route, path.as_bytes());
        self.body.at(source, edits.into_iter().flatten());
        let several = self.several.take();
        self.several = several.and_then(|it| it.at(source, path.as_bytes()).map(Box::new));
        Ok(())
    }

    /// Adds the headers that lead to the first of several accounts.
    pub(super) fn dispatch(
        &mut self,
        headers: &mut Vec<HeaderEdit>,
        endpoint: Option<&Endpoint>,
        environment: &impl Forwarding,
    ) {
        let source = &self.route.source;
        let is_only = source.alternatives().is_none();
        if is_only && !self.may_be_refused(environment) {
            self.several = None;
        }
        let model = self.body.models().model();
        let path = || path_at(endpoint?, model.map(|model| &**model));
        if let Some(several) = &mut self.several {
            let path = path();
            let (route, body) = (&self.route, &self.body);
            let dispatched = Dispatched {
                route,
                path: path.as_deref(),
                body,
                operation: self.spec.operation,
                began_us: self.began_us,
            };
            several.dispatch(headers, &dispatched, environment);
        }
    }

    /// Whether the only account of the source may refuse that the body asks for the usage of its stream.
    fn may_be_refused(&self, environment: &impl AccountStates) -> bool {
        let wire = self.body.models().usage();
        self.body.may_ask_usage() && may_be_refused(&self.route, wire, environment)
    }

    /// The way to the account that was asked last, or will be asked first.
    pub(super) fn way(&self, environment: &(impl AccountStates + Clock)) -> WayMark {
        let source = &self.route.source;
        let marks = match (&self.several, source.accounts.as_deref()) {
            (Some(several), _) => several.asked(environment),
            (None, Some(accounts)) => accounts.marks.first(),
            (None, None) => None,
        };
        marks.map_or_else(|| WayMark::of_cluster(&source.cluster), WayMark::of_account)
    }

    /// Takes back that the body asks for the usage of its stream, where the account refuses to be asked. `edits` are those of the
    /// bytes that are about to be released.
    pub(super) fn leave_out_usage(
        &mut self,
        edits: &mut Edits,
        environment: &(impl AccountStates + Clock),
    ) {
        if self.body.usage_added
            && environment.takes_usage_option(self.way(environment)) == Some(false)
        {
            self.body.leave_out_usage(edits);
            if let Some(several) = &self.several {
                several.forget_usage();
            }
        }
    }

    /// Whether the response is a stream whose model may reason where nobody sees it.
    pub(super) fn may_reason_unseen(&self) -> bool {
        let models = self.body.models();
        let asked = self.body.scanner().asks_for_reasoning();
        self.body.stream && (asked || models.is_thinking() || !self.body.sent_json)
    }
}
