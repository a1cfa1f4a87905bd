//! The attempts of one request: at the accounts of a source, or of several sources in sequence.

mod choice;
mod reserved;
mod usage_option;

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

use smol_str::SmolStr;

use super::active_keys::KeyMark;
use super::moved::{Move, Moved};
use super::states::{AccountEvent, ModelMark, States};
use super::usage_option::WayMark;
use crate::body::UsageEdit;
use crate::config::account::{Account, Accounts, HOP_CLUSTER, Marks};
use crate::config::policy::Source;
use crate::ledger::{AttemptFailure, FailedAttempt};
use crate::limits::{AdmitError, Estimate, Limiter, Reservation, Subject};

/// The bounds of one request's attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of accounts that the request may be sent to.
    pub attempts: usize,
    /// After when no further one is asked, in microseconds of the steady clock.
    pub until_us: u64,
}

/// The destination of the first attempt of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// The Envoy cluster.
    pub cluster: SmolStr,
    /// Whether there may be another attempt after it.
    pub retried: bool,
}

/// A source that a request may go to.
#[derive(Debug)]
pub struct PlannedSource {
    /// The source.
    pub source: Rc<Source>,
    /// The request's path there without its version, where accounts have paths of their own.
    pub path: Option<Vec<u8>>,
}

impl PlannedSource {
    /// Whether the use of one of its accounts is counted.
    pub fn is_counted(&self) -> bool {
        let accounts = self.source.accounts.as_ref();
        accounts.is_some_and(|accounts| accounts.subjects().flatten().next().is_some())
    }
}

/// The terms of attempts at a later source, which are known once the whole body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterTerms {
    /// The model's name there, where the body that goes upstream has another one.
    pub model: Option<SmolStr>,
}

/// The facts about a whole body that attempts depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WholeBody {
    /// The terms of attempts at each source after the first, `None` where the body does not fit.
    pub later: Vec<Option<LaterTerms>>,
    /// Whether it names something that a vendor keeps for an account.
    pub holds_state: bool,
    /// Whether it asks for the usage of its stream.
    pub asks_usage: bool,
    /// The change of the body as it is sent that takes this back, where the gateway has made it ask.
    pub without_usage: Option<UsageEdit>,
}

/// The fixed terms of the attempts of a request.
#[derive(Debug)]
pub struct AttemptPlan {
    /// The sources, in the order in which they are asked; at least one.
    pub sources: Vec<PlannedSource>,
    /// The key.
    pub key: KeyMark,
    /// The model, where it is known.
    pub model: Option<ModelMark>,
    /// The conversation, as a number.
    pub affinity: u64,
    /// The estimated use of an account's limits.
    pub estimate: Estimate,
    /// The limiter that counts the use of accounts; `None` where none has limits.
    pub limiter: Option<Rc<Limiter>>,
    /// The bounds of the request's attempts.
    pub bounds: Bounds,
}

/// An account of a planned source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountPlace {
    /// The place of the source in the plan.
    pub source: usize,
    /// The place of the account in its source.
    pub account: usize,
}

/// Reads what is known of the accounts of the source with this id.
pub type ReadStates<'a> = &'a dyn Fn(&str) -> Rc<States>;

/// Reserves what an attempt is estimated to use of the limits of its account.
pub type Reserve<'a> = &'a dyn Fn(&Subject, Estimate) -> Result<Reservation, AdmitError>;

/// The time for which it is known where a conversation is whose state an account's vendor keeps, in microseconds: a day.
const STATE_LIFE_US: u64 = 86_400_000_000;

/// The attempts of one request, shared by its exchange and by the filters that see its attempts.
#[derive(Debug)]
pub struct RequestAttempts {
    plan: AttemptPlan,
    /// The place at which the conversation was answered last, where that was not its first account, and when.
    moved: Option<(AccountPlace, Moved)>,
    /// Whether accounts say with which others they share what a vendor keeps for them.
    have_states: bool,
    /// The requests under way at the accounts of each source, where the least busy comes first; else nothing.
    under_way: Vec<Vec<u32>>,
    progress: RefCell<AttemptProgress>,
}

