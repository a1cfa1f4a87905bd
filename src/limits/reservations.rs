//! The reservations of one request, from the first of them to their settlement.

use super::estimate::Estimate;
use super::figures::{Figures, SubjectFigures};
use super::limiter::{AdmitError, Consumption, Reservation, Settlement};
use super::subject::Subject;
use crate::money::Amount;

/// Counts requests against the limits of a key and its group.
pub trait Quotas {
    /// Reserves what a request is estimated to use.
    ///
    /// # Errors
    /// The limit that the request would exceed.
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Reservation, AdmitError>;
    /// Raises what a reservation holds of budgets to what the request is expected to cost, now that all of it is known.
    ///
    /// # Errors
    /// The budget that the request would exceed.
    fn extend(&self, reservation: &mut Reservation, charge: Amount) -> Result<(), AdmitError>;
    /// Settles a reservation when the exchange is over.
    fn settle(&self, grant: Reservation, used: Consumption) -> Settlement;
    /// Whether one of the subjects has a budget, or may have one that is not known yet.
    fn has_budget(&self, subjects: &[Subject]) -> bool;
    /// Returns the remainder of the limits.
    fn figures(&self, subjects: &[Subject]) -> Figures;
    /// Returns the remainder of each subject's limits.
    ///
    /// # Errors
    /// The spend elsewhere is not known.
    fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError>;
    /// Returns the remainder after a reservation, as far as that knows it: no counter is read again.
    fn figures_after(&self, reservation: &Reservation) -> Figures;
    /// Whether this Envoy is configured to ask the limits service.
    fn reach_service(&self) -> bool {
        false
    }
}

/// All that a request holds of limits, until [`settle`](Self::settle) takes it: of those of its caller, and of those of the
/// only account of its source.
#[derive(Debug, Default)]
#[must_use]
pub struct Reservations {
    caller: Option<Reservation>,
    account: Option<Box<Reservation>>,
}

impl Reservations {
    /// Reserves what the request is estimated to use of the limits of its caller, whose subjects these are.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub fn reserve(
        &mut self,
        subjects: &[Subject],
        estimate: Estimate,
        quotas: &impl Quotas,
    ) -> Result<(), AdmitError> {
        self.caller = Some(quotas.admit(subjects, estimate)?);
        Ok(())
    }

    /// Reserves what it is estimated to use of the limits of its source's only account.
    ///
    /// # Errors
    /// The limit that it would exceed.
    pub fn reserve_account(
        &mut self,
        account: &Subject,
        estimate: Estimate,
        quotas: &impl Quotas,
    ) -> Result<(), AdmitError> {
        let reserved = quotas.admit(core::slice::from_ref(account), estimate)?;
        self.account = Some(Box::new(reserved));
        Ok(())
    }

    /// Raises what is reserved of the caller's budgets to what the request is expected to cost, now that all of it is known.
    ///
    /// # Errors
    /// The budget that it would exceed, or that cannot count it.
    pub fn extend(&mut self, expected: Estimate, quotas: &impl Quotas) -> Result<(), AdmitError> {
        let Some(reservation) = &mut self.caller else {
            return Ok(());
        };
        match reservation.budgeted() {
            Some(scope) if expected.unpriced => Err(AdmitError::Unpriced(scope)),
            Some(_) => quotas.extend(reservation, expected.charge),
            None => Ok(()),
        }
    }

    /// Returns the remainder of the limits of these subjects, the caller's. Counters are read only where nothing was reserved.
    pub fn figures(&self, subjects: &[Subject], quotas: &impl Quotas) -> Figures {
        let reserved = self.caller.as_ref();
        reserved.map_or_else(|| quotas.figures(subjects), |it| quotas.figures_after(it))
    }

    /// Settles all of it by what the request has used, with the share that it has of an account's limits where it is one of
    /// several. Tells what is spent of the caller's budgets.
    pub fn settle(
        self,
        of_several: Option<Reservation>,
        used: Consumption,
        quotas: &impl Quotas,
    ) -> Settlement {
        let only = self.account.map(|account| *account);
        for account in of_several.into_iter().chain(only) {
            quotas.settle(account, used);
        }
        let caller = self.caller.map(|caller| quotas.settle(caller, used));
        caller.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use core::slice;

    use super::*;
    use crate::limits::{Limiter, Limits, Now, SubjectKind};
    use crate::shared_data::fake::FakeSharedData;

    const NOW: Now = Now::both(1_795_348_800_000_000);

    /// A limiter at one moment.
    struct Counted {
        limiter: Limiter,
        shared: FakeSharedData,
    }

    impl Counted {
        fn under_way(&self, subjects: [&Subject; 3]) -> [u32; 3] {
            subjects.map(|subject| self.limiter.under_way(subject, &self.shared, NOW))
        }
    }

    impl Quotas for Counted {
        fn admit(
            &self,
            subjects: &[Subject],
            estimate: Estimate,
        ) -> Result<Reservation, AdmitError> {
            self.limiter.admit(subjects, estimate, &self.shared, NOW)
        }

        fn extend(&self, reservation: &mut Reservation, charge: Amount) -> Result<(), AdmitError> {
            self.limiter.extend(reservation, charge, &self.shared, NOW)
        }

        fn settle(&self, grant: Reservation, used: Consumption) -> Settlement {
            self.limiter.settle(grant, used, &self.shared, NOW)
        }

        fn has_budget(&self, subjects: &[Subject]) -> bool {
            self.limiter.has_budget(subjects, &self.shared)
        }

        fn figures(&self, subjects: &[Subject]) -> Figures {
            panic!("read again: {subjects:?}")
        }

        fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
            self.limiter.figures_of_each(subjects, &self.shared, NOW)
        }

        fn figures_after(&self, reservation: &Reservation) -> Figures {
            reservation.figures(NOW.steady_us)
        }
    }

    #[test]
    fn one_settlement_gives_back_all_that_a_request_holds() {
        let quotas = Counted {
            limiter: Limiter::new(1),
            shared: FakeSharedData::default(),
        };
        let subject = |id| {
            let mut subject = Subject::new(SubjectKind::Key, id, Limits::default());
            subject.limits.concurrent_requests = Some(1);
            subject
        };
        let [key, only, several] = ["key", "only", "several"].map(subject);
        let all = [&key, &only, &several];
        let (estimate, used) = (Estimate::default(), Consumption::default());
        let mut held = Reservations::default();
        held.reserve(slice::from_ref(&key), estimate, &quotas)
            .unwrap();
        held.reserve_account(&only, estimate, &quotas).unwrap();
        let of_several = quotas.admit(slice::from_ref(&several), estimate).unwrap();
        assert_eq!(quotas.under_way(all), [1, 1, 1]);
        held.figures(slice::from_ref(&key), &quotas);
        let mut refused = Reservations::default();
        assert!(
            refused
                .reserve(slice::from_ref(&key), estimate, &quotas)
                .is_err()
        );
        refused.settle(None, used, &quotas);
        assert_eq!(quotas.under_way(all), [1, 1, 1], "nothing was reserved");
        held.settle(Some(of_several), used, &quotas);
        assert_eq!(quotas.under_way(all), [0, 0, 0]);
    }
}
