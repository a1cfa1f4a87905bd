//! Destination of a request to a source with several accounts: where its first attempt goes, and within which bounds others follow.
//!
//! Upstream prompt caches belong to an account, so requests of one conversation should meet the same one. The accounts are
//! ordered by the number that [`affinity`] gives; one that fails loses only its own share.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

use smol_str::SmolStr;

use super::environment::{AccountStates, Clock, Forwarding};
use super::estimating::reservation;
use super::model_check::SourceModels;
use super::outcome::{
    ATTEMPT_TIMEOUT_HEADER, CLUSTER_HEADER, HeaderEdit, JUDGE_HEADER, NO_RETRY_HEADER, PATH_HEADER,
};
use super::request_body::RequestBody;
use super::request_head::session;
use super::route::Route;
use super::upstream_head::path_less_version;
use crate::config::account::{AccountOrder, Accounts, Marks};
use crate::config::policy::Source;
use crate::failover::{
    AttemptPlan, Bounds, KeyMark, LaterTerms, ModelMark, PlannedSource, RequestAttempts, WholeBody,
};
use crate::head::Head;
use crate::limits::{Estimate, Subject};
use crate::protocol::Operation;

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

/// A source that is asked after others have failed.
#[derive(Debug)]
pub(super) struct LaterSource {
    /// The route there.
    pub route: Route,
    /// The path of the request there, before an account's own base.
    pub path: Cow<'static, str>,
    /// The models of the request there; `None` while the body is not known, and where it does not fit.
    pub models: Option<SourceModels>,
    /// The terms of an attempt there; likewise.
    pub terms: Option<LaterTerms>,
}

/// A request to a source with several accounts, or with one that may have to be asked twice.
#[derive(Debug)]
pub(super) struct SeveralAccounts {
    /// The id of the request, under which those who see its attempts find them; `None` where they do not.
    pub id: Option<SmolStr>,
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
            has_session: session(head).is_some(),
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
            source: Rc::clone(&later.route.source),
            path: Some(path_less_version(later.path.as_bytes())),
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
            later: self.later.iter().map(|it| it.terms.clone()).collect(),
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

/// Hashes a request by its key's id and its session, where it names one.
///
/// The key's id is always in it, so that no client can choose the account of another, nor all of
/// them gather on one.
fn affinity(key: &str, head: &Head) -> u64 {
    let session = session(head);
    // SipHash with a fixed key: all workers and gateways of a release agree.
    let mut hasher = DefaultHasher::new();
    hasher.write(key.as_bytes());
    // No id holds this byte, so no id with a session is taken for another id with another one.
    hasher.write_u8(0);
    hasher.write(session.unwrap_or_default());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &str, headers: &[(&str, &str)]) -> u64 {
        let pairs = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        affinity(key, &Head::new(pairs.collect()))
    }

    #[test]
    fn another_release_does_not_move_conversations() {
        assert_eq!(of("k1", &[("session-id", "s1")]), 0x22c2_566e_b9b9_7b9a);
    }

    #[test]
    fn a_conversation_stays_together_and_keys_apart() {
        let plain = of("k1", &[]);
        let session = of("k1", &[("session-id", "s1")]);
        let cases = [
            ("the same again", of("k1", &[("session-id", "s1")]), true),
            (
                "under another name",
                of("k1", &[("x-session-id", "s1")]),
                true,
            ),
            (
                "under an older name",
                of("k1", &[("session_id", "s1")]),
                true,
            ),
            (
                "the agent's own name first",
                of(
                    "k1",
                    &[("session-id", "s2"), ("x-claude-code-session-id", "s1")],
                ),
                true,
            ),
            ("another session", of("k1", &[("session-id", "s2")]), false),
            ("another key", of("k2", &[("session-id", "s1")]), false),
            ("no session", plain, false),
        ];
        for (case, got, same) in cases {
            assert_eq!(got == session, same, "{case}");
        }
        for (case, headers) in [
            ("empty", &[("session-id", "")][..]),
            ("twice", &[("session-id", "a"), ("session-id", "b")]),
        ] {
            assert_eq!(of("k1", headers), plain, "{case}: none is named");
        }
        assert_ne!(of("k1", &[("session-id", "x")]), of("k1x", &[]));
    }
}
