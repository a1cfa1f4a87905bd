//! Shares that a request has of the limits of the accounts that it is sent to.

use super::{AccountPlace, RequestAttempts, Reserve};
use crate::host::Clocks;
use crate::ledger::FailedAttempt;
use crate::limits::{AdmitError, Consumption, Estimate, Now, Reservation, Subject};
use crate::shared_data::SharedData;

/// The time after which an account is asked again whose use could not be counted, in microseconds.
const UNCOUNTED_US: u64 = 1_000_000;

impl RequestAttempts {
    /// Reserves the use of the next account, of an attempt by way of the hop. The attempt before is over.
    pub fn reserve_next(
        &self,
        place: AccountPlace,
        now_us: u64,
        host: &(impl SharedData + Clocks),
    ) -> bool {
        let Some(limiter) = &self.plan.limiter else {
            return true;
        };
        let now = || Now {
            wall_us: host.wall_us(),
            steady_us: host.steady_us(),
        };
        if let Some(over) = self.take_reservation() {
            limiter.settle(over, Consumption::default(), host, now());
        }
        let reserve = |account: &Subject, estimate: Estimate| {
            limiter.admit(core::slice::from_ref(account), estimate, host, now())
        };
        self.reserve(place, &reserve, now_us)
    }

    /// Reserves what an attempt at an account is estimated to use of its limits. Notes an account whose limits do not allow it:
    /// the request asks it no more.
    pub(super) fn reserve(&self, place: AccountPlace, reserve: Reserve<'_>, now_us: u64) -> bool {
        let subject = self
            .accounts(place)
            .and_then(|it| it.subject(place.account));
        let Some(subject) = subject else {
            return true;
        };
        let reserved = reserve(subject, self.plan.estimate);
        let is_reserved = reserved.is_ok();
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            match reserved {
                Ok(reservation) => progress.reserved = Some(reservation),
                Err(error) => {
                    let wait_us = match error {
                        AdmitError::Violation(violation) => violation.wait_us,
                        _ => UNCOUNTED_US,
                    };
                    progress.full.push(place);
                    progress.note_limit(now_us.saturating_add(wait_us));
                }
            }
        }
        if let (false, Some(account)) = (is_reserved, self.account(place)) {
            self.record(place, FailedAttempt::over_limit(account.id.clone()));
        }
        is_reserved
    }

    /// Takes the share of the last account's limits out: its attempt is over, and it is to be settled.
    pub fn take_reservation(&self) -> Option<Reservation> {
        self.progress.try_borrow_mut().ok()?.reserved.take()
    }
}

#[cfg(test)]
mod tests;
