//! The upstream's side of a request: where it goes, since when, with what body, and what it is at the sources that are asked after
//! the first has failed.

use super::authentication::AuthenticatedCaller;
use super::dispatch::{Dispatched, LaterSource, SeveralAccounts};
use super::environment::{AccountStates, Clock, Forwarding, Step, Trace};
use super::include_usage::may_be_refused;
use super::outcome::{Edits, HeaderEdit};
use super::request_body::RequestBody;
use super::request_head::RequestLine;
use super::route::Route;
use super::upstream_head::{path_at, source_edits};
use crate::failover::{LaterTerms, WayMark};
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
    route.check_rights(endpoint).is_ok() && (model.is_priced() || !caller.has_budget(quotas))
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
        self.route.check_rights(endpoint)?;
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

    /// Finds the sources that are asked after the first one, as far as the request is known.
    pub(super) fn find_later(&mut self, endpoint: &Endpoint) {
        let Some(several) = &mut self.several else {
            return;
        };
        let model = self.body.models().model().map(|model| &**model);
        let later = self.route.later(model).into_iter();
        let later = later.filter_map(|route| {
            let model = model.and_then(|model| route.source.catalog.with_id(&model.id));
            Some(LaterSource {
                path: path_at(endpoint, model.map(|model| &**model))?,
                route,
                models: None,
                terms: None,
            })
        });
        several.later = later.collect();
    }

    /// Decides, all of the body being known, which of these sources may serve the request. `is_budgeted`: only at prices.
    pub(super) fn settle_later(&mut self, endpoint: &Endpoint, is_budgeted: impl Fn() -> bool) {
        let Some(several) = &mut self.several else {
            return;
        };
        let body = &self.body;
        for later in &mut several.later {
            let route = &later.route;
            let found = body.models().at(route, body.scanner());
            let found = found.filter(|(models, _)| {
                route.check_rights(endpoint).is_ok()
                    && body.asks_usage_as_at(&route.source, models.has_prices())
                    && (models.are_priced() || !is_budgeted())
            });
            let (models, terms) = found
                .map(|(models, model)| (models, LaterTerms { model }))
                .unzip();
            (later.models, later.terms) = (models, terms);
        }
    }

    /// The number of sources that are asked after the first one.
    pub(super) fn later_sources(&self) -> usize {
        self.several.as_ref().map_or(0, |it| it.later.len())
    }

    /// Exchanges the source of the request, and its models, for those of a later one; once more, and all is as before. Whether
    /// that one may serve the request.
    pub(super) fn exchange_source(&mut self, place: usize) -> bool {
        let later = self.several.as_mut().map(|several| &mut several.later);
        let Some(later) = later.and_then(|later| later.get_mut(place)) else {
            return false;
        };
        let Some(models) = &mut later.models else {
            return false;
        };
        core::mem::swap(&mut self.route, &mut later.route);
        self.body.models_mut().exchange(models);
        true
    }

    /// The request is at the source that was asked last, for all that follows.
    pub(super) fn follow_attempts(&mut self) {
        let several = self.several.as_mut();
        let moved = several.and_then(|several| several.take_move());
        if let Some(place) = moved {
            self.exchange_source(place);
        }
    }
}
