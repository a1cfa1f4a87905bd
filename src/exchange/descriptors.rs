//! The limits service in the course of an exchange: whether it must be asked, under which descriptors, what
//! its refusals mean, what it is told at the end.

use super::estimating;
use super::facts::Facts;
use super::{AnswerHead, Quotas};
use crate::limits::Count;
use crate::limits::service::{Descriptors, OnFailure, Tokens};
use crate::reply::Rejection;

/// Refuses what must be counted by the service, where this Envoy has no filters that would ask it.
pub(super) fn require_service(facts: &Facts, quotas: &impl Quotas) -> Result<(), Rejection> {
    let wanted = facts.limits_service == Some(OnFailure::Closed);
    if wanted && !quotas.reach_service() {
        return Err(Rejection::NotCounted);
    }
    Ok(())
}

/// What a request that is about to go upstream is counted under; `None` where the service is not asked.
pub(super) fn of(facts: &mut Facts) -> Option<Descriptors> {
    let descriptors = Descriptors {
        failure: facts.limits_service?,
        key: facts.key.clone()?,
        group: facts.group.as_ref()?.id.clone(),
        model: facts.model.as_ref().map(|model| model.id.clone()),
    };
    facts.service_asked = true;
    Some(descriptors)
}

/// Why the rate limit filters answered, where it was them: by their details, which no upstream can give.
pub(super) fn refusal(details: &[u8], head: &impl AnswerHead) -> Option<Rejection> {
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

/// What the service is to be told was used, of `tokens` as far as anybody knows them; `None` where nothing
/// was, or it was not asked.
pub(super) fn used(facts: &Facts, tokens: [Count; 2]) -> Option<Tokens> {
    if !facts.service_asked || facts.wire().is_none() {
        return None;
    }
    let estimate = estimating::reservation(facts, facts.request_bytes);
    let [input, output] = tokens;
    let tokens = Tokens {
        input: input.settled(estimate.input),
        output: output.settled(estimate.output),
    };
    (tokens != Tokens::default()).then_some(tokens)
}
