//! The status of an API key: what its record says now.

use std::rc::Rc;

use super::ApiKey;
use crate::config::policy::{Group, Policy};
use crate::config::snapshot::InForce;
use crate::keys::{KeyDigest, KeyLookup, KeyRecord, lookup};

/// The facts that authentication needs from outside: the feed's key records, the time, and a newer policy.
pub trait KeyStore {
    /// The bytes of a key's record of the feed, or `None` where there is none ([`crate::keys::read`]).
    fn record(&self, digest: &KeyDigest) -> Option<Vec<u8>>;
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
    /// The policy in force cannot tell: the feed names a group that it does not have yet, another release wrote the record,
    /// or the first full sync of the feed is not complete. The key may be valid, so this is never a 401.
    Undecided,
}

/// Looks an API key up and tells its status.
///
/// A key of the document stands in the same value as its policy, so it is never decided by one document and its group by
/// another.
pub fn authenticate(key: &ApiKey, in_force: &InForce, store: &impl KeyStore) -> KeyStatus {
    let fed = |digest: &KeyDigest| store.record(digest);
    match lookup(&key.digest(), &in_force.keys, in_force.feed, fed) {
        KeyLookup::Found(key) => status(key, in_force, store),
        KeyLookup::Revoked => KeyStatus::Invalid,
        KeyLookup::Unknown if in_force.knows_all_keys() => KeyStatus::Invalid,
        KeyLookup::Unknown | KeyLookup::Unreadable => KeyStatus::Undecided,
    }
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
