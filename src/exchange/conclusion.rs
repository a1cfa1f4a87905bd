//! The end of an exchange: everything known of it becomes its record.

use super::answer::Answer;
use super::charging::bill_of;
use super::facts::Facts;
use super::{Clock, Phase, StreamEnd, descriptors, estimating, quota};
use crate::ledger::{AttemptFailure, Attempts, Ending, FailedAttempt, Record, UsageStatus};
use crate::limits::Settlement;
use crate::usage::{Estimated, Reading};

/// The record of an exchange that is over.
pub(super) fn conclude(
    phase: &Phase,
    mut facts: Facts,
    mut answer: Answer,
    stream: &impl StreamEnd,
    clock: &impl Clock,
) -> Record {
    let mut reading = answer.reading();
    if !answer.is_success() {
        // Whatever an error says of usage, nobody pays for it.
        reading.usage = None;
        reading.reported.clear();
    }
    let ending = ending(phase, &facts, &answer, &reading, stream);
    let status = status(ending, &facts, &answer, &reading);
    let estimated = if status == UsageStatus::Estimated {
        estimating::complete(&facts, &answer, ending, &mut reading, clock)
    } else {
        Estimated::default()
    };
    let since = |earlier: Option<u64>, later: Option<u64>| later?.checked_sub(earlier?);
    let streaming_us = (facts.stream && ending == Ending::Finished)
        .then(|| since(answer.first_byte_us, Some(clock.now_us())))
        .flatten();
    let bill = bill_of(&facts, &reading, status);
    let counted = descriptors::used(&facts, quota::tokens(&reading, status));
    let attempts = attempts(&facts, &answer, ending, stream);
    let owner = facts.take_owner();
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
        key_found_in: facts.key_found_in,
        owner,
        group: facts.group.map(|group| group.id.clone()),
        requested_model: facts.requested_model,
        stream: facts.stream,
        ending,
        status,
        upstream_request_id: answer.request_id,
        replaced_status: answer.replaced,
        attempts,
        upstream_failure: answer.failure,
        reading,
        estimated,
        charge: bill.and_then(|bill| bill.charge),
        uncovered: bill.map(|bill| bill.uncovered).unwrap_or_default(),
        limit: facts.limit,
        settled: Settlement::default(),
        counted,
        currency: facts.currency,
        request_bytes: facts.request_bytes,
        response_bytes: answer.bytes,
        first_byte_us: since(facts.began_us, answer.first_byte_us),
        streaming_us,
    }
}

/// The attempts at the source's accounts; `None` where it has none, or none was attempted.
fn attempts(
    facts: &Facts,
    answer: &Answer,
    ending: Ending,
    stream: &impl StreamEnd,
) -> Option<Attempts> {
    let accounts = facts.route.as_ref()?.source.accounts.as_ref()?;
    let attempts = match accounts.accounts.as_slice() {
        [only] => only_asked(&only.id, answer, stream),
        _ => several_asked(answer, ending, stream),
    };
    (attempts.count > 0).then_some(attempts)
}

/// The same where there is one account. Nobody watches the tries there: what became of the last is known here.
fn only_asked(account: &str, answer: &Answer, stream: &impl StreamEnd) -> Attempts {
    let error = answer.relayed.or(answer.replaced).filter(|s| *s >= 400);
    let report = answer.failure.as_deref().or_else(|| error.map(|_| ""));
    let failed = report.map(|report| {
        FailedAttempt::answered(account.to_owned(), error.unwrap_or_default(), report)
    });
    Attempts {
        last: Some(account.to_owned()),
        // Envoy does not count where it found no address.
        count: stream.tries().max(u64::from(failed.is_some())),
        failed: failed.into_iter().filter(is_failure).collect(),
        answered: answer.relayed.is_some_and(is_faultless),
    }
}

/// The same where there are several. Envoy counts tries that were not made, too.
fn several_asked(answer: &Answer, ending: Ending, stream: &impl StreamEnd) -> Attempts {
    let mut failed = FailedAttempt::parse_list(&stream.failed_tries());
    let good = answer.relayed.is_some_and(|status| status < 400);
    let broken_off = ending == Ending::ClientAbort && answer.relayed.is_none();
    if broken_off {
        // A try that the client broke off did not fail; it may or may not have been noted by now.
        failed.pop_if(|last| last.kind == AttemptFailure::NoAnswer);
    }
    let noted = failed
        .iter()
        .filter(|failed| failed.kind != AttemptFailure::NoTime);
    let (tries, last) = if good || broken_off {
        (noted.count().saturating_add(1), stream.account())
    } else {
        // Envoy's choice may have fallen on another one last, which was not asked.
        let last = noted
            .clone()
            .next_back()
            .map(|failed| failed.account.clone());
        (noted.count(), last)
    };
    failed.retain(is_failure);
    Attempts {
        last,
        count: tries as u64,
        failed,
        answered: answer.relayed.is_some_and(is_faultless),
    }
}

/// Whether a try failed for a reason of the account's, or of the way to it.
fn is_failure(failed: &FailedAttempt) -> bool {
    failed.kind != AttemptFailure::Request
}

/// Whether the account that gave an answer with this status did what it had to do.
fn is_faultless(status: u16) -> bool {
    status < 400 || AttemptFailure::of_status(status) == AttemptFailure::Request
}

fn ending(
    phase: &Phase,
    facts: &Facts,
    answer: &Answer,
    reading: &Reading,
    stream: &impl StreamEnd,
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
        let cut = Ending::from_details(&stream.details());
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

/// Whether the answer tells what it used: tokens, or the images that it was to make. Searches alone say nothing of
/// tokens, and neither do zeros.
fn is_reported(facts: &Facts, reading: &Reading) -> bool {
    reading.usage.as_ref().is_some_and(|usage| {
        let images = facts.operation() == Some("image_generation") && usage.images > 0;
        images || usage.input_tokens() > 0 || usage.output_tokens() > 0
    })
}

/// How good the numbers are.
fn status(ending: Ending, facts: &Facts, answer: &Answer, reading: &Reading) -> UsageStatus {
    if facts.operation().is_none() || facts.route.is_none() {
        return UsageStatus::None;
    }
    let unreported = if facts.unreported_is_free() {
        UsageStatus::Partial
    } else {
        UsageStatus::Estimated
    };
    if answer.is_success() {
        // Even where we cut the exchange short afterwards, something came back.
        let reported = is_reported(facts, reading);
        let error_alone = reading.error.is_some() && reading.generated_bytes == 0;
        return if reported && ending == Ending::Finished {
            UsageStatus::Complete
        } else if error_alone && reading.usage.is_none() {
            UsageStatus::Failed
        } else {
            unreported
        };
    }
    match ending {
        Ending::Refused | Ending::Answered => UsageStatus::None,
        // It gave an error, whether or not all of its words came through.
        _ if answer.relayed.is_some() => UsageStatus::Failed,
        // No answer had come. An upstream that has the whole request may be at work on it.
        Ending::ClientAbort if facts.sent_whole => unreported,
        Ending::ClientAbort => UsageStatus::None,
        _ => UsageStatus::Failed,
    }
}
