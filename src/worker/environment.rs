//! The environment of a request: the clocks, the policy in effect, the key records of the feed and the quotas.

use std::cell::OnceCell;
use std::rc::Rc;

use smol_str::SmolStr;

use super::{Worker, WorkerHost};
use crate::auth::KeyStore;
use crate::config::account::Accounts;
use crate::config::snapshot::InForce;
use crate::exchange::{AccountStates, ClientAddress, Clock, LedgerState, Origin, Trace};
use crate::failover::{
    AccountEvent, KeyMark, Move, Moved, RequestAttempts, States, WayMark, moved,
};
use crate::keys::{KeyDigest, address_of_peer};
use crate::limits::{
    AdmitError, Consumption, Estimate, Figures, Limiter, Now, Quotas, Reservation, Settlement,
    Subject, SubjectFigures,
};
use crate::money::Amount;

/// The environment of one callback, in which each clock is read once at the most.
#[derive(Debug)]
pub struct RequestEnvironment<'a, H> {
    worker: &'a Worker,
    host: &'a H,
    wall_us: OnceCell<u64>,
    steady_us: OnceCell<u64>,
}

impl<'a, H: WorkerHost> RequestEnvironment<'a, H> {
    pub(super) fn new(worker: &'a Worker, host: &'a H) -> Self {
        Self {
            worker,
            host,
            wall_us: OnceCell::new(),
            steady_us: OnceCell::new(),
        }
    }

    fn time(&self) -> Now {
        Now {
            wall_us: self.wall_us(),
            steady_us: self.now_us(),
        }
    }

    /// The policy in effect, or that of ten milliseconds before at the most.
    pub fn in_force(&self) -> Option<Rc<InForce>> {
        let now_us = self.now_us();
        self.worker
            .policy(self.host, |cache| cache.at(now_us, self.host))
    }
}

impl<H: WorkerHost> KeyStore for RequestEnvironment<'_, H> {
    fn record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        self.worker.fed_record(digest, self.host)
    }

    fn now(&self) -> i64 {
        i64::try_from(self.wall_us() / 1_000_000).unwrap_or(i64::MAX)
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        self.worker
            .policy(self.host, |cache| cache.refresh(self.host))
    }
}

impl<H: WorkerHost> Origin for RequestEnvironment<'_, H> {
    fn client_address(&self) -> ClientAddress {
        let peer = self.host.peer();
        let address = peer.and_then(|text| address_of_peer(&text));
        address.map_or(ClientAddress::Unknown, ClientAddress::Known)
    }
}

impl<H: WorkerHost> Quotas for RequestEnvironment<'_, H> {
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Reservation, AdmitError> {
        let limiter = &self.worker.limiter;
        limiter.admit(subjects, estimate, self.host, self.time())
    }

    fn extend(&self, reservation: &mut Reservation, charge: Amount) -> Result<(), AdmitError> {
        let limiter = &self.worker.limiter;
        limiter.extend(reservation, charge, self.host, self.time())
    }

    fn settle(&self, reservation: Reservation, used: Consumption) -> Settlement {
        let limiter = &self.worker.limiter;
        limiter.settle(reservation, used, self.host, self.time())
    }

    fn has_budget(&self, subjects: &[Subject]) -> bool {
        self.worker.limiter.has_budget(subjects, self.host)
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        let limiter = &self.worker.limiter;
        limiter.figures(subjects, self.host, self.time())
    }

    fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
        let limiter = &self.worker.limiter;
        limiter.figures_of_each(subjects, self.host, self.time())
    }

    fn figures_after(&self, reservation: &Reservation) -> Figures {
        reservation.figures(self.now_us())
    }

    fn reach_service(&self) -> bool {
        self.worker.limits_service.get()
    }
}

impl<H: WorkerHost> AccountStates for RequestEnvironment<'_, H> {
    fn account_states(&self, source: &str) -> Rc<States> {
        self.worker
            .requests
            .states(self.now_us(), source, self.host)
    }

    fn note(&self, event: AccountEvent, source: &str, accounts: &Accounts, index: usize) {
        let requests = &self.worker.requests;
        requests.note(event, source, accounts, index, self.host);
    }

    fn note_use(&self, source: &str, key: KeyMark) {
        self.worker.requests.note_use(source, key, self.host);
    }

    fn limiter(&self) -> Option<Rc<Limiter>> {
        Some(Rc::clone(&self.worker.limiter))
    }

    fn under_way(&self, account: &Subject) -> u32 {
        let limiter = &self.worker.limiter;
        limiter.under_way(account, self.host, self.time())
    }

    fn moved(&self, conversation: u64) -> Option<Moved> {
        moved::find(conversation, self.host)
    }

    fn note_move(&self, change: Move, source: &str) {
        let requests = &self.worker.requests;
        requests.note_move(change, source, self.host);
    }

    fn begin_attempts(&self, id: &SmolStr, attempts: &Rc<RequestAttempts>) -> bool {
        self.worker.requests.begin(id, attempts)
    }

    fn has_hop(&self) -> bool {
        self.worker.requests.has_hop()
    }

    fn end_attempts(&self, id: &str) {
        self.worker.requests.end(id);
    }

    fn takes_usage_option(&self, way: WayMark) -> Option<bool> {
        let requests = &self.worker.requests;
        requests.takes_usage_option(way, self.now_us(), self.host)
    }

    fn note_usage_refused(&self, way: WayMark) {
        let requests = &self.worker.requests;
        requests.note_usage_option(way, false, self.host);
    }
}

/// Nobody asks.
impl<H: WorkerHost> Trace for RequestEnvironment<'_, H> {}

impl<H: WorkerHost> LedgerState for RequestEnvironment<'_, H> {
    fn ledger_is_unwritable(&self) -> bool {
        self.worker.ledger.is_unwritable(self.now_us(), self.host)
    }
}

impl<H: WorkerHost> Clock for RequestEnvironment<'_, H> {
    fn now_us(&self) -> u64 {
        *self.steady_us.get_or_init(|| self.host.steady_us())
    }

    fn wall_us(&self) -> u64 {
        *self.wall_us.get_or_init(|| self.host.wall_us())
    }
}
