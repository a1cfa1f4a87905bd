//! Counting of attempts against the limits of accounts.

use crate::host::Clocks;
use crate::limits::{AdmitError, Consumption, Estimate, Limiter, Now, Reservation, Subject};
use crate::shared_data::SharedData;

/// Counts attempts against the limits of accounts.
pub trait AccountQuotas {
    /// Reserves what an attempt at an account is estimated to use.
    ///
    /// # Errors
    /// The limit that it would exceed.
    fn reserve(&self, account: &Subject, estimate: Estimate) -> Result<Reservation, AdmitError>;
    /// Settles a reservation when its attempt is over.
    fn settle(&self, reservation: Reservation, used: Consumption);
}

/// A limiter at the time of a host.
#[derive(Debug)]
pub(super) struct HostQuotas<'a, H> {
    pub limiter: &'a Limiter,
    pub host: &'a H,
}

impl<H: Clocks> HostQuotas<'_, H> {
    fn now(&self) -> Now {
        Now {
            wall_us: self.host.wall_us(),
            steady_us: self.host.steady_us(),
        }
    }
}

impl<H: Clocks + SharedData> AccountQuotas for HostQuotas<'_, H> {
    fn reserve(&self, account: &Subject, estimate: Estimate) -> Result<Reservation, AdmitError> {
        let subjects = core::slice::from_ref(account);
        self.limiter
            .admit(subjects, estimate, self.host, self.now())
    }

    fn settle(&self, reservation: Reservation, used: Consumption) {
        self.limiter
            .settle(reservation, used, self.host, self.now());
    }
}
