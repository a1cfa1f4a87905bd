//! The standing of an account key: what its record says at this moment.

use std::rc::Rc;

use super::AccountKey;
use crate::config::feed::record::FedRecord;
use crate::config::policy::{Group, Policy};
use crate::config::record::{KeyDigest, KeyRecord, Named, Unreadable};
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

/// How often a key is looked up, where a publication comes into force between the policy and the record.
const LOOKS: u32 = 4;

/// Looks an account key up: among those that the document names, then among those of its feed.
///
/// Policy and record are two reads, and a publication may fall between them. A record that changes with
/// a policy newer than `in_force` is looked at again with the newer one; where there is none yet, the key
/// is judged as before. So a key is never judged by one document and its group by another.
pub fn standing(key: &AccountKey, in_force: &InForce, world: &impl World) -> Standing {
    let digest = key.digest();
    let mut newer: Option<Rc<InForce>> = None;
    for _ in 0..LOOKS {
        let in_force = newer.as_deref().unwrap_or(in_force);
        let named = match named(&digest, in_force, world) {
            Ok(named) => named,
            Err(Unreadable) => return Standing::Undecided,
        };
        if named.as_ref().is_some_and(|n| n.from > in_force.generation) {
            let again = world.in_force_again();
            if let Some(again) = again.filter(|again| again.generation > in_force.generation) {
                newer = Some(again);
                continue;
            }
        }
        let named = named.and_then(|named| named.with(in_force.epoch, in_force.generation));
        return match find(named, &digest, in_force, world) {
            Ok(Some(record)) => judge(record, in_force, world),
            Ok(None) if in_force.knows_all_keys() => Standing::Refused,
            Ok(None) | Err(Unreadable) => Standing::Undecided,
        };
    }
    Standing::Undecided
}

/// What stands under the name of a key that the document names; nothing is looked for where it names none.
fn named(
    digest: &KeyDigest,
    in_force: &InForce,
    world: &impl World,
) -> Result<Option<Named>, Unreadable> {
    let alone = in_force.feed.is_some_and(|feed| feed.alone);
    let bytes = if alone {
        None
    } else {
        world.key_record(digest)
    };
    bytes.map_or(Ok(None), |bytes| Named::decode(&bytes))
}

/// What is known of a key; `None` where nothing is.
fn find(
    named: Option<KeyRecord>,
    digest: &KeyDigest,
    in_force: &InForce,
    world: &impl World,
) -> Result<Option<Known>, Unreadable> {
    // What the document says of a key holds, whatever a feed says of it.
    if let Some(record) = named {
        return Ok(Some(Known::Named(record)));
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
    // A feed's record may name a group that only a newer policy knows, or prices.
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
