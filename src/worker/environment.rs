//! The environment of a request: the clocks, the policy in effect, the key records and the quotas.

use std::cell::OnceCell;
use std::rc::Rc;

use super::{Worker, WorkerHost};
use crate::auth::World;
use crate::config::feed::bucket;
use crate::config::record::KeyDigest;
use crate::config::snapshot::InForce;
use crate::exchange::{Clock, Quotas};
use crate::limits::{Estimate, Figures, Grant, Now, Refused, Settled, Subject, Used};

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

    fn wall_us(&self) -> u64 {
        *self.wall_us.get_or_init(|| self.host.wall_us())
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

impl<H: WorkerHost> World for RequestEnvironment<'_, H> {
    fn key_record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        // Envoy gives a cleared value as absent with a version; both mean that there is no key.
        self.host.get(&digest.shared_name()).0
    }

    fn fed_record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        bucket::record(digest, self.host)
    }

    fn now(&self) -> i64 {
        i64::try_from(self.wall_us() / 1_000_000).unwrap_or(i64::MAX)
    }

    fn in_force_again(&self) -> Option<Rc<InForce>> {
        self.worker
            .policy(self.host, |cache| cache.refresh(self.host))
    }
}

impl<H: WorkerHost> Quotas for RequestEnvironment<'_, H> {
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Grant, Refused> {
        let limiter = &self.worker.limiter;
        limiter.admit(subjects, estimate, self.host, self.time())
    }

    fn settle(&self, grant: Grant, used: Used) -> Settled {
        let limiter = &self.worker.limiter;
        limiter.settle(grant, used, self.host, self.time())
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        let limiter = &self.worker.limiter;
        limiter.figures(subjects, self.host, self.time())
    }

    fn reach_service(&self) -> bool {
        self.worker.limits_service.get()
    }
}

impl<H: WorkerHost> Clock for RequestEnvironment<'_, H> {
    fn now_us(&self) -> u64 {
        *self.steady_us.get_or_init(|| self.host.steady_us())
    }
}
