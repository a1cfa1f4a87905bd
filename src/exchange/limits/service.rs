//! The limits service, which counts for many Envoys: whether it must be asked, under which descriptors, what
//! its answers mean, which usage it is told at the end.

use std::rc::Rc;

use crate::exchange::environment::{Quotas, ResponseHeaders};
use crate::exchange::estimating;
use crate::exchange::request::AuthenticatedCaller;
use crate::exchange::request_body::RequestBody;
use crate::limits::Count;
use crate::limits::service::{Descriptors, OnFailure, ServiceTokens};
use crate::model::Model;
use crate::protocol::EndpointSpec;
use crate::reply::Rejection;

/// The limits service, from the view of one request.
#[derive(Debug)]
pub(in crate::exchange) struct LimitsService {
    /// The treatment of the request where the service fails.
    failure: OnFailure,
    /// Whether Envoy was told to ask it.
    asked: bool,
}

impl LimitsService {
    /// A service that was not asked yet.
    pub(in crate::exchange) fn new(failure: OnFailure) -> Self {
        Self {
            failure,
            asked: false,
        }
    }

    /// Rejects what the service must count, where this Envoy has no filters that would ask it.
    pub(in crate::exchange) fn require(&self, quotas: &impl Quotas) -> Result<(), Rejection> {
        if self.failure == OnFailure::Closed && !quotas.reach_service() {
            return Err(Rejection::NotCounted);
        }
        Ok(())
    }

    /// Returns the descriptors under which a request that is about to go upstream is counted.
    pub(in crate::exchange) fn ask(
        &mut self,
        caller: &AuthenticatedCaller,
        model: Option<&Rc<Model>>,
    ) -> Descriptors {
        self.asked = true;
        Descriptors {
            failure: self.failure,
            key: caller.key.clone(),
            group: caller.group.id.clone(),
            model: model.map(|model| model.id.clone()),
        }
    }

    /// Returns the tokens to report to the service as used, of `tokens` as far as anybody knows them; `None` where nothing
    /// was, or it was not asked.
    pub(in crate::exchange) fn used(
        &self,
        spec: &EndpointSpec,
        body: &RequestBody,
        tokens: [Count; 2],
    ) -> Option<ServiceTokens> {
        if !self.asked || spec.usage.is_none() {
            return None;
        }
        let estimate = estimating::reservation(spec.operation, body, body.seen());
        let [input, output] = tokens;
        let tokens = ServiceTokens {
            input: input.settled(estimate.input),
            output: output.settled(estimate.output),
        };
        (tokens != ServiceTokens::default()).then_some(tokens)
    }
}

/// Returns the rejection by the rate limit filters, if they answered: known by their details, which no upstream can give.
pub(in crate::exchange) fn rejection(
    details: &[u8],
    head: &impl ResponseHeaders,
) -> Option<Rejection> {
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
