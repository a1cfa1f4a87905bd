//! What a worker knows of what is published: the policy, seen once for all its streams, and the key records.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use super::host::{self, Host};
use crate::auth::KeyStore;
use crate::config::snapshot::InForce;
use crate::config::view::View;
use crate::exchange::{Clock, Quotas};
use crate::keys::{self, KeyDigest, Namespace};
use crate::limits::{
    AdmitError, Consumption, Estimate, Figures, Limiter, Now, Reservation, Settlement, Subject,
};

/// One view for all streams of a VM.
#[derive(Debug)]
pub(super) struct SharedView {
    view: RefCell<View>,
    limiter: Limiter,
    reach_service: Cell<bool>,
}

impl Default for SharedView {
    fn default() -> Self {
        Self {
            view: RefCell::default(),
            limiter: Limiter::new(host::random()),
            reach_service: Cell::new(false),
        }
    }
}

impl SharedView {
    /// What there is to be seen in one callback.
    pub(super) fn moment(&self) -> Moment<'_> {
        Moment {
            view: self,
            wall_us: OnceCell::new(),
            steady_us: OnceCell::new(),
        }
    }

    fn look(&self, look: impl FnOnce(&mut View) -> Option<Rc<InForce>>) -> Option<Rc<InForce>> {
        // Held for this call only, which calls nothing that could come back here.
        let mut view = self.view.try_borrow_mut().ok()?;
        let in_force = look(&mut view);
        if let Some(complaint) = view.take_complaint() {
            log::error!("the last good policy stays in force: {complaint}");
        }
        in_force
    }

    /// Notes whether the rate limit filters stand behind this one.
    pub(super) fn declare_service(&self, declared: bool) {
        self.reach_service.set(declared);
    }

    /// Renews what this VM holds of concurrent requests.
    pub(super) fn renew_leases(&self) {
        self.limiter.renew(&Host, host::now());
    }
}

/// The view in one callback, in which each clock is read once at the most.
#[derive(Debug)]
pub(super) struct Moment<'a> {
    view: &'a SharedView,
    wall_us: OnceCell<u64>,
    steady_us: OnceCell<u64>,
}

impl Moment<'_> {
    fn wall_us(&self) -> u64 {
        *self.wall_us.get_or_init(host::now_us)
    }

    fn time(&self) -> Now {
        Now {
            wall_us: self.wall_us(),
            steady_us: self.now_us(),
        }
    }

    /// The policy in force.
    pub(super) fn in_force(&self) -> Option<Rc<InForce>> {
        self.view.look(|view| view.at(self.now_us(), &Host))
    }
}

impl KeyStore for Moment<'_> {
    fn record(&self, namespace: Namespace, digest: &KeyDigest) -> Option<Vec<u8>> {
        // Envoy gives a cleared value as absent with a version; both mean that there is no key.
        keys::read(namespace, digest, &Host)
    }

    fn now(&self) -> i64 {
        i64::try_from(self.wall_us() / 1_000_000).unwrap_or(i64::MAX)
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        self.view.look(|view| view.refresh(&Host))
    }
}

impl Quotas for Moment<'_> {
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Reservation, AdmitError> {
        let limiter = &self.view.limiter;
        limiter.admit(subjects, estimate, &Host, self.time())
    }

    fn settle(&self, grant: Reservation, used: Consumption) -> Settlement {
        self.view.limiter.settle(grant, used, &Host, self.time())
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        self.view.limiter.figures(subjects, &Host, self.time())
    }

    fn reach_service(&self) -> bool {
        self.view.reach_service.get()
    }
}

impl Clock for Moment<'_> {
    fn now_us(&self) -> u64 {
        *self.steady_us.get_or_init(host::steady_us)
    }
}
