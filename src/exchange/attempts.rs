//! Attempts at upstream accounts that one request took: what is noted of them, and what its record says.

use smol_str::SmolStr;

use super::dispatch::SeveralAccounts;
use super::environment::{AccountStates, Clock, StreamEnd};
use super::response::UpstreamResult;
use super::upstream_request::UpstreamRequest;
use crate::failover::attempt::NO_MORE_ATTEMPTS;
use crate::failover::{AccountEvent, RequestAttempts, ToldError};
use crate::ledger::{AttemptFailure, Attempts, Ending, FailedAttempt};

/// The most bytes of a body that Envoy keeps for another attempt (`request_body_buffer_limit`).
const MOST_KEPT: u64 = 16 << 20;

impl SeveralAccounts {
    /// A response below 300 has come.
    pub(super) fn on_success(&self, environment: &(impl AccountStates + Clock)) {
        // One by way of the hop was noted there.
        let Some(attempts) = self.attempts().filter(|it| !it.by_hop()) else {
            return;
        };
        if attempts.must_note_answer() {
            note(AccountEvent::Answered, attempts, environment);
        }
        if let Some(first) = attempts.sources().first()
            && let Some(change) = attempts.moves(|| environment.now_us())
        {
            environment.note_move(change, &first.source.group);
        }
    }

    /// An error has come, with Envoy's `details`: the account's own, or Envoy's in its place. `told` are its words;
    /// `is_judged` says that they were read on the way here, too. An attempt by way of the hop was noted there, but for the words
    /// that nobody read.
    pub(super) fn on_error(
        &self,
        status: u16,
        details: &[u8],
        told: Option<&ToldError>,
        is_judged: bool,
        environment: &(impl AccountStates + Clock),
    ) {
        let fault = told.and_then(|told| told.fault);
        let unread = fault.filter(|_| !is_judged);
        let attempts = self.attempts();
        let Some(attempts) = attempts.filter(|it| unread.is_some() || !it.by_hop()) else {
            return;
        };
        let Some((place, account)) = attempts.last() else {
            return;
        };
        let is_noted_by_log = !attempts.ends_at_foreign_hop() && unread.is_none();
        let failed = if let Some(fault) = fault {
            FailedAttempt::told(account.id.clone(), status, fault.failure())
        } else if self.is_refused_by_foreign_hop(status) {
            FailedAttempt::unanswered(account.id.clone())
        } else {
            let details = String::from_utf8_lossy(details);
            FailedAttempt::answered(account.id.clone(), status, &details)
        };
        let failed = failed.with_words(fault, told.map(|told| told.error.clone()));
        // How the way to a foreign hop ended is not known.
        let event = match failed.kind {
            AttemptFailure::Connection | AttemptFailure::NoAnswer => {
                attempts.silence(environment.now_us())
            }
            kind => attempts.event(place, kind, None, environment.now_us()),
        };
        if unread.is_some() {
            attempts.correct(place, failed);
        } else {
            attempts.record(place, failed);
        }
        match event {
            AccountEvent::Failed | AccountEvent::Interrupted(_) | AccountEvent::Limited(..)
                if is_noted_by_log => {}
            AccountEvent::Answered if !attempts.must_note_answer() => {}
            _ => note(event, attempts, environment),
        }
    }

    /// An error is the client's response. Notes that no other account was asked, where it was for the length of the body: `seen`
    /// bytes of it have come.
    pub(super) fn note_too_large(&self, seen: u64, environment: &(impl AccountStates + Clock)) {
        let Some(attempts) = self.attempts().filter(|_| seen > MOST_KEPT) else {
            return;
        };
        let failed = attempts.failed().pop().map(|failed| failed.kind);
        let is_of_account =
            |kind: AttemptFailure| kind.is_made() && kind != AttemptFailure::Request;
        let states = |source: &str| environment.account_states(source);
        if failed.is_some_and(is_of_account)
            && let Some(next) = attempts.next(&states, environment.now_us())
            && let Some(account) = attempts.account(next)
        {
            attempts.record(next, FailedAttempt::too_large(account.id.clone()));
        }
    }

    /// Whether an error with this status means that the account has failed, and that a hop that does not know the request
    /// has refused the attempt after it.
    pub(super) fn is_refused_by_foreign_hop(&self, status: u16) -> bool {
        status == NO_MORE_ATTEMPTS
            && self
                .attempts()
                .is_some_and(RequestAttempts::ends_at_foreign_hop)
    }

    /// The request is over; `finished` says that the response came to its end.
    pub(super) fn end(&self, finished: bool, environment: &impl AccountStates) {
        if let Some(attempts) = self.attempts().filter(|it| finished && it.must_note_end()) {
            note(AccountEvent::Finished, attempts, environment);
        }
        if let Some(id) = &self.id
            && self.attempts().is_some()
        {
            environment.end_attempts(id);
        }
    }
}

/// Notes what became of the last attempt.
fn note(event: AccountEvent, attempts: &RequestAttempts, environment: &impl AccountStates) {
    if let Some((place, _)) = attempts.last()
        && let (Some(source), Some(accounts)) = (attempts.source(place), attempts.accounts(place))
    {
        environment.note(event, &source.group, accounts, place.account);
    }
}

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
