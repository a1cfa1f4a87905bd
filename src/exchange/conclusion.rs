//! The end of an exchange: everything known of it becomes its record.

use super::answer::Answer;
use super::facts::Facts;
use super::{Clock, Phase};
use crate::billing;
use crate::ledger::{Ending, Record, UsageStatus};
use crate::usage::Reading;

/// The record of an exchange that is over. `details` are Envoy's response code details, asked for
/// only where the stream did not end by itself.
pub(super) fn conclude(
    phase: &Phase,
    facts: Facts,
    mut answer: Answer,
    details: impl FnOnce() -> Vec<u8>,
    clock: &impl Clock,
) -> Record {
    let mut reading = answer.reading();
    if !answer.is_success() {
        // Whatever an error says of usage, nobody pays for it.
        reading.usage = None;
        reading.reported.clear();
    }
    let ending = ending(phase, &facts, &answer, &reading, details);
    let status = status(ending, &facts, &answer, &reading);
    let since = |earlier: Option<u64>, later: Option<u64>| later?.checked_sub(earlier?);
    let streaming_us = (facts.stream && ending == Ending::Finished)
        .then(|| since(answer.first_byte_us, Some(clock.now_us())))
        .flatten();
    let prices = facts.model.as_ref().and_then(|model| model.prices.as_ref());
    let charge = match (&reading.usage, prices, &facts.route) {
        (Some(usage), Some(prices), Some(route)) => {
            billing::charge(usage, prices, route.multiplier)
        }
        _ => None,
    };
    let operation = facts.operation().filter(|_| facts.route.is_some());
    Record {
        endpoint: facts.endpoint.as_ref().map(|e| e.name().to_owned()),
        operation,
        protocol: facts.protocol,
        upstream_model: facts.upstream_model(),
        route: facts.route_taken(),
        model: facts.model.as_ref().map(|model| model.id.clone()),
        error: facts
            .refused
            .map(str::to_owned)
            .or_else(|| reading.error.clone()),
        method: facts.method,
        path: facts.path,
        key: facts.key,
        group: facts.group.map(|group| group.id.clone()),
        requested_model: facts.requested_model,
        stream: facts.stream,
        ending,
        status,
        upstream_request_id: answer.request_id,
        replaced_status: answer.replaced,
        upstream_failure: answer.failure,
        reading,
        charge,
        currency: facts.currency,
        request_bytes: facts.request_bytes,
        response_bytes: answer.bytes,
        first_byte_us: since(facts.began_us, answer.first_byte_us),
        streaming_us,
    }
}

fn ending(
    phase: &Phase,
    facts: &Facts,
    answer: &Answer,
    reading: &Reading,
    details: impl FnOnce() -> Vec<u8>,
) -> Ending {
    if facts.upstream_failed {
        return Ending::UpstreamFailed;
    }
    if facts.refused.is_some() {
        return Ending::Refused;
    }
    if matches!(phase, Phase::Replied) {
        return Ending::Answered;
    }
    // Clients of streams hang up as soon as they have read the protocol's own end, or an error.
    let over = answer.ended || reading.finished;
    if !over {
        let cut = Ending::from_details(&details());
        let told = answer.is_success() && reading.error.is_some();
        return if cut == Ending::ClientAbort && told {
            Ending::ErrorEvent
        } else {
            cut
        };
    }
    if answer.relayed.is_some() && !answer.is_success() {
        return Ending::UpstreamError;
    }
    if facts.wire().is_none() || reading.finished {
        Ending::Finished
    } else if reading.error.is_some() {
        Ending::ErrorEvent
    } else {
        Ending::Truncated
    }
}

fn status(ending: Ending, facts: &Facts, answer: &Answer, reading: &Reading) -> UsageStatus {
    if facts.operation().is_none() || facts.route.is_none() {
        return UsageStatus::None;
    }
    if answer.is_success() {
        // Even where we cut the exchange short afterwards, something came back.
        return if ending == Ending::Finished && reading.usage.is_some() {
            UsageStatus::Complete
        } else {
            UsageStatus::Partial
        };
    }
    match ending {
        Ending::Refused | Ending::Answered => UsageStatus::None,
        Ending::UpstreamError | Ending::UpstreamFailed => UsageStatus::Failed,
        // It gave an error, whether or not all of its words came through.
        _ if answer.relayed.is_some() => UsageStatus::Failed,
        // No answer had come. An upstream that has the whole request may be at work on it.
        _ if facts.sent_whole => UsageStatus::Partial,
        _ => UsageStatus::None,
    }
}
