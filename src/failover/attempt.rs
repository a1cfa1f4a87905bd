//! An attempt by way of the account hop: whether it is made, at which account, and whether another follows it.
//!
//! An [`Attempt`] stands among the upstream filters of the cluster that leads to the hop, once for each attempt.
//!
//! | the attempt | is made | is recorded | is followed by another |
//! |---|---|---|---|
//! | responds below 400 | yes | no | no |
//! | responds with an error of its account | yes | yes | within the bounds |
//! | responds with an error of the request | yes | yes | no |
//! | gets no response | yes | yes | as Envoy decides |
//! | comes when no attempt is left | no | no | no |
//! | comes when no time is left | no | yes | no |

use std::rc::Rc;

use smol_str::SmolStr;

use super::registry::Registry;
use super::request::RequestAttempts;
use super::states::{self, AccountEvent};
use crate::host::{Clocks, Stats};
use crate::ledger::{AttemptFailure, FailedAttempt};
use crate::shared_data::SharedData;

/// The status of an attempt that is not made because there are to be no more.
pub const NO_MORE_ATTEMPTS: u16 = 408;

/// What an attempt reads of its host. Each is a host call.
pub trait AttemptHost: Clocks + SharedData + Stats {
    /// The id that Envoy gave the request; legal with its headers.
    fn request_id(&self) -> Option<Vec<u8>>;
    /// The response's status; legal with its headers.
    fn status(&self) -> u16;
    /// What the hop reports of the response, taken off the response; legal with its headers.
    fn take_hop_report(&self) -> String;
}

/// What becomes of an attempt's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Course {
    /// It goes to an account.
    To {
        /// The account's cluster.
        cluster: SmolStr,
        /// The path that the account's own base stands before, where accounts have paths of their own.
        path: Option<Vec<u8>>,
    },
    /// It is not made. There are to be no more.
    Refused,
}

/// One attempt.
#[derive(Debug, Default)]
pub struct Attempt(Option<Awaited>);

/// An attempt whose response is awaited.
#[derive(Debug)]
struct Awaited {
    attempts: Rc<RequestAttempts>,
    index: usize,
}

impl Attempt {
    /// The request's headers have come.
    pub fn on_request(&mut self, registry: &Registry, host: &impl AttemptHost) -> Course {
        let id = host.request_id().unwrap_or_default();
        // Without its bounds and its list of failures no attempt would be safe.
        let Some(attempts) = registry.find(&id) else {
            return Course::Refused;
        };
        let Some(index) = next(&attempts, host) else {
            return Course::Refused;
        };
        let (Some(account), Some(cluster)) = (attempts.account(index), attempts.cluster(index))
        else {
            return Course::Refused;
        };
        let is_retry = attempts.asked() > 0;
        if is_retry && host.steady_us() > attempts.bounds().until_us {
            attempts.record(FailedAttempt::not_made(account.id.clone()));
            return Course::Refused;
        }
        attempts.ask(index, true);
        let course = Course::To {
            cluster: cluster.clone(),
            path: attempts.path().map(<[u8]>::to_vec),
        };
        self.0 = Some(Awaited { attempts, index });
        course
    }

    /// The response's headers have come. Gives whether they are an error after which there is to be no other attempt.
    pub fn on_response(&mut self, registry: &Registry, host: &impl AttemptHost) -> bool {
        let Some(Awaited { attempts, index }) = self.0.take() else {
            return true;
        };
        let report = host.take_hop_report();
        let status = host.status();
        if status < 400 {
            note(AccountEvent::Answered, &attempts, index, registry, host);
            return false;
        }
        let Some(account) = attempts.account(index) else {
            return true;
        };
        let failed = FailedAttempt::answered(account.id.clone(), status, &report);
        let kind = failed.kind;
        attempts.record(failed);
        note(AccountEvent::of(kind), &attempts, index, registry, host);
        kind == AttemptFailure::Request
            || next(&attempts, host).is_none()
            || host.steady_us() > attempts.bounds().until_us
    }

    /// The attempt is over, with or without a response.
    pub fn on_done(&mut self) {
        if let Some(Awaited { attempts, index }) = self.0.take()
            && let Some(account) = attempts.account(index)
        {
            attempts.record(FailedAttempt::unanswered(account.id.clone()));
        }
    }
}

/// The account to ask next.
fn next(attempts: &RequestAttempts, host: &impl AttemptHost) -> Option<usize> {
    let states = states::read(&attempts.source().group, host);
    attempts.next(&states, host.steady_us())
}

fn note(
    event: AccountEvent,
    attempts: &RequestAttempts,
    index: usize,
    registry: &Registry,
    host: &impl AttemptHost,
) {
    if let Some(accounts) = attempts.accounts() {
        let source = &attempts.source().group;
        registry.note(event, source, accounts, index, host);
    }
}

#[cfg(test)]
mod tests;
