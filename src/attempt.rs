//! The retry policy: whether an attempt at an upstream account is made, recorded as failed, and followed by another.
//!
//! An [`Attempt`] stands among the upstream filters of a source with several accounts, once for each attempt of a
//! request. Envoy chooses its account. It may choose one again that has failed, in another of the source's clusters: then
//! the attempt is turned back at once, and the next one finds another account.
//!
//! | the attempt | is made | is recorded | is followed by another |
//! |---|---|---|---|
//! | responds below 400 | yes | no | no |
//! | responds with an error of its account | yes | yes | within the bounds |
//! | responds with an error of the request | yes | yes | no |
//! | gets no response | yes | yes | as Envoy decides |
//! | is for an account that has failed | no | no | yes |
//! | comes when no attempt is left | no | no | no |
//! | comes when no time is left | no | yes | no |

use crate::exchange::Bounds;
use crate::host::Clocks;
use crate::ledger::{AttemptFailure, FailedAttempt};

/// What an attempt reads of its host, and leaves there. Each is a host call.
pub trait AttemptHost: Clocks {
    /// The header with the [`Bounds`]; legal with the request's headers.
    fn bounds(&self) -> Option<Vec<u8>>;
    /// The failed attempts of this request so far.
    fn failed_attempts(&self) -> Vec<u8>;
    /// Replaces them.
    fn set_failed_attempts(&self, failed: &[u8]);
    /// The id of the account that Envoy chose.
    fn account(&self) -> Option<String>;
    /// The response's status; legal with its headers.
    fn status(&self) -> u16;
    /// What the hop to the account reports of its response, taken off the response; legal with its headers.
    fn take_hop_report(&self) -> String;
}

/// What becomes of an attempt's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// It is the first attempt: it goes to its account, unchanged.
    First,
    /// It goes to its account.
    Again,
    /// The hop turns it back, since its account has failed before.
    ///
    /// Not this filter: Envoy makes no other attempt after a local reply of its own filters.
    TurnedBack,
    /// It is not made. There are to be no more.
    Refused,
}

/// One attempt.
#[derive(Debug, Default)]
pub struct Attempt {
    bounds: Option<Bounds>,
    /// How many attempts of the request failed before this one.
    failed_before: usize,
    progress: Progress,
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Progress {
    /// It awaits its account's response.
    #[default]
    Sent,
    /// It awaits the hop's.
    TurnedBack,
    /// Nothing more is to be recorded of it.
    Concluded,
}

impl Attempt {
    /// The request's headers have come.
    pub fn on_request(&mut self, host: &impl AttemptHost) -> Dispatch {
        self.bounds = host.bounds().and_then(|text| Bounds::read(&text));
        let handed = host.failed_attempts();
        if handed.is_empty() {
            return Dispatch::First;
        }
        let failed = FailedAttempt::parse_list(&handed);
        let account = host.account().unwrap_or_default();
        self.failed_before = failed.len();
        let may_retry = self.may_retry(self.failed_before);
        if !may_retry || self.is_late(host) {
            // After an attempt without a response Envoy makes another by itself, whatever the bounds are.
            if may_retry {
                record(&FailedAttempt::not_made(account), host);
            }
            self.progress = Progress::Concluded;
            return Dispatch::Refused;
        }
        if failed.iter().any(|one| one.account == account) {
            self.progress = Progress::TurnedBack;
            return Dispatch::TurnedBack;
        }
        Dispatch::Again
    }

    /// The response's headers have come. Gives whether another attempt is to be made.
    pub fn on_response(&mut self, host: &impl AttemptHost) -> bool {
        let progress = core::mem::replace(&mut self.progress, Progress::Concluded);
        if progress == Progress::Concluded {
            return false;
        }
        let report = host.take_hop_report();
        if progress == Progress::TurnedBack {
            return true;
        }
        let status = host.status();
        if status < 400 {
            return false;
        }
        let account = host.account().unwrap_or_default();
        let failed = FailedAttempt::answered(account, status, &report);
        record(&failed, host);
        let may_retry = self.may_retry(self.failed_before.saturating_add(1));
        failed.kind != AttemptFailure::Request && may_retry && !self.is_late(host)
    }

    /// The attempt is over, with or without a response.
    pub fn on_done(&mut self, host: &impl AttemptHost) {
        if self.progress == Progress::Sent {
            let account = host.account().unwrap_or_default();
            record(&FailedAttempt::unanswered(account), host);
        }
    }

    /// Whether there may be another attempt after so many failed ones.
    fn may_retry(&self, failed: usize) -> bool {
        self.bounds.is_none_or(|bounds| failed < bounds.attempts)
    }

    /// Whether the time for further attempts is over.
    fn is_late(&self, clocks: &impl Clocks) -> bool {
        self.bounds
            .is_some_and(|bounds| clocks.steady_us() > bounds.until_us)
    }
}

/// Leaves a failed attempt for the exchange's record.
fn record(failed: &FailedAttempt, host: &impl AttemptHost) {
    host.set_failed_attempts(&failed.append_to(host.failed_attempts()));
}

#[cfg(test)]
mod tests;