/// The progress of a request's attempts.
#[derive(Debug, Default)]
struct AttemptProgress {
    /// The accounts that were asked, each once. The last one is asked, or was asked, last.
    asked: Vec<AccountPlace>,
    /// The accounts that were not asked, as their own limits did not allow it.
    full: Vec<AccountPlace>,
    /// The share of the last account's limits.
    reserved: Option<Reservation>,
    /// The number of attempts at the last of them.
    times: u32,
    /// Whether the last attempt went, or goes, by way of the hop.
    by_hop: bool,
    /// The time of the last attempt, in microseconds of the steady clock.
    asked_us: u64,
    /// The time at which the last byte of the body came, in microseconds of the steady clock; `None` while more is to come.
    whole_us: Option<u64>,
    /// The body, where no more of it is to come.
    body: WholeBody,
    /// Whether the last account was sent the body without the option that reports usage, which the gateway had put in.
    left_out_usage: bool,
    /// Whether the last account is asked once more, without that option.
    asks_again: bool,
    /// Whether an attempt so far has sent the body otherwise than its head says.
    has_changed_body: bool,
    /// Whether the last account is another than the conversation's first.
    is_moved: bool,
    /// Whether an answer of the first account must be noted.
    note_answer: bool,
    /// Whether the end of an answer to the last attempt must be noted.
    note_end: bool,
    /// Whether the hop would refuse the request, for all that is known.
    hop_is_foreign: bool,
    /// The time at which the first of the accounts that are at their limit may answer again, in microseconds of the steady clock.
    limited_us: Option<u64>,
    /// Failed attempts, and attempts that were not made.
    failed: Vec<FailedAttempt>,
}

impl AttemptProgress {
    /// Notes an account that is at its limit until then, in microseconds of the steady clock.
    fn note_limit(&mut self, until_us: u64) {
        let first = self.limited_us.map_or(until_us, |us| us.min(until_us));
        self.limited_us = Some(first);
    }

    /// Whether the request may go to a source, for all that is known.
    fn fits(&self, source: usize) -> bool {
        let later = source.checked_sub(1);
        later.is_none_or(|later| self.body.later.get(later).is_some_and(Option::is_some))
    }
}

impl RequestAttempts {
    /// Of a request whose first attempt is still to be dispatched.
    pub fn new(plan: AttemptPlan) -> Self {
        let mut accounts = plan
            .sources
            .iter()
            .filter_map(|it| it.source.accounts.as_ref());
        Self {
            have_states: accounts.any(|accounts| accounts.have_states()),
            plan,
            moved: None,
            under_way: Vec::new(),
            progress: RefCell::default(),
        }
    }

    /// The same where the least busy account comes first; `under_way` are the requests under way at those of each source.
    pub fn by_load(self, under_way: Vec<Vec<u32>>) -> Self {
        Self { under_way, ..self }
    }

    /// The same of a conversation that has moved, where its account is among those of the request.
    pub fn of_moved(self, moved: Option<Moved>) -> Self {
        let place = moved.and_then(|moved| {
            let mut places = self.places();
            let place = places.find(|place| self.number(*place) == Some(moved.account))?;
            Some((place, moved))
        });
        Self {
            moved: place,
            ..self
        }
    }

