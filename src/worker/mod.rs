//! State that one VM of the gateway holds for all its requests, and its root: it renews the VM's leases of concurrent
//! requests, and loads the configuration where no root of a higher rank does.

use core::time::Duration;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::config::policy::GroupKind;
use crate::config::snapshot::InForce;
use crate::config::snapshot_cache::SnapshotCache;
use crate::failover::{self, Registry};
use crate::host::{CallId, Clocks, FetchResponse, Log, Peer, Stats};
use crate::keys::{self, KeyDigest};
use crate::limits::lease::RENEWAL_MS;
use crate::limits::{Limiter, Now};
use crate::loader::lease::LoaderRole;
use crate::loader::plugin_config::PluginConfig;
use crate::loader::{LONGEST_TICK_MS, Loader, LoaderHost};
use crate::metrics::EjectionStats;
use crate::shared_data::SharedData;

mod environment;
mod key_cache;
mod ledger_cache;

pub use environment::RequestEnvironment;

use key_cache::KeyCache;
use ledger_cache::LedgerCache;

/// The functions of the host that requests need.
pub trait WorkerHost: SharedData + Clocks + Log + Peer + Stats {}

impl<T: SharedData + Clocks + Log + Peer + Stats> WorkerHost for T {}

/// The state that one VM holds for all its requests.
#[derive(Debug)]
pub struct Worker {
    snapshots: RefCell<SnapshotCache>,
    keys: RefCell<KeyCache>,
    limiter: Rc<Limiter>,
    /// The requests to sources with several accounts.
    requests: Rc<Registry>,
    /// Whether the rate limit filters follow the gateway's.
    limits_service: Cell<bool>,
    ledger: LedgerCache,
}

impl Worker {
    /// For the VM with the number `id`, which no other VM has; all roots of the VM share `requests`.
    pub fn new(id: u64, requests: Rc<Registry>) -> Self {
        Self {
            snapshots: RefCell::default(),
            keys: RefCell::default(),
            limiter: Rc::new(Limiter::new(id)),
            requests,
            limits_service: Cell::new(false),
            ledger: LedgerCache::default(),
        }
    }

    /// The environment of a request in one callback.
    pub fn environment<'a, H: WorkerHost>(&'a self, host: &'a H) -> RequestEnvironment<'a, H> {
        RequestEnvironment::new(self, host)
    }

    /// Tells operators which accounts are ejected.
    fn tell_ejections(
        &self,
        stats: &mut EjectionStats,
        host: &(impl SharedData + Clocks + Log + Stats),
    ) {
        let Some(in_force) = self.policy(host, |cache| cache.at(host.steady_us(), host)) else {
            return;
        };
        for group in in_force.policy.groups() {
            if let GroupKind::Source(source) = &group.kind
                && let Some(accounts) = source.alternatives()
            {
                failover::tell_ejections(&source.group, accounts, stats, host);
            }
        }
    }

    /// The bytes of a key's record of the feed, or those of ten milliseconds before at the most.
    fn fed_record(&self, digest: &KeyDigest, host: &impl SharedData) -> Option<Vec<u8>> {
        let read = || keys::read(digest, host);
        // Held for this call only, and nothing that it calls comes back here.
        match (self.snapshots.try_borrow(), self.keys.try_borrow_mut()) {
            (Ok(snapshots), Ok(mut cache)) => cache.record(snapshots.reading(), digest, read),
            _ => read(),
        }
    }

    fn policy(
        &self,
        host: &impl Log,
        read: impl FnOnce(&mut SnapshotCache) -> Option<Rc<InForce>>,
    ) -> Option<Rc<InForce>> {
        // Held for this call only, and nothing that it calls comes back here.
        let mut cache = self.snapshots.try_borrow_mut().ok()?;
        let policy = read(&mut cache);
        if let Some(error) = cache.take_error() {
            let line = format_args!("the last good policy stays in force: {error}");
            host.log(log::Level::Error, line);
        }
        policy
    }
}

/// The root of one VM of the gateway.
#[derive(Debug)]
pub struct WorkerRoot {
    worker: Rc<Worker>,
    /// `None` where other roots load.
    loader: Option<Loader>,
    /// The time at which the leases of concurrent requests were last renewed, in milliseconds of the steady clock.
    renewed_ms: u64,
    ejections: EjectionStats,
}

impl WorkerRoot {
    /// For the VM with the number `id`, which no other VM has; all roots of the VM share `requests`.
    pub fn new(id: u64, requests: Rc<Registry>) -> Self {
        Self {
            worker: Rc::new(Worker::new(id, requests)),
            loader: None,
            renewed_ms: 0,
            ejections: EjectionStats::default(),
        }
    }

    /// Returns the state that this VM holds for its requests.
    pub fn worker(&self) -> Rc<Worker> {
        Rc::clone(&self.worker)
    }

    /// Takes a plugin configuration; gives whether it is accepted.
    pub fn configure(&mut self, configuration: &[u8], host: &impl LoaderHost) -> bool {
        let config = PluginConfig::parse(configuration);
        let limits_service = config.is_ok_and(|config| config.limits_service);
        self.worker.limits_service.set(limits_service);
        let loader = Loader::configure(configuration, LoaderRole::Fallback, host);
        let accepted = loader.is_ok();
        self.loader = loader.unwrap_or_default();
        if self.loader.is_none() {
            host.tick_every(Duration::from_millis(LONGEST_TICK_MS));
        }
        accepted
    }

    /// A tick has come.
    pub fn on_tick(&mut self, host: &impl LoaderHost) {
        let now_ms = host.steady_ms();
        // A loader ticks more often, and a tick may come a little early.
        if now_ms.abs_diff(self.renewed_ms) >= RENEWAL_MS / 2 {
            self.renewed_ms = now_ms;
            let now = Now {
                wall_us: host.wall_us(),
                steady_us: host.steady_us(),
            };
            self.worker.limiter.renew(host, now);
        }
        self.worker.tell_ejections(&mut self.ejections, host);
        if let Some(loader) = &mut self.loader {
            loader.on_tick(host);
        }
    }

    /// The response to a call of the loader has come; `None` for a call that failed.
    pub fn on_response(
        &mut self,
        call: CallId,
        response: Option<&impl FetchResponse>,
        host: &impl LoaderHost,
    ) {
        if let Some(loader) = &mut self.loader {
            loader.on_response(call, response, host);
        }
    }
}

#[cfg(test)]
mod tests;
