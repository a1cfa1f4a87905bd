//! The attempts at upstream accounts that one request took.

use smol_str::SmolStr;

use super::environment::StreamEnd;
use super::response::UpstreamResult;
use super::upstream_request::UpstreamRequest;
use crate::failover::RequestAttempts;
use crate::ledger::{AttemptFailure, Attempts, Ending, FailedAttempt};

/// The accounts that were asked, and how each of them did; `None` where the source has none, or no attempt was made.
pub(super) fn attempts_at(
    upstream: &UpstreamRequest,
    result: &UpstreamResult,
    ending: Ending,
    stream: &impl StreamEnd,
) -> Option<Attempts> {
    if upstream.route.is_open() {
        return None;
    }
    let source = &upstream.route.source;
    let accounts = source.accounts.as_ref()?;
    let attempts = match (&upstream.several, accounts.accounts.as_slice()) {
        (Some(several), _) => {
            of_several_accounts(several.attempts()?, &source.group, result, ending)
        }
        (None, [only]) => of_only_account(&only.id, result, stream),
        (None, _) => return None,
    };
    (attempts.count > 0).then_some(attempts)
}

/// Of a source with one account. Nobody watches the attempts there: what became of the last is known here.
fn of_only_account(
    account: &SmolStr,
    result: &UpstreamResult,
    stream: &impl StreamEnd,
) -> Attempts {
    let (status, failure, told) = match result {
        UpstreamResult::None => (None, None, None),
        UpstreamResult::Relayed(response) => (Some(response.status), None, None),
        UpstreamResult::Replaced(replaced) => {
            let told = replaced.told.as_ref();
            (replaced.status, replaced.failure.as_deref(), told)
        }
    };
    let error = status.filter(|status| *status >= 300);
    let report = failure.or_else(|| error.map(|_| ""));
    let failed = report.map(|report| {
        let status = error.unwrap_or_default();
        let fault = told.and_then(|told| told.fault);
        let failed = match fault {
            Some(fault) => FailedAttempt::told(account.clone(), status, fault.failure()),
            None => FailedAttempt::answered(account.clone(), status, report),
        };
        failed.with_words(fault, told.map(|told| told.error.clone()))
    });
    Attempts {
        last: Some(account.clone()),
        // Envoy does not count where it found no address.
        count: stream.attempts().max(u64::from(failed.is_some())),
        failed: failed.into_iter().filter(is_failure).collect(),
        answered: is_answered(result),
    }
}

/// Of several accounts; `source` is the one that the request ended at.
fn of_several_accounts(
    attempts: &RequestAttempts,
    source: &SmolStr,
    result: &UpstreamResult,
    ending: Ending,
) -> Attempts {
    let mut failed = attempts.failed();
    let relayed = result.relayed();
    let good = relayed.is_some_and(|response| response.status < 300);
    let broken_off = ending == Ending::ClientAbort && relayed.is_none();
    if broken_off {
        // An attempt that the client broke off did not fail; it may or may not have been noted by now.
        failed.pop_if(|last| last.kind == AttemptFailure::NoAnswer);
    }
    let made = failed.iter().filter(|failed| failed.kind.is_made());
    let asked = attempts.last();
    // A good status need not be a good answer.
    let is_told = failed
        .last()
        .zip(asked)
        .is_some_and(|(failed, (place, account))| {
            let of_source = attempts.source(place).map(|source| &source.group);
            failed.account == account.id
                && (failed.source.is_none() || failed.source.as_ref() == of_source)
        });
    let (count, last) = if (good && !is_told) || broken_off {
        let last = asked.map(|(_, account)| account.id.clone());
        (made.count().saturating_add(1), last)
    } else {
        let last = made
            .clone()
            .next_back()
            .map(|failed| failed.account.clone());
        (made.count(), last)
    };
    failed.retain(is_failure);
    for of_same in failed
        .iter_mut()
        .filter(|it| it.source.as_ref() == Some(source))
    {
        of_same.source = None;
    }
    Attempts {
        last,
        count: count as u64,
        failed,
        answered: is_answered(result),
    }
}

/// Whether an attempt failed for a reason of the account's, or of the way to it.
fn is_failure(failed: &FailedAttempt) -> bool {
    failed.kind != AttemptFailure::Request
}

/// Whether an account gave a response that finds no fault with the account itself.
fn is_answered(result: &UpstreamResult) -> bool {
    result.relayed().is_some_and(|response| {
        response.status < 300
            || AttemptFailure::of_status(response.status) == AttemptFailure::Request
    })
}