    /// The conversation, with this model, among those of all sources.
    pub fn conversation(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.plan.affinity);
        if let Some(first) = self.plan.sources.first() {
            hasher.write(first.source.group.as_bytes());
        }
        hasher.write_u64(self.plan.model.map_or(0, ModelMark::number));
        hasher.finish()
    }

    /// The number of an account among those of all sources.
    fn number(&self, place: AccountPlace) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.source(place)?.group.as_bytes());
        hasher.write_u64(self.marks(place)?.id);
        Some(hasher.finish())
    }

    /// The change to note of the conversation's place, now that the last account has answered; `None` where there is nothing new.
    pub fn moves(&self, now_us: impl FnOnce() -> u64) -> Option<Move> {
        let progress = self.progress.try_borrow().ok()?;
        if !progress.is_moved && self.moved.is_none() {
            return None;
        }
        let (place, now_us) = (*progress.asked.last()?, now_us());
        let to = self.number(place).filter(|_| progress.is_moved);
        let known = self.moved.map(|(_, moved)| moved);
        let life_us = if self.have_states {
            STATE_LIFE_US
        } else {
            self.cache_life_us()
        };
        let covers = |to| known.is_some_and(|known| known.covers(to, self.cache_life_us(), now_us));
        let is_known = to.is_some_and(covers);
        let conversation = self.conversation();
        let change = Move {
            conversation,
            to,
            life_us,
        };
        (!is_known && life_us > 0).then_some(change)
    }

    /// The time for which a vendor keeps the conversation's prompt after an answer, in microseconds.
    fn cache_life_us(&self) -> u64 {
        let first = self.plan.sources.first();
        let accounts = first.and_then(|first| first.source.accounts.as_ref());
        let seconds = accounts.map_or(0, |accounts| accounts.failover.prompt_cache_seconds);
        u64::from(seconds).saturating_mul(1_000_000)
    }

    /// The sources, in the order in which they are asked.
    pub fn sources(&self) -> &[PlannedSource] {
        &self.plan.sources
    }

    /// The source of an account.
    pub fn source(&self, place: AccountPlace) -> Option<&Rc<Source>> {
        Some(&self.plan.sources.get(place.source)?.source)
    }

    /// The path at an account's source, for the account's own base to stand before.
    pub fn path(&self, place: AccountPlace) -> Option<&[u8]> {
        self.plan.sources.get(place.source)?.path.as_deref()
    }

    /// The key.
    pub fn key(&self) -> KeyMark {
        self.plan.key
    }

    /// The bounds.
    pub fn bounds(&self) -> Bounds {
        self.plan.bounds
    }

    /// Chooses where the first attempt goes. `has_hop`: the filter there is of this VM, and knows the request. `may_be_refused`: the
    /// account of a way may refuse the option that the gateway puts in, so that it would be asked once more.
    pub fn dispatch(
        &self,
        states: ReadStates<'_>,
        reserve: Reserve<'_>,
        now_us: u64,
        has_hop: bool,
        may_be_refused: impl FnOnce(WayMark) -> bool,
    ) -> Option<Dispatch> {
        if !has_hop {
            // Without it nobody could change what another source must get.
            self.progress.try_borrow_mut().ok()?.body.later.clear();
        }
        let first = self.next(states, now_us)?;
        let (account, marks) = (self.account(first)?, self.marks(first)?);
        let may_be_refused = has_hop && may_be_refused(WayMark::of_account(marks));
        let retried = self.plan.bounds.attempts > 1 || account.retries > 0 || may_be_refused;
        let of_source = states(&self.source(first)?.group);
        // Another account may be better, once the whole body is known: the hop waits for it.
        let may_wait = has_hop && self.may_wait(first, states, now_us);
        let is_known = of_source.has_answered(marks) && !may_be_refused;
        let direct = (is_known && first.source == 0 && !may_wait) || !has_hop;
        // Where its own limits do not allow it, the hop finds another.
        let direct = direct && (self.reserve(first, reserve, now_us) || !has_hop);
        if direct {
            self.begin(first, false, states, now_us);
            let mut progress = self.progress.try_borrow_mut().ok()?;
            progress.note_answer = !of_source.knows_no_failure(marks);
            progress.hop_is_foreign = !has_hop;
        }
        let cluster = if direct {
            self.cluster(first)?.clone()
        } else {
            SmolStr::new_static(HOP_CLUSTER)
        };
        Some(Dispatch { cluster, retried })
    }

    /// The model's name at an account's source, where the body that goes upstream has another one.
    pub fn renamed(&self, place: AccountPlace) -> Option<SmolStr> {
        let progress = self.progress.try_borrow().ok()?;
        let terms = progress
            .body
            .later
            .get(place.source.checked_sub(1)?)?
            .as_ref()?;
        terms.model.clone()
    }

    /// An account is asked now.
    pub fn begin(&self, place: AccountPlace, by_hop: bool, states: ReadStates<'_>, now_us: u64) {
        self.ask(place, by_hop);
        let of_account = self.marks(place).zip(self.source(place));
        let notes_end = of_account
            .is_some_and(|(marks, source)| !states(&source.group).knows_no_failure(marks));
        let is_moved = self.is_moved(place, states, now_us);
        let is_renamed = self.renamed(place).is_some();
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.asked_us = now_us;
            progress.is_moved = is_moved;
            progress.has_changed_body |= is_renamed;
            progress.note_end = notes_end;
        }
    }

    /// The last byte of the body has come.
    pub fn end_body(&self, body: WholeBody, now_us: u64) {
        if let Ok(mut progress) = self.progress.try_borrow_mut()
            && progress.whole_us.is_none()
        {
            progress.whole_us = Some(now_us);
            progress.body = body;
        }
    }

    /// Whether all of the body has come.
    pub fn has_whole_body(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.whole_us.is_some())
    }

    /// Whether an attempt so far has sent the body otherwise than its head says.
    pub fn has_changed_body(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.has_changed_body)
    }

    /// The event of silence before a response, for the last account: no failure where its client may have
    /// brought that about by its body. Of a body that took its time this holds for as long again: the news of what its account did
    /// meanwhile may still be on its way.
    pub fn silence(&self, now_us: u64) -> AccountEvent {
        let Ok(progress) = self.progress.try_borrow() else {
            return AccountEvent::Interrupted(self.plan.key);
        };
        let is_over = progress.whole_us.is_some_and(|whole_us| {
            now_us.saturating_sub(whole_us) >= whole_us.saturating_sub(progress.asked_us)
        });
        if is_over {
            AccountEvent::Failed
        } else {
            AccountEvent::Interrupted(self.plan.key)
        }
    }

    /// The event of a response that broke off in its middle, for the last account: its client may not have read it.
    pub fn break_off(&self) -> AccountEvent {
        AccountEvent::Interrupted(self.plan.key)
    }

    /// An account is asked.
    pub fn ask(&self, place: AccountPlace, by_hop: bool) {
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.by_hop = by_hop;
            progress.asks_again = false;
            progress.left_out_usage = false;
            if progress.asked.last() == Some(&place) {
                progress.times = progress.times.saturating_add(1);
                // It is told once, by how its last attempt ended.
                progress.failed.pop();
            } else {
                progress.asked.push(place);
                progress.times = 1;
            }
        }
    }

    /// The accounts of a source.
    pub fn accounts(&self, place: AccountPlace) -> Option<&Accounts> {
        self.source(place)?.accounts.as_deref()
    }

    /// The account at this place.
    pub fn account(&self, place: AccountPlace) -> Option<&Account> {
        self.accounts(place)?.accounts.get(place.account)
    }

    /// The Envoy cluster of the account at this place.
    pub fn cluster(&self, place: AccountPlace) -> Option<&SmolStr> {
        self.accounts(place)?.clusters.get(place.account)
    }

    fn marks(&self, place: AccountPlace) -> Option<&Marks> {
        self.accounts(place)?.marks.get(place.account)
    }

    /// The account that was asked last, and its place.
    pub fn last(&self) -> Option<(AccountPlace, &Account)> {
        let place = self.progress.try_borrow().ok()?.asked.last().copied()?;
        Some((place, self.account(place)?))
    }

    /// Returns the number of accounts that the request was sent to.
    pub fn asked(&self) -> usize {
        self.progress.try_borrow().map_or(0, |it| it.asked.len())
    }

    /// Whether the last attempt goes by way of the hop.
    pub fn by_hop(&self) -> bool {
        self.progress.try_borrow().is_ok_and(|it| it.by_hop)
    }

    /// Whether the account was asked directly, and the hop refuses what comes after.
    pub fn ends_at_foreign_hop(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.hop_is_foreign && !it.by_hop)
    }

    /// Whether an answer of the account that was asked directly must be noted.
    pub fn must_note_answer(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.note_answer && !it.by_hop)
    }

    /// Whether the end of an answer must be noted.
    pub fn must_note_end(&self) -> bool {
        self.progress.try_borrow().is_ok_and(|it| it.note_end)
    }

    /// The event of an attempt at an account that failed in this way. `told_wait` tells for how many seconds its vendor asks to be left
    /// alone.
    pub fn event(
        &self,
        place: AccountPlace,
        failure: AttemptFailure,
        told_wait: Option<u64>,
        now_us: u64,
    ) -> AccountEvent {
        if failure != AttemptFailure::RateLimited {
            return AccountEvent::of(failure);
        }
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            let failover = self.accounts(place).map(|accounts| &accounts.failover);
            let usual = failover.map(|failover| u64::from(failover.set_aside_seconds));
            let wait = told_wait.or(usual).unwrap_or_default();
            progress.note_limit(now_us.saturating_add(wait.saturating_mul(1_000_000)));
        }
        let model = self.plan.model;
        model.map_or(AccountEvent::Failed, |model| {
            AccountEvent::Limited(model, told_wait)
        })
    }

    /// In how many seconds the first of the accounts that are at their limit may answer again, one at least; `None` where none of
    /// them is.
    pub fn limited_for_s(&self, now_us: u64) -> Option<u64> {
        let until_us = self.progress.try_borrow().ok()?.limited_us?;
        Some(until_us.saturating_sub(now_us).div_ceil(1_000_000).max(1))
    }

    /// Records a failed attempt at an account, or one that was not made; once for an account.
    pub fn record(&self, place: AccountPlace, failed: FailedAttempt) {
        let failed = self.of_place(place, failed);
        if let Ok(mut progress) = self.progress.try_borrow_mut()
            && !progress.failed.iter().any(|known| is_same(known, &failed))
        {
            progress.failed.push(failed);
        }
    }

    /// Records a failed attempt in the place of what is recorded of the same account.
    pub fn correct(&self, place: AccountPlace, failed: FailedAttempt) {
        let failed = self.of_place(place, failed);
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.failed.retain(|known| !is_same(known, &failed));
            progress.failed.push(failed);
        }
    }

    /// The same with its source, where there are several.
    fn of_place(&self, place: AccountPlace, failed: FailedAttempt) -> FailedAttempt {
        let several = self.plan.sources.len() > 1;
        let source = self.source(place).filter(|_| several);
        FailedAttempt {
            source: source.map(|source| source.group.clone()),
            ..failed
        }
    }

    /// The failed attempts, in their order.
    pub fn failed(&self) -> Vec<FailedAttempt> {
        self.progress
            .try_borrow()
            .map_or_else(|_| Vec::new(), |it| it.failed.clone())
    }
}

/// Whether two attempts were at the same account.
fn is_same(one: &FailedAttempt, other: &FailedAttempt) -> bool {
    one.account == other.account && one.source == other.source
}

#[cfg(test)]
mod tests;
