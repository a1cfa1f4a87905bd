//! The gateway's decision without a gateway: its own code, with all that Envoy would give it in memory.

mod asker;
mod place;
mod run;
mod world;

pub use asker::{Asker, Whose};
pub use place::{Place, protocol_of};
pub use run::{BodyChange, Ran, run};
pub use world::World;

use std::rc::Rc;

use trilane::config::Compiled;
use trilane::config::policy::{Group, Policy};
use trilane::config::snapshot::InForce;
use trilane::keys::{KeyDigest, KeyRecord};

/// A document in force.
#[derive(Debug)]
pub struct Gateway {
    /// The policy.
    pub in_force: InForce,
    /// Key records, counters and the clock.
    pub world: World,
}

impl Gateway {
    /// Puts a document in force, with one more key where it is asked as somebody whose key is not known.
    pub fn new(compiled: Compiled, asker: Option<&Asker>) -> Self {
        let mut keys = compiled.keys;
        if let Some((value, Some(record))) = asker.map(|asker| (asker.value(), asker.record())) {
            // In front: what is found first holds.
            keys.insert(0, (KeyDigest::of(value), record.clone()));
        }
        Self {
            // Of a feed nothing is known here. As if it had been read and had no keys: one that the document
            // does not name is none.
            in_force: InForce {
                epoch: 1,
                generation: 7,
                feed: None,
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
