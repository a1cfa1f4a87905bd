//! Runs the gateway's own code without Envoy: its environment is in memory.

mod key_holder;
mod place;
mod run;
mod world;

pub use key_holder::KeyHolder;
pub use place::{CredentialPlace, protocol_of};
pub use run::{BodyChange, RequestResult, run};
pub use world::World;

use std::rc::Rc;

use trilane::config::Compiled;
use trilane::config::policy::{Group, Policy};
use trilane::config::snapshot::InForce;
use trilane::keys::{KeyDigest, KeyRecord, KeyTable};

/// A gateway with one document in force.
#[derive(Debug)]
pub struct LocalGateway {
    /// The policy and the keys.
    pub in_force: InForce,
    /// The keys by id, counters and clock.
    pub world: World,
}

impl LocalGateway {
    /// Puts a document in force, and adds a key if the holder's own value is not known.
    pub fn new(compiled: Compiled, asker: Option<&KeyHolder>) -> Self {
        let mut keys = compiled.keys;
        if let Some((value, Some(record))) = asker.map(|asker| (asker.value(), asker.record())) {
            // In front: the first match counts.
            keys.insert(0, (KeyDigest::of(value), record.clone()));
        }
        Self {
            // The feed is not read here: as if it had no keys, so a key that is not in the document is unknown.
            in_force: InForce {
                feed: None,
                keys: KeyTable::of(&keys),
                policy: compiled.policy,
            },
            world: World::new(keys),
        }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.in_force.policy
    }

    /// The record of a key, by its value.
    pub fn record(&self, value: &[u8]) -> Option<&KeyRecord> {
        self.world.key(&KeyDigest::of(value))
    }

    /// The group of a key, by its value.
    pub fn group(&self, value: &[u8]) -> Option<&Rc<Group>> {
        self.policy().group(&self.record(value)?.group)
    }
}
