//! The standing of an account key: what its record says at this moment.

use std::rc::Rc;

use super::AccountKey;
use crate::config::feed::record::FedRecord;
use crate::config::policy::{Group, Policy};
use crate::config::record::{KeyDigest, KeyRecord, Stamped, Unreadable};
use crate::config::snapshot::InForce;

/// What a decision needs from outside: the published key records, and the time.
pub trait World {
    /// The bytes of the record of a key that the document names, or `None` where none was ever
    /// published.
    fn key_record(&self, digest: &KeyDigest) -> Option<Vec<u8>>;
    /// The same of a key that a feed has given.
    fn fed_record(&self, digest: &KeyDigest) -> Option<Vec<u8>>;
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
    /// It cannot be judged by the policy in force: a publication is under way, another release wrote
    /// the record, the feed has not been read to its end yet, or it gives the key a budget that the
    /// group's prices do not cover. The key may be good, so this is never a 401.
    Undecided,
}

/// Looks an account key up: among those that the document names, then among those of its feed.
pub fn standing(key: &AccountKey, in_force: &InForce, world: &impl World) -> Standing {
    match find(&key.digest(), in_force, world) {
        Ok(Some(record)) => judge(record, in_force, world),
        Ok(None) if in_force.knows_all_keys() => Standing::Refused,
        Ok(None) | Err(Unreadable) => Standing::Undecided,
    }
}

/// What is known of a key; `None` where nothing is.
fn find(
    digest: &KeyDigest,
    in_force: &InForce,
    world: &impl World,
) -> Result<Option<Known>, Unreadable> {
    let alone = in_force.feed.is_some_and(|feed| feed.alone);
    if !alone && let Some(bytes) = world.key_record(digest) {
        let named = Stamped::decode(&bytes)?.filter(|record| record.epoch >= in_force.epoch);
        // What the document says of a key holds, whatever a feed says of it.
        if let Some(named) = named {
            return Ok(Some(Known::Named(named.record)));
        }
    }
    let Some(feed) = in_force.feed else {
        return Ok(None);
    };
    let Some(bytes) = world.fed_record(digest) else {
        return Ok(None);
    };
    let fed = FedRecord::decode(&bytes)?;
    if fed.stamp.epoch < feed.floor {
        return Ok(None);
    }
    Ok(Some(fed.key.map_or(Known::Removed, Known::Fed)))
}

/// A key that something is known of.
enum Known {
    /// The document names it, with which its budget was checked.
    Named(KeyRecord),
    /// A feed has given it, which knows nothing of prices.
    Fed(KeyRecord),
    Removed,
}

fn judge(known: Known, in_force: &InForce, world: &impl World) -> Standing {
    let (record, fed) = match known {
        Known::Named(record) => (record, false),
        Known::Fed(record) => (record, true),
        Known::Removed => return Standing::Refused,
    };
    // The clock is asked only where something hangs on it: it is a call out of the filter.
    let expired = record.expires_at.is_some_and(|end| end <= world.now());
    if record.disabled || expired {
        return Standing::Refused;
    }
    // Policy and record are two reads. Where a publication fell between them, the record may name
    // a group that only the newer policy knows, or prices.
    let has_budget = record.limits.as_ref().is_some_and(|l| l.budget.is_set());
    let needs_prices = fed && has_budget;
    let group_in = |policy: &Policy| {
        let group = policy.group(&record.group);
        group.filter(|group| group.priced || !needs_prices).cloned()
    };
    let group = group_in(&in_force.policy).or_else(|| group_in(&world.in_force_again()?.policy));
    match group {
        Some(group) => Standing::Good { group, key: record },
        None => Standing::Undecided,
    }
}

#[cfg(test)]
mod tests;
