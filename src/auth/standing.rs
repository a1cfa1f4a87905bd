//! The standing of an account key: what its record says at this moment.

use std::rc::Rc;

use super::AccountKey;
use crate::config::policy::Group;
use crate::config::record::{KeyDigest, KeyRecord, Stamped};
use crate::config::snapshot::InForce;

/// What a decision needs from outside: the published key records, and the time.
pub trait World {
    /// The bytes of a key's record, or `None` where none was ever published.
    fn key_record(&self, digest: &KeyDigest) -> Option<Vec<u8>>;
    /// Seconds since the Unix epoch.
    fn now(&self) -> i64;
    /// The policy in force, looked at again: one may have been published since the request came.
    fn in_force_again(&self) -> Option<Rc<InForce>>;
}

/// Where an account key stands.
#[derive(Debug, Clone)]
pub enum Standing {
    /// It may act for this group.
    Good {
        /// The key's record.
        key: KeyRecord,
        /// Its group.
        group: Rc<Group>,
    },
    /// Unknown, removed, disabled or expired. Clients are not told which.
    Refused,
    /// Its record cannot be judged by the policy in force: a publication is under way, or another
    /// release wrote it. The key may be good, so this is never a 401.
    Undecided,
}

/// Looks an account key up.
pub fn standing(key: &AccountKey, in_force: &InForce, world: &impl World) -> Standing {
    let Some(bytes) = world.key_record(&key.digest()) else {
        return Standing::Refused;
    };
    let record = match Stamped::decode(&bytes) {
        Err(_) => return Standing::Undecided,
        Ok(None) => return Standing::Refused,
        Ok(Some(stamped)) if stamped.epoch < in_force.epoch => return Standing::Refused,
        Ok(Some(stamped)) => stamped.record,
    };
    // The clock is asked only where something hangs on it: it is a call out of the filter.
    let expired = record.expires_at.is_some_and(|end| end <= world.now());
    if record.disabled || expired {
        return Standing::Refused;
    }
    // Policy and record are two reads. Where a publication fell between them, the record may name
    // a group that only the newer policy knows.
    let group = in_force.policy.group(&record.group).cloned();
    let group = group.or_else(|| world.in_force_again()?.policy.group(&record.group).cloned());
    match group {
        Some(group) => Standing::Good { group, key: record },
        None => Standing::Undecided,
    }
}
