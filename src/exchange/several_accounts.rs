//! A request to a source with several accounts: where its first attempt goes, and within which bounds others follow.

use std::rc::Rc;

use smol_str::SmolStr;

use super::affinity::{affinity, names_session};
use super::edits::{
    ATTEMPT_TIMEOUT_HEADER, CLUSTER_HEADER, HeaderEdit, JUDGE_HEADER, NO_RETRY_HEADER, PATH_HEADER,
};
use super::environment::{AccountStates, Clock, Forwarding};
use super::estimating::reservation;
use super::later_source::LaterSource;
use super::request_body::RequestBody;
use super::route::Route;
use super::upstream_head::path_less_version;
use crate::config::account::{AccountOrder, Accounts, Marks};
use crate::config::policy::Source;
use crate::failover::attempt::NO_MORE_ATTEMPTS;
use crate::failover::{
    AccountEvent, AttemptPlan, Bounds, KeyMark, ModelMark, PlannedSource, RequestAttempts,
    ToldError, WholeBody,
};
use crate::head::Head;
use crate::ledger::{AttemptFailure, FailedAttempt};
use crate::limits::{Estimate, Subject};
use crate::protocol::Operation;

/// The most bytes of a body that Envoy keeps for another attempt (`request_body_buffer_limit`).
const MOST_KEPT: u64 = 16 << 20;

/// A request whose head is released.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dispatched<'a> {
    pub route: &'a Route,
    /// The path upstream, before an account's own base.
    pub path: Option<&'a str>,
    pub body: &'a RequestBody,
    pub operation: Option<Operation>,
    /// The time at which its head was accepted, in microseconds of the steady clock.
    pub began_us: u64,
}

/// The time that an only account may take until its response begins, in milliseconds: an hour, which is none, since Envoy ends
/// before where nothing moves.
const UNBOUNDED_MS: u64 = 3_600_000;

/// A request to a source with several accounts, or with one that may have to be asked twice.
#[derive(Debug)]
pub(super) struct SeveralAccounts {
    /// The id of the request, under which those who see its attempts find them; `None` where they do not.
    id: Option<SmolStr>,
    key: KeyMark,
    affinity: u64,
    /// Whether the request names a session.
    has_session: bool,
    /// Whether an only account may have to be asked twice, since it may refuse what the gateway adds.
    may_be_refused: bool,
    path: Option<Vec<u8>>,
    /// The sources that are asked after the first one, once the request's head is released.
    pub later: Vec<LaterSource>,
    /// The attempts, once the request's head was released.
    attempts: Option<Rc<RequestAttempts>>,
    /// Whether the request has followed its attempts to a later source.
    has_moved: bool,
}

impl SeveralAccounts {
    /// Of the key with the id `key`; `path` is the path upstream, before an account's own base. `may_be_refused`: an account may
    /// refuse what the gateway adds to the body. `None` where no source that it may go to has a second account, or one that may.
    pub(super) fn new(
        head: &Head,
        route: &Route,
        key: &str,
        path: &[u8],
        may_be_refused: bool,
    ) -> Option<Self> {
        let mut candidates = route.candidates();
        if !may_be_refused && !candidates.any(|source| source.alternatives().is_some()) {
            return None;
        }
        let new = Self {
            id: head
                .get("x-request-id")
                .and_then(|id| core::str::from_utf8(id).ok())
                .map(SmolStr::from),
            key: KeyMark::of(key),
            affinity: affinity(key, head),
            has_session: names_session(head),
            may_be_refused,
            path: None,
            later: Vec::new(),
            attempts: None,
            has_moved: false,
        };
        if route.is_open() {
            return Some(new);
        }
        new.at(&route.source, path)
    }

    /// The same at the source that was chosen. `None` where that has no second account, and no need for one.
    pub(super) fn at(self, source: &Source, path: &[u8]) -> Option<Self> {
        let only = source.accounts.as_deref().filter(|_| self.may_be_refused);
        let accounts = source.alternatives().or(only)?;
        let path = accounts.have_paths().then(|| path_less_version(path));
        Some(Self { path, ..self })
    }

