//! An attempt by way of the account hop: whether it is made, at which account, and whether another follows it.
//!
//! An [`Attempt`] stands among the upstream filters of the cluster that leads to the hop, once for each attempt.
//!
//! | the attempt | is made | is recorded | is followed by another |
//! |---|---|---|---|
//! | responds below 300 | yes | no | no |
//! | responds with an error of its account, or sends elsewhere, or was judged to fail | yes | yes | within the bounds |
//! | refuses the option that the gateway has put in | yes | no | at the same account, without it |
//! | responds with another error of the request | yes | yes | no |
//! | gets no response | yes | yes | as Envoy decides |
//! | comes when no attempt is left | no | no | no |
//! | comes when no time is left | no | yes | no |
//!
//! An attempt after a failed one waits for the end of the request's body: what its client does with the rest of it shall not
//! meet one account after another.

use std::rc::Rc;

use smol_str::SmolStr;

use super::fault::{MAX_ANSWER, ToldError, ToldFailure};
use super::registry::Registry;
use super::request::{AccountPlace, RequestAttempts};
use super::states::{self, AccountEvent, States};
use crate::body::UsageEdit;
use crate::host::{Clocks, Stats};
use crate::ledger::{AttemptFailure, FailedAttempt};
use crate::shared_data::SharedData;

/// The status of an attempt that is not made because there are to be no more.
pub const NO_MORE_ATTEMPTS: u16 = 408;

/// Bytes of a body for whose end no attempt waits. Where more have come, Envoy must be spared holding them: it holds 16 MiB
/// at most, and one read may bring some more.
const MOST_AWAITED: usize = 12 << 20;

/// The facts that an attempt reads of its host. Each is a host call.
pub trait AttemptHost: Clocks + SharedData + Stats {
    /// The id that Envoy gave the request; legal with its headers.
    fn request_id(&self) -> Option<Vec<u8>>;
    /// The response's status; legal with its headers.
    fn status(&self) -> u16;
    /// The failure of its account that the response was [judged](super::judge) to be; legal with its headers.
    fn judged(&self) -> Option<ToldFailure>;
    /// Returns the seconds for which the vendor [asks](super::told_wait()) to be left alone; legal with the response's headers.
    fn told_wait(&self) -> Option<u64>;
    /// Removes the hop's report from the response and returns it; legal with its headers.
    fn take_hop_report(&self) -> String;
    /// The first bytes of the response's body that is held, so many at most; legal with it.
    fn response_body(&self, most: usize) -> Vec<u8>;
}

/// The treatment of an attempt's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptDecision {
    /// It goes to an account.
    To {
        /// The account's cluster.
        cluster: SmolStr,
        /// The path that the account's own base stands before, where accounts have paths of their own.
        path: Option<Vec<u8>>,
        /// The name that takes the place of the model's in the body, where the account's source calls it otherwise.
        model: Option<SmolStr>,
        /// The change that takes back that the body asks for the usage of its stream, where the account refuses that.
        without_usage: Option<UsageEdit>,
        /// Whether all of the body is held, and its length may be another than the head says.
        is_held: bool,
    },
    /// It waits for more of the request's body.
    Wait,
    /// It is not made. There are to be no more.
    Refused,
}

/// The treatment of an attempt's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseDecision {
    /// It goes on. Envoy decides by it whether another account is asked.
    Passes,
    /// It goes on, as an error after which there is to be no other attempt.
    Final,
    /// It is held until its words are known.
    Held,
    /// It goes nowhere: the account is asked once more.
    AskedAgain,
}

/// One attempt.
#[derive(Debug, Default)]
pub enum Attempt {
    /// It is not made yet, or it is over.
    #[default]
    Idle,
    /// It waits for the end of the body.
    Waiting(Rc<RequestAttempts>),
    /// The response is awaited, from the account at this place.
    Made(Rc<RequestAttempts>, AccountPlace),
}

