//! A request to a source with several accounts: where its first attempt goes, and within which bounds others follow.

use std::rc::Rc;

use smol_str::SmolStr;

use super::affinity::affinity;
use super::edits::{
    ATTEMPT_TIMEOUT_HEADER, CLUSTER_HEADER, HeaderEdit, NO_RETRY_HEADER, PATH_HEADER,
};
use super::environment::{AccountStates, Clock, Forwarding};
use super::request_body::RequestBody;
use super::route::Route;
use super::upstream_head::path_less_version;
use crate::config::account::Accounts;
use crate::failover::attempt::NO_MORE_ATTEMPTS;
use crate::failover::{AccountEvent, AttemptPlan, Bounds, KeyMark, RequestAttempts};
use crate::head::Head;
use crate::ledger::{AttemptFailure, FailedAttempt};

/// A request to a source with several accounts.
#[derive(Debug)]
pub(super) struct SeveralAccounts {
    /// The id of the request, under which those who see its attempts find them; `None` where they do not.
    id: Option<SmolStr>,
    key: KeyMark,
    affinity: u64,
    path: Option<Vec<u8>>,
    /// The attempts, once the request's head was released.
    attempts: Option<Rc<RequestAttempts>>,
}

impl SeveralAccounts {
    /// Of the key with the id `key`; `path` is the path upstream, before an account's own base. `None` where the source
    /// has no second account.
    pub(super) fn new(head: &Head, route: &Route, key: &str, path: &[u8]) -> Option<Self> {
        let accounts = route.source.alternatives()?;
        Some(Self {
            id: head
                .get("x-request-id")
                .and_then(|id| core::str::from_utf8(id).ok())
                .map(SmolStr::from),
            key: KeyMark::of(key),
            affinity: affinity(key, head),
            path: accounts.have_paths().then(|| path_less_version(path)),
            attempts: None,
        })
    }

    /// Chooses the account of the first attempt, and adds the headers that lead there.
    pub(super) fn dispatch(
        &mut self,
        headers: &mut Vec<HeaderEdit>,
        route: &Route,
        body: &RequestBody,
        began_us: u64,
        environment: &impl Forwarding,
    ) {
        let source = &route.source;
        let Some(accounts) = source.alternatives() else {
            return;
        };
        let (states, now_us) = (
            environment.account_states(&source.group),
            environment.now_us(),
        );
        if !states.know_use(self.key, now_us) {
            environment.note_use(&source.group, self.key);
        }
        let attempts = Rc::new(RequestAttempts::new(AttemptPlan {
            source: Rc::clone(source),
            key: self.key,
            affinity: self.affinity,
            path: self.path.clone(),
            bounds: bounds(accounts, began_us),
        }));
        // An id that another request has, where Envoy lets clients choose them, leads to that one's attempts: this one
        // must not come to the hop, make others, or end them.
        self.id = self
            .id
            .take()
            .filter(|id| environment.begin_attempts(id, &attempts));
        let is_found = self.id.is_some();
        let has_hop = is_found && environment.has_hop();
        if body.sent_whole {
            attempts.end_body(now_us);
        }
        let dispatch = attempts.dispatch(&states, now_us, has_hop);
        let retried = dispatch.as_ref().is_some_and(|it| it.retried) && is_found;
        let cluster = dispatch.map_or_else(|| source.cluster.clone(), |it| it.cluster);
        headers.extend([
            HeaderEdit::Set(CLUSTER_HEADER, cluster.as_bytes().to_vec()),
            HeaderEdit::Set(
                ATTEMPT_TIMEOUT_HEADER,
                answer_ms(accounts, body.stream).into_bytes(),
            ),
        ]);
        if let Some(path) = &self.path {
            headers.push(HeaderEdit::Set(PATH_HEADER, path.clone()));
        }
        if !retried {
            headers.push(HeaderEdit::Set(NO_RETRY_HEADER, b"0".to_vec()));
        }
        self.attempts = Some(attempts);
    }

    /// The attempts, once the request's head was released.
    pub(super) fn attempts(&self) -> Option<&RequestAttempts> {
        self.attempts.as_deref()
    }

    /// The last byte of the body has come.
    pub(super) fn on_body_end(&self, clock: &impl Clock) {
        if let Some(attempts) = self.attempts() {
            attempts.end_body(clock.now_us());
        }
    }

    /// A response below 300 has come.
    pub(super) fn on_success(&self, environment: &impl AccountStates) {
        if let Some(attempts) = self.attempts()
            && attempts.must_note_answer()
        {
            note(AccountEvent::Answered, attempts, environment);
        }
    }

    /// An error has come, with Envoy's `details`: the account's own, or Envoy's in its place. An attempt by way of the
    /// hop was judged there.
    pub(super) fn on_error(
        &self,
        status: u16,
        details: &[u8],
        environment: &(impl AccountStates + Clock),
    ) {
        let Some(attempts) = self.attempts().filter(|it| !it.by_hop()) else {
            return;
        };
        let Some((_, account)) = attempts.last() else {
            return;
        };
        let is_noted_by_log = !attempts.ends_at_foreign_hop();
        let failed = if self.is_refused_by_foreign_hop(status) {
            FailedAttempt::unanswered(account.id.clone())
        } else {
            let details = String::from_utf8_lossy(details);
            FailedAttempt::answered(account.id.clone(), status, &details)
        };
        // How the way to a foreign hop ended is not known.
        let event = match failed.kind {
            AttemptFailure::Connection | AttemptFailure::NoAnswer => {
                attempts.silence(environment.now_us())
            }
            kind => AccountEvent::of(kind),
        };
        attempts.record(failed);
        match event {
            AccountEvent::Failed | AccountEvent::Interrupted(_) if is_noted_by_log => {}
            AccountEvent::Answered if !attempts.must_note_answer() => {}
            _ => note(event, attempts, environment),
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
            && self.attempts.is_some()
        {
            environment.end_attempts(id);
        }
    }
}

/// Notes what became of the last attempt.
fn note(event: AccountEvent, attempts: &RequestAttempts, environment: &impl AccountStates) {
    if let (Some((index, _)), Some(accounts)) = (attempts.last(), attempts.accounts()) {
        environment.note(event, &attempts.source().group, accounts, index);
    }
}

/// The bounds of a request's attempts.
fn bounds(accounts: &Accounts, began_us: u64) -> Bounds {
    let failover = &accounts.failover;
    let total_us = u64::from(failover.total_seconds).saturating_mul(1_000_000);
    let attempts = usize::try_from(failover.tries).unwrap_or(usize::MAX);
    Bounds {
        // None is asked twice for one request.
        attempts: attempts.min(accounts.accounts.len()),
        until_us: began_us.saturating_add(total_us),
    }
}

/// Returns the time that an account may take until its response begins, in milliseconds.
fn answer_ms(accounts: &Accounts, stream: bool) -> String {
    let failover = &accounts.failover;
    let seconds = if stream {
        failover.stream_answer_seconds
    } else {
        failover.answer_seconds
    };
    u64::from(seconds).saturating_mul(1000).to_string()
}