    /// Chooses the account of the first attempt, and adds the headers that lead there.
    pub(super) fn dispatch(
        &mut self,
        headers: &mut Vec<HeaderEdit>,
        request: &Dispatched<'_>,
        environment: &impl Forwarding,
    ) {
        let Dispatched {
            route,
            path,
            body,
            operation,
            began_us,
        } = *request;
        let source = &route.source;
        let Some(accounts) = source.accounts.as_deref() else {
            return;
        };
        let now_us = environment.now_us();
        let states = |source: &str| environment.account_states(source);
        if accounts.are_alternatives() && !states(&source.group).know_use(self.key, now_us) {
            environment.note_use(&source.group, self.key);
        }
        if let (Some(path), false) = (path, self.later.is_empty()) {
            // All attempts share the head, so that each must bring a path along.
            self.path = Some(path_less_version(path.as_bytes()));
        }
        let first = PlannedSource {
            source: Rc::clone(source),
            path: self.path.clone(),
        };
        let later = self.later.iter().map(|later| PlannedSource {
            source: Rc::clone(&later.route().source),
            path: Some(path_less_version(later.path().as_bytes())),
        });
        let sources: Vec<PlannedSource> = core::iter::once(first).chain(later).collect();
        // The use of an only account was reserved before.
        let is_counted =
            accounts.are_alternatives() && sources.iter().any(PlannedSource::is_counted);
        let estimate = is_counted.then(|| reservation(operation, body, body.length()));
        let by_load = accounts.failover.order == AccountOrder::LeastBusy && !self.has_session;
        let under_way = by_load.then(|| under_way(&sources, environment));
        let attempts = RequestAttempts::new(AttemptPlan {
            bounds: bounds(accounts, &sources, began_us),
            sources,
            estimate: estimate.unwrap_or_default(),
            limiter: environment.limiter().filter(|_| is_counted),
            key: self.key,
            model: body.models().model().map(|model| ModelMark::of(&model.id)),
            affinity: self.affinity,
        });
        let attempts = match under_way {
            Some(under_way) => attempts.by_load(under_way),
            None if states(&source.group).may_have_moved(now_us) => {
                let moved = environment.moved(attempts.conversation());
                attempts.of_moved(moved)
            }
            None => attempts,
        };
        let attempts = Rc::new(attempts);
        // An id that another request has, where Envoy lets clients choose them, leads to that one's attempts: this one
        // must not come to the hop, make others, or end them.
        self.id = self
            .id
            .take()
            .filter(|id| environment.begin_attempts(id, &attempts));
        let is_found = self.id.is_some();
        let has_hop = is_found && environment.has_hop();
        if body.sent_whole {
            attempts.end_body(self.whole(body), now_us);
        }
        let reserve = |account: &Subject, estimate: Estimate| {
            environment.admit(core::slice::from_ref(account), estimate)
        };
        let dispatch = attempts.dispatch(&states, &reserve, now_us, has_hop, |way| {
            body.may_ask_usage() && environment.takes_usage_option(way).is_none()
        });
        let retried = dispatch.as_ref().is_some_and(|it| it.retried) && is_found;
        let cluster = dispatch.map_or_else(|| source.cluster.clone(), |it| it.cluster);
        headers.extend([
            HeaderEdit::Set(CLUSTER_HEADER, cluster.as_bytes().to_vec()),
            HeaderEdit::Set(
                ATTEMPT_TIMEOUT_HEADER,
                answer_ms(accounts, body.stream).to_string().into_bytes(),
            ),
        ]);
        if let Some(path) = &self.path {
            headers.push(HeaderEdit::Set(PATH_HEADER, path.clone()));
        }
        headers.extend(match retried {
            true => accounts
                .are_alternatives()
                .then(|| HeaderEdit::Set(JUDGE_HEADER, b"1".to_vec())),
            false => Some(HeaderEdit::Set(NO_RETRY_HEADER, b"0".to_vec())),
        });
        self.attempts = Some(attempts);
    }

