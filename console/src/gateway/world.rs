//! The environment of a request, in memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use time::OffsetDateTime;
use trilane::config::snapshot::InForce;
use trilane::exchange::{
    AccountStates, ClientAddress, Clock, LedgerState, Origin, Quotas, Step, StreamEnd, Trace,
};
use trilane::keys::{KeyDigest, KeyRecord};
use trilane::limits::{
    AdmitError, Consumption, Estimate, Figures, Limiter, Limits, Now, Reservation, Settlement,
    Subject, SubjectFigures,
};
use trilane::money::Amount;
use trilane::shared_data::{Conflict, SharedData};

/// Keys, counters that begin at zero, and the clock.
#[derive(Debug)]
pub struct World {
    keys: Vec<(KeyDigest, KeyRecord)>,
    limiter: Limiter,
    /// The steps of the decision, in the order in which each was begun last.
    steps: RefCell<Vec<Step>>,
    shared: LocalSharedData,
}

impl World {
    /// An environment with these keys.
    pub fn new(keys: Vec<(KeyDigest, KeyRecord)>) -> Self {
        Self {
            keys,
            limiter: Limiter::new(1),
            steps: RefCell::default(),
            shared: LocalSharedData::default(),
        }
    }

    /// The record of a key.
    pub fn key(&self, digest: &KeyDigest) -> Option<&KeyRecord> {
        let mut keys = self.keys.iter();
        keys.find(|(known, _)| known == digest)
            .map(|(_, record)| record)
    }

    /// Takes the steps of the decision out, in the order in which each was begun last.
    pub fn take_steps(&self) -> Vec<Step> {
        self.steps.take()
    }

    /// The limits of the key with this id.
    pub fn limits(&self, id: &str) -> Option<&Limits> {
        self.key_of(id)?.limits.as_deref()
    }

    /// The record of the key with this id.
    pub fn key_of(&self, id: &str) -> Option<&KeyRecord> {
        let mut keys = self.keys.iter();
        keys.find(|(_, record)| record.id == id)
            .map(|(_, record)| record)
    }
}

impl World {
    /// One clock serves for both: the environment is short-lived.
    fn time(&self) -> Now {
        Now {
            wall_us: self.now_us(),
            steady_us: self.now_us(),
        }
    }
}

impl trilane::auth::KeyStore for World {
    fn record(&self, _: &KeyDigest) -> Option<Vec<u8>> {
        None
    }

    fn now(&self) -> i64 {
        OffsetDateTime::now_utc().unix_timestamp()
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        None
    }
}

impl Clock for World {
    fn now_us(&self) -> u64 {
        let nanos = OffsetDateTime::now_utc().unix_timestamp_nanos();
        u64::try_from(nanos.checked_div(1000).unwrap_or_default()).unwrap_or_default()
    }

    fn wall_us(&self) -> u64 {
        self.now_us()
    }
}

/// Nothing is known of accounts here: each is as good as any.
impl AccountStates for World {}

impl Trace for World {
    fn begin(&self, step: Step) {
        let mut steps = self.steps.borrow_mut();
        steps.retain(|known| *known != step);
        steps.push(step);
    }
}

/// Nobody has said from where the request comes.
impl Origin for World {
    fn client_address(&self) -> ClientAddress {
        ClientAddress::Any
    }
}

/// Nor of the ledger.
impl LedgerState for World {}

impl Quotas for World {
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Reservation, AdmitError> {
        self.limiter
            .admit(subjects, estimate, &self.shared, self.time())
    }

    fn extend(&self, reservation: &mut Reservation, charge: Amount) -> Result<(), AdmitError> {
        self.limiter
            .extend(reservation, charge, &self.shared, self.time())
    }

    fn settle(&self, grant: Reservation, used: Consumption) -> Settlement {
        self.limiter.settle(grant, used, &self.shared, self.time())
    }

    fn has_budget(&self, subjects: &[Subject]) -> bool {
        self.limiter.has_budget(subjects, &self.shared)
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        self.limiter.figures(subjects, &self.shared, self.time())
    }

    fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
        self.limiter
            .figures_of_each(subjects, &self.shared, self.time())
    }

    fn figures_after(&self, reservation: &Reservation) -> Figures {
        reservation.figures(self.time().steady_us)
    }

    /// Envoy's configuration is not read here: it is assumed to be right.
    fn reach_service(&self) -> bool {
        true
    }
}

/// The end of a stream that never reached an upstream.
#[derive(Debug)]
pub struct NotSent;

impl StreamEnd for NotSent {
    fn details(&self) -> Vec<u8> {
        Vec::new()
    }

    fn attempts(&self) -> u64 {
        0
    }
}

/// Shared data with one reader and writer.
#[derive(Debug, Default)]
struct LocalSharedData(RefCell<HashMap<String, (Vec<u8>, u32)>>);

impl SharedData for LocalSharedData {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        let values = self.0.borrow();
        let found = values.get(name).cloned();
        found.map_or((None, None), |(value, version)| {
            (Some(value), Some(version))
        })
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        let current = self.get(name).1;
        if version.is_some() && current.is_some() && version != current {
            return Err(Conflict);
        }
        let next = current.unwrap_or_default().wrapping_add(1);
        let mut values = self.0.borrow_mut();
        values.insert(name.to_owned(), (value.to_vec(), next));
        Ok(())
    }
}
