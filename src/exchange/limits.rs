//! Limits in the course of an exchange: what a request reserves of those that this Envoy counts, what it has used of them, what the
//! client learns of them; and the limits service, which counts for many Envoys.

use std::rc::Rc;

use smol_str::SmolStr;

use super::authentication::AuthenticatedCaller;
use super::charging::{expected_charge, unpriced};
use super::environment::{Clock, ResponseHeaders};
use super::estimating;
use super::upstream_request::UpstreamRequest;
use crate::failover::RequestAttempts;
use crate::ledger::UsageStatus;
use crate::limits::service::{Descriptors, OnFailure, ServiceTokens};
use crate::limits::{
    AdmitError, Consumption, Count, Estimate, Quotas, Rate, Reservations, Settlement, Subject,
};
use crate::model::Model;
use crate::money::Amount;
use crate::protocol::{EndpointSpec, Protocol, limits as headers};
use crate::reply::Rejection;
use crate::usage::{Reading, Usage};

/// Whether all of a request's body must be known to estimate what it uses of these limits.
pub(super) fn needs_body(subjects: &[Subject], spec: &EndpointSpec) -> bool {
    let counts_tokens = |subject: &Subject| {
        let mut rates = [Rate::InputTokens, Rate::OutputTokens].into_iter();
        rates.any(|rate| subject.limits.per_minute(rate).is_some())
    };
    // What is not metered uses no tokens.
    spec.usage.is_some()
        && subjects
            .iter()
            .any(|subject| counts_tokens(subject) || subject.may_have_budget())
}

/// The limits of a request that goes upstream.
#[derive(Debug, Default)]
pub(super) struct RequestLimits {
    /// All that it holds of the limits that this Envoy counts.
    reservations: Reservations,
    /// The limits service, where it is to be asked.
    service: Option<LimitsService>,
}

/// The limits service, from the view of one request.
#[derive(Debug)]
struct LimitsService {
    /// The treatment of the request where the service fails.
    failure: OnFailure,
    /// Whether Envoy was told to ask it.
    asked: bool,
}

impl RequestLimits {
    /// Nothing is reserved yet. `service` is the treatment of the request where the limits service fails, if there is one.
    pub(super) fn new(service: Option<OnFailure>) -> Self {
        Self {
            reservations: Reservations::default(),
            service: service.map(|failure| LimitsService {
                failure,
                asked: false,
            }),
        }
    }

    /// Rejects what the service must count, where this Envoy has no filters that would ask it.
    pub(super) fn require_service(&self, quotas: &impl Quotas) -> Result<(), Rejection> {
        let service = self.service.as_ref();
        let is_required = service.is_some_and(|it| it.failure == OnFailure::Closed);
        if is_required && !quotas.reach_service() {
            return Err(Rejection::NotCounted);
        }
        Ok(())
    }