impl Attempt {
    /// The request's headers have come.
    pub fn on_request(&mut self, registry: &Registry, host: &impl AttemptHost) -> AttemptDecision {
        let id = host.request_id().unwrap_or_default();
        // Without its bounds and its list of failures no attempt would be safe.
        let Some(attempts) = registry.find(&id) else {
            return AttemptDecision::Refused;
        };
        if attempts.awaits_body(&|source| states_of(source, host), host.steady_us()) {
            *self = Self::Waiting(attempts);
            return AttemptDecision::Wait;
        }
        self.make(attempts, false, registry, host)
    }

    /// More of the request's body has come, `held` bytes in all, all of it if `end`. Gives what becomes of an attempt that waited
    /// for it.
    pub fn on_request_body(
        &mut self,
        held: usize,
        end: bool,
        registry: &Registry,
        host: &impl AttemptHost,
    ) -> Option<AttemptDecision> {
        let Self::Waiting(attempts) = self else {
            return None;
        };
        if !attempts.has_whole_body() && held <= MOST_AWAITED {
            return Some(AttemptDecision::Wait);
        }
        let attempts = Rc::clone(attempts);
        Some(self.make(attempts, end, registry, host))
    }

    /// `end`: all of the body is held.
    fn make(
        &mut self,
        attempts: Rc<RequestAttempts>,
        end: bool,
        registry: &Registry,
        host: &impl AttemptHost,
    ) -> AttemptDecision {
        *self = Self::Idle;
        let now_us = host.steady_us();
        let states = |source: &str| states_of(source, host);
        let Some(place) = attempts.next(&states, now_us) else {
            return AttemptDecision::Refused;
        };
        let (Some(account), Some(cluster), Some(source)) = (
            attempts.account(place),
            attempts.cluster(place),
            attempts.source(place),
        ) else {
            return AttemptDecision::Refused;
        };
        let model = attempts.renamed(place);
        let refuses = || Some(!registry.takes_usage_option(attempts.way(place)?, now_us, host)?);
        let without_usage = attempts.without_usage().filter(|_| refuses() == Some(true));
        // All attempts share the head: the length that it says may be that of a body that was changed.
        let is_held = model.is_some() || without_usage.is_some() || attempts.has_changed_body();
        if is_held && !end {
            *self = Self::Waiting(attempts);
            return AttemptDecision::Wait;
        }
        let is_retry = attempts.asked() > 0;
        if is_retry && now_us > attempts.bounds().until_us {
            attempts.record(place, FailedAttempt::not_made(account.id.clone()));
            return AttemptDecision::Refused;
        }
        if !attempts.reserve_next(place, now_us, host) {
            // The next one that is not asked yet; there are fewer each time.
            return self.make(attempts, end, registry, host);
        }
        let of_source = states(&source.group);
        if place.source > 0 && !of_source.know_use(attempts.key(), now_us) {
            states::note_use(&source.group, attempts.key(), host);
        }
        attempts.begin(place, true, &states, now_us);
        if without_usage.is_some() {
            attempts.note_left_out_usage();
        }
        let course = AttemptDecision::To {
            cluster: cluster.clone(),
            path: attempts.path(place).map(<[u8]>::to_vec),
            model,
            without_usage,
            is_held,
        };
        *self = Self::Made(attempts, place);
        course
    }

    /// The response's headers have come; `end` says that no body follows.
    pub fn on_response(
        &mut self,
        end: bool,
        registry: &Registry,
        host: &impl AttemptHost,
    ) -> ResponseDecision {
        if let Self::Made(attempts, _) = self
            && !end
            && attempts.has_put_in_usage()
            && ToldError::may_refuse_usage(host.status())
            && host.judged().is_none()
        {
            return ResponseDecision::Held;
        }
        self.judge(registry, host)
    }

