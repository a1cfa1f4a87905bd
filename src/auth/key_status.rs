//! The status of an API key: what its record says now.

use std::rc::Rc;

use super::ApiKey;
use crate::config::policy::{Group, Policy};
use crate::config::snapshot::InForce;
use crate::keys::{KeyDigest, KeyLookup, KeyRecord, Namespace, lookup};

/// The facts that authentication needs from outside: the published key records, the time, and a newer policy.
pub trait KeyStore {
    /// The bytes of a key's record, or `None` where none was ever published ([`crate::keys::read`]).
    fn record(&self, namespace: Namespace, digest: &KeyDigest) -> Option<Vec<u8>>;
    /// Seconds since the Unix epoch.
    fn now(&self) -> i64;
    /// The policy in force, read again: one may have been published since the request came.
    fn latest_policy(&self) -> Option<Rc<InForce>>;
}

/// The status of an API key.
#[derive(Debug, Clone)]
pub enum KeyStatus {
    /// It may act for this group.
    Valid {
        /// The key's record.
        key: KeyRecord,
        /// The group that the key acts for.
        group: Rc<Group>,
    },
    /// Disabled or expired. To clients it is as [`Self::Invalid`].
    Ended(Box<KeyRecord>),
    /// Unknown or revoked.
    Invalid,
    /// The policy in force cannot tell: a publication is under way, another release wrote the record, or the
    /// first full sync of the feed is not complete. The key may be valid, so this is never a 401.
    Undecided,
}

/// The maximum number of lookups of a key, where a publication takes effect between the reads of policy and record.
const LOOKUPS: u32 = 4;

/// Looks an API key up and tells its status.
///
/// Policy and record are two reads, and a publication may fall between them. A record that changes with
/// a policy newer than `in_force` is looked up again with the newer one; where there is none yet, the
/// record is read as it was before. So a key is never decided by one document and its group by another.
pub fn authenticate(key: &ApiKey, in_force: &InForce, store: &impl KeyStore) -> KeyStatus {
    let digest = key.digest();
    let mut newer: Option<Rc<InForce>> = None;
    for _ in 0..LOOKUPS {
        let in_force = newer.as_deref().unwrap_or(in_force);
        let read = |namespace, digest: &KeyDigest| store.record(namespace, digest);
        let lookup = lookup(&digest, &in_force.scope(), read);
        if lookup.changes {
            let latest = store.latest_policy();
            if let Some(latest) = latest.filter(|latest| latest.generation > in_force.generation) {
                newer = Some(latest);
                continue;
            }
        }
        return match lookup.state {
            KeyLookup::Found { key, .. } => status(key, in_force, store),
            KeyLookup::Revoked => KeyStatus::Invalid,
            KeyLookup::Unknown if in_force.knows_all_keys() => KeyStatus::Invalid,
            KeyLookup::Unknown | KeyLookup::Unreadable => KeyStatus::Undecided,
        };
    }
    KeyStatus::Undecided
}

/// The status of a key that has a record.
fn status(key: KeyRecord, in_force: &InForce, store: &impl KeyStore) -> KeyStatus {
    // The clock is read only where it matters: it is a call out of the filter.
    let expired = key.expires_at.is_some_and(|end| end <= store.now());
    if key.disabled || expired {
        return KeyStatus::Ended(Box::new(key));
    }
    // A feed may name a group that only a newer policy has.
    let group_in = |policy: &Policy| policy.group(&key.group).cloned();
    let group = group_in(&in_force.policy).or_else(|| group_in(&store.latest_policy()?.policy));
    match group {
        Some(group) => KeyStatus::Valid { group, key },
        None => KeyStatus::Undecided,
    }
}

#[cfg(test)]
mod tests;