    /// Reserves what the request is estimated to use, and for budgets what it is expected to cost.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub(super) fn reserve(
        &mut self,
        caller: &AuthenticatedCaller,
        upstream: &mut UpstreamRequest,
        method: Option<&str>,
        environment: &(impl Quotas + Clock),
    ) -> Result<(), Rejection> {
        if caller.subjects.is_empty() {
            return Ok(());
        }
        let tokens = estimate(upstream);
        let (expected, lacking) = with_cost(tokens, caller, upstream, method, environment);
        let reserved = (self.reservations).reserve(&caller.subjects, expected, environment);
        reserved.map_err(|error| rejection(error, lacking, caller))
    }

    /// Reserves what it is estimated to use of the limits of its source's only account.
    ///
    /// # Errors
    /// The limit of the account that it would exceed.
    pub(super) fn reserve_account(
        &mut self,
        upstream: &UpstreamRequest,
        quotas: &impl Quotas,
    ) -> Result<(), Rejection> {
        let accounts = upstream.route.source.accounts.as_ref();
        let only = accounts.filter(|accounts| !accounts.are_alternatives());
        let Some(subject) = only.and_then(|accounts| accounts.subject(0)) else {
            return Ok(());
        };
        let reserved = (self.reservations).reserve_account(subject, estimate(upstream), quotas);
        reserved.map_err(|error| match error {
            AdmitError::Violation(violation) => Rejection::AccountsLimited {
                retry_after_s: violation.wait_us.div_ceil(1_000_000),
            },
            _ => Rejection::NotCounted,
        })
    }

    /// Raises what is reserved of budgets, for a request whose head was released before all of its body was known.
    ///
    /// # Errors
    /// The budget that it would exceed, or that could not count it.
    pub(super) fn extend(
        &mut self,
        caller: &AuthenticatedCaller,
        upstream: &mut UpstreamRequest,
        method: Option<&str>,
        environment: &(impl Quotas + Clock),
    ) -> Result<(), Rejection> {
        let none = Estimate::default();
        let (expected, lacking) = with_cost(none, caller, upstream, method, environment);
        let extended = self.reservations.extend(expected, environment);
        extended.map_err(|error| rejection(error, lacking, caller))
    }

    /// Returns the descriptors under which the limits service counts the request, where it is to be asked.
    pub(super) fn ask_service(
        &mut self,
        caller: &AuthenticatedCaller,
        model: Option<&Rc<Model>>,
    ) -> Option<Descriptors> {
        let service = self.service.as_mut()?;
        service.asked = true;
        Some(Descriptors {
            failure: service.failure,
            key: caller.key.clone(),
            group: caller.group.id.clone(),
            model: model.map(|model| model.id.clone()),
        })
    }

    /// The headers that say what is left of the caller's limits. The counters are read only where there is something to say,
    /// and where the admission has not read them.
    pub(super) fn headers(
        &self,
        caller: &AuthenticatedCaller,
        quotas: &impl Quotas,
    ) -> Vec<(&'static str, String)> {
        let protocol = caller.protocol;
        // Protocol C has no words for rates.
        let has = |subject: &Subject| {
            subject.may_have_budget() || (protocol != Protocol::C && subject.limits.has_rates())
        };
        if !caller.subjects.iter().any(has) {
            return Vec::new();
        }
        let figures = self.reservations.figures(&caller.subjects, quotas);
        headers::of(protocol, &figures, caller.currency.as_deref())
    }

    /// Settles what the request holds, by the tokens and the money that it has used. Gives what is spent of its budgets, and
    /// the tokens to report to the limits service: as far as anybody knows them, and `None` where nothing was used, or it was
    /// not asked.
    pub(super) fn settle(
        self,
        upstream: Option<&UpstreamRequest>,
        [input, output]: [Count; 2],
        charge: Option<Amount>,
        quotas: &impl Quotas,
    ) -> (Settlement, Option<ServiceTokens>) {
        let used = Consumption {
            input,
            output,
            charge,
        };
        let several = upstream.and_then(|it| it.several.as_ref()?.attempts());
        let of_several = several.and_then(RequestAttempts::take_reservation);
        let settled = self.reservations.settle(of_several, used, quotas);
        let is_asked = self.service.is_some_and(|service| service.asked);
        let metered = upstream.filter(|it| is_asked && it.spec.usage.is_some());
        let counted = metered.map(|it| {
            let estimate = estimating::reservation(it.spec.operation, &it.body, it.body.seen());
            ServiceTokens {
                input: input.settled(estimate.input),
                output: output.settled(estimate.output),
            }
        });
        let counted = counted.filter(|tokens| *tokens != ServiceTokens::default());
        (settled, counted)
    }
}

/// Estimates the tokens that a request uses, as far as it has been read.
fn estimate(upstream: &UpstreamRequest) -> Estimate {
    let body = &upstream.body;
    estimating::reservation(upstream.spec.operation, body, body.length())
}

/// The estimate with what the request is expected to cost, where a budget may count that, and the model without a price that
/// it may run.
fn with_cost(
    mut estimate: Estimate,
    caller: &AuthenticatedCaller,
    upstream: &mut UpstreamRequest,
    method: Option<&str>,
    clock: &impl Clock,
) -> (Estimate, Option<SmolStr>) {
    if !caller.subjects.iter().any(Subject::may_have_budget) {
        return (estimate, None);
    }
    estimate.charge = expected_charge(upstream, method, clock);
    let lacking = unpriced(upstream);
    estimate.unpriced = lacking.is_some();
    (estimate, lacking)
}

/// `lacking`: the request's model without a price.
fn rejection(
    error: AdmitError,
    lacking: Option<SmolStr>,
    caller: &AuthenticatedCaller,
) -> Rejection {
    let model = lacking.as_deref().unwrap_or_default();
    Rejection::of_limit(error, model, caller.group.contact.as_ref())
}

/// Returns the input and output tokens that an exchange has used, as far as its response reported them.
pub(super) fn tokens(reading: &Reading, status: UsageStatus) -> [Count; 2] {
    let input = reading.usage.as_ref().map(Usage::input_tokens);
    let output = reading.usage.as_ref().map(Usage::output_tokens);
    match status {
        // The upstream was at work. What it reported of its output is not what it has written since.
        UsageStatus::Partial => [
            input.map_or(Count::AtLeast(0), Count::Exactly),
            Count::AtLeast(output.unwrap_or_default()),
        ],
        _ => [input, output].map(|count| Count::Exactly(count.unwrap_or_default())),
    }
}

/// Returns the rejection by the rate limit filters, if they answered: known by their details, which no upstream can give.
pub(super) fn service_rejection(details: &[u8], head: &impl ResponseHeaders) -> Option<Rejection> {
    match details {
        b"request_rate_limited" => {
            let reset = head.header("x-ratelimit-reset");
            let retry_after_s = reset.and_then(|seconds| seconds.parse().ok()).unwrap_or(1);
            Some(Rejection::ServiceLimit { retry_after_s })
        }
        b"rate_limiter_error" => Some(Rejection::NotCounted),
        _ => None,
    }
}