    /// Of a response that is held `size` bytes have come, all of them if `end`.
    pub fn on_response_body(
        &mut self,
        size: usize,
        end: bool,
        registry: &Registry,
        host: &impl AttemptHost,
    ) -> ResponseDecision {
        if !end && size <= MAX_ANSWER {
            return ResponseDecision::Held;
        }
        let words = || ToldError::read(host.status(), &host.response_body(MAX_ANSWER + 1));
        if let Self::Made(attempts, place) = self
            && let Some(way) = attempts.way(*place)
            && words().is_some_and(|told| told.refuses_usage)
        {
            registry.note_usage_option(way, false, host);
            attempts.ask_again();
            *self = Self::Idle;
            return ResponseDecision::AskedAgain;
        }
        self.judge(registry, host)
    }

    /// Decides on a response by its headers.
    fn judge(&mut self, registry: &Registry, host: &impl AttemptHost) -> ResponseDecision {
        let Self::Made(attempts, place) = core::mem::take(self) else {
            return ResponseDecision::Final;
        };
        let report = host.take_hop_report();
        let (status, judged) = (host.status(), host.judged());
        if status < 300 && judged.is_none() {
            note(AccountEvent::Answered, &attempts, place, registry, host);
            if let Some(first) = attempts.sources().first()
                && let Some(change) = attempts.moves(|| host.steady_us())
            {
                registry.note_move(change, &first.source.group, host);
            }
            note_taken_option(&attempts, place, registry, host);
            return ResponseDecision::Passes;
        }
        let Some(account) = attempts.account(place) else {
            return ResponseDecision::Final;
        };
        let failed = match judged {
            Some(told) => told.attempt(account.id.clone(), status),
            None => FailedAttempt::answered(account.id.clone(), status, &report),
        };
        let kind = failed.kind;
        attempts.record(place, failed);
        let now_us = host.steady_us();
        let event = match kind {
            AttemptFailure::Connection if !was_not_made(&report) => attempts.silence(now_us),
            kind => {
                let is_limit = kind == AttemptFailure::RateLimited;
                let told_wait = is_limit.then(|| host.told_wait()).flatten();
                attempts.event(place, kind, told_wait, now_us)
            }
        };
        note(event, &attempts, place, registry, host);
        let next = || attempts.next(&|source| states_of(source, host), now_us);
        let is_final = kind == AttemptFailure::Request
            || next().is_none()
            || now_us > attempts.bounds().until_us;
        match is_final {
            true => ResponseDecision::Final,
            false => ResponseDecision::Passes,
        }
    }

    /// The attempt is over, with or without a response.
    pub fn on_done(&mut self) {
        if let Self::Made(attempts, place) = core::mem::take(self)
            && let Some(account) = attempts.account(place)
        {
            attempts.record(place, FailedAttempt::unanswered(account.id.clone()));
        }
    }
}

/// Whether the hop reports that no connection could be made: nothing of the request had left by then.
fn was_not_made(report: &str) -> bool {
    let flags = report.split(';').nth(1).unwrap_or_default();
    flags.split(',').any(|flag| flag == "UF")
}

fn states_of(source: &str, host: &impl AttemptHost) -> Rc<States> {
    Rc::new(states::read(source, host))
}

/// Notes that an account which has answered takes the option that it was sent.
fn note_taken_option(
    attempts: &RequestAttempts,
    place: AccountPlace,
    registry: &Registry,
    host: &impl AttemptHost,
) {
    if attempts.has_asked_usage()
        && let Some(way) = attempts.way(place)
        && registry.takes_usage_option(way, host.steady_us(), host) != Some(true)
    {
        registry.note_usage_option(way, true, host);
    }
}

fn note(
    event: AccountEvent,
    attempts: &RequestAttempts,
    place: AccountPlace,
    registry: &Registry,
    host: &impl AttemptHost,
) {
    if let (Some(source), Some(accounts)) = (attempts.source(place), attempts.accounts(place)) {
        registry.note(event, &source.group, accounts, place.account, host);
    }
}

#[cfg(test)]
mod tests;