    /// The attempts, once the request's head was released.
    pub(super) fn attempts(&self) -> Option<&RequestAttempts> {
        self.attempts.as_deref()
    }

    /// The last byte of the body has come.
    pub(super) fn on_body_end(&self, body: &RequestBody, clock: &impl Clock) {
        if let Some(attempts) = self.attempts() {
            attempts.end_body(self.whole(body), clock.now_us());
        }
    }

    /// The body does not ask for the usage of its stream any more.
    pub(super) fn forget_usage(&self) {
        if let Some(attempts) = self.attempts() {
            attempts.forget_usage();
        }
    }

    /// Whether the account that was asked last was not asked for the usage that the gateway has put in.
    pub(super) fn has_left_out_usage(&self) -> bool {
        self.attempts()
            .is_some_and(RequestAttempts::has_left_out_usage)
    }

    /// The facts about a whole body that attempts depend on.
    fn whole(&self, body: &RequestBody) -> WholeBody {
        WholeBody {
            later: self.later.iter().map(|it| it.terms().cloned()).collect(),
            holds_state: body.scanner().holds_state(),
            asks_usage: body.asks_usage(),
            without_usage: body.without_usage().cloned(),
        }
    }

    /// The place among the later sources of the one that was asked last; `None` for the first source, and once this was told.
    pub(super) fn take_move(&mut self) -> Option<usize> {
        let (place, _) = self.attempts.as_ref()?.last()?;
        let moved = place.source.checked_sub(1)?;
        (!core::mem::replace(&mut self.has_moved, true)).then_some(moved)
    }

    /// The account that was asked last, or will be asked first.
    pub(super) fn asked(&self, environment: &(impl AccountStates + Clock)) -> Option<&Marks> {
        let attempts = self.attempts()?;
        let states = |source: &str| environment.account_states(source);
        let last = attempts.last().map(|(place, _)| place);
        let place = last.or_else(|| attempts.next(&states, environment.now_us()))?;
        attempts.accounts(place)?.marks.get(place.account)
    }

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
            && self.attempts.is_some()
        {
            environment.end_attempts(id);
        }
    }
}

/// The requests under way at the accounts of each source.
fn under_way(sources: &[PlannedSource], environment: &impl AccountStates) -> Vec<Vec<u32>> {
    let of_source = |planned: &PlannedSource| {
        let accounts = planned.source.accounts.as_ref();
        let subjects = accounts.map(|accounts| accounts.subjects());
        let subjects = subjects.into_iter().flatten();
        let count = |subject: Option<&Subject>| subject.map_or(0, |it| environment.under_way(it));
        subjects.map(count).collect()
    };
    sources.iter().map(of_source).collect()
}

/// Notes what became of the last attempt.
fn note(event: AccountEvent, attempts: &RequestAttempts, environment: &impl AccountStates) {
    if let Some((place, _)) = attempts.last()
        && let (Some(source), Some(accounts)) = (attempts.source(place), attempts.accounts(place))
    {
        environment.note(event, &source.group, accounts, place.account);
    }
}

/// The bounds of a request's attempts: those of the first source, whose `accounts` these are, for all of them together.
fn bounds(accounts: &Accounts, sources: &[PlannedSource], began_us: u64) -> Bounds {
    let failover = &accounts.failover;
    let all = sources.iter().filter_map(|it| it.source.accounts.as_ref());
    let count = all.map(|it| it.accounts.len()).sum();
    let total_us = u64::from(failover.total_seconds).saturating_mul(1_000_000);
    Bounds {
        attempts: failover.tries_of(count),
        until_us: began_us.saturating_add(total_us),
    }
}

/// Returns the time that an account may take until its response begins, in milliseconds.
fn answer_ms(accounts: &Accounts, stream: bool) -> u64 {
    let failover = &accounts.failover;
    let seconds = match stream {
        _ if !accounts.are_alternatives() => return UNBOUNDED_MS,
        true => failover.stream_answer_seconds,
        false => failover.answer_seconds,
    };
    u64::from(seconds).saturating_mul(1000)
}
