//! One key of a feed as it stands in shared data.

use crate::config::record::{self, KeyRecord, TERMS, Unreadable, put_terms, take_terms};

pub use crate::config::record::Terms;

/// A record of a key that a feed gives, or gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FedRecord {
    /// By whom and how it was written.
    pub stamp: Stamp,
    /// The key; `None` for one that was removed.
    pub key: Option<KeyRecord>,
}

/// What decides between a record and a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The epoch of the reading that wrote the record, or confirmed it last.
    pub epoch: u64,
    /// The feed's version of what it says.
    pub version: u64,
    /// Whether the key was removed.
    pub removed: bool,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// Records of keys that a document names have format 1.
const FORMAT: u8 = 2;
const DISABLED: u8 = 1;
const REMOVED: u8 = 2;
/// Format and flags, then the epoch.
const EPOCH: core::ops::Range<usize> = 2..10;

/// Writes a record's bytes in place of what stands in `bytes`: format, flags, epoch, version, then
/// the terms of a key that was not removed.
pub fn encode(epoch: u64, version: u64, terms: Option<&Terms<'_>>, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.push(FORMAT);
    bytes.push(match terms {
        None => REMOVED,
        Some(terms) => record::flags(terms),
    });
    bytes.extend_from_slice(&epoch.to_le_bytes());
    bytes.extend_from_slice(&version.to_le_bytes());
    if let Some(terms) = terms {
        put_terms(terms, bytes);
    }
}

impl Stamp {
    /// Whether the key may be used, until it ends.
    pub fn is_good(self) -> bool {
        !self.removed && !self.disabled
    }

    /// Reads the stamp alone; `None` for bytes that no record of this format begins with.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        take_stamp(bytes).map(|(stamp, _)| stamp)
    }

    /// Writes another epoch into a record.
    pub fn confirm(epoch: u64, record: &mut [u8]) {
        if let Some(place) = record.get_mut(EPOCH) {
            place.copy_from_slice(&epoch.to_le_bytes());
        }
    }
}

impl FedRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// [`Unreadable`], which a filter must answer with 503, never with 401: the key may be good.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (stamp, rest) = take_stamp(bytes).ok_or(Unreadable)?;
        if stamp.removed {
            let record = Self { stamp, key: None };
            return rest.is_empty().then_some(record).ok_or(Unreadable);
        }
        let key = take_terms(rest, flags(bytes)).ok_or(Unreadable)?;
        Ok(Self {
            stamp,
            key: Some(key),
        })
    }
}

/// The byte of flags.
fn flags(bytes: &[u8]) -> u8 {
    bytes.get(1).copied().unwrap_or_default()
}

/// The stamp, and what follows.
fn take_stamp(bytes: &[u8]) -> Option<(Stamp, &[u8])> {
    let (&[format, flags], rest) = bytes.split_first_chunk::<2>()?;
    let (epoch, rest) = rest.split_first_chunk::<8>()?;
    let (version, rest) = rest.split_first_chunk::<8>()?;
    let stamp = Stamp {
        epoch: u64::from_le_bytes(*epoch),
        version: u64::from_le_bytes(*version),
        removed: flags == REMOVED,
        disabled: flags & DISABLED != 0,
    };
    let known = stamp.removed || flags & !TERMS == 0;
    (format == FORMAT && known).then_some((stamp, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::record::Stamped;
    use crate::limits::terms::tests::limits;
    use proptest::prelude::*;

    prop_compose! {
        fn record()(
            epoch in any::<u64>(),
            version in any::<u64>(),
            id in "[a-z0-9_]{1,64}",
            group in "[a-z0-9-]{1,64}",
            owner in proptest::option::of("[^\\p{Cc}]{1,32}"),
            expires_at in proptest::option::of(0i64..4_000_000_000),
            disabled in any::<bool>(),
            limits in proptest::option::of(limits()),
            removed in any::<bool>(),
        ) -> FedRecord {
            let limits = limits.map(Box::new);
            let key = KeyRecord { id, group, owner, expires_at, disabled, limits };
            FedRecord {
                stamp: Stamp { epoch, version, removed, disabled: disabled && !removed },
                key: (!removed).then_some(key),
            }
        }
    }

    fn bytes_of(record: &FedRecord) -> Vec<u8> {
        let terms = record.key.as_ref().map(Terms::of);
        // What stood in the buffer before must not matter.
        let mut bytes = vec![7; 30];
        encode(
            record.stamp.epoch,
            record.stamp.version,
            terms.as_ref(),
            &mut bytes,
        );
        bytes
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn records_survive_the_round_trip(record in record(), later in any::<u64>()) {
            let mut bytes = bytes_of(&record);
            prop_assert_eq!(Stamp::peek(&bytes), Some(record.stamp));
            prop_assert_eq!(FedRecord::decode(&bytes), Ok(record.clone()));
            Stamp::confirm(later, &mut bytes);
            let mut confirmed = record;
            confirmed.stamp.epoch = later;
            prop_assert_eq!(FedRecord::decode(&bytes), Ok(confirmed));
        }

        #[test]
        fn a_damaged_record_is_never_taken_for_another(record in record(), cut in 0usize..200, format in 3u8.., flags in prop_oneof![Just(3u8), 6u8..8, Just(10u8), 16u8..]) {
            let bytes = bytes_of(&record);
            if cut < bytes.len() {
                prop_assert_eq!(FedRecord::decode(&bytes[..cut]), Err(Unreadable));
            }
            for (at, value) in [(0, format), (0, 1), (1, flags)] {
                let mut other = bytes.clone();
                other[at] = value;
                prop_assert_eq!(FedRecord::decode(&other), Err(Unreadable));
                prop_assert_eq!(Stamp::peek(&other), None);
            }
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert_eq!(FedRecord::decode(&longer), Err(Unreadable));
            prop_assert!(Stamped::decode(&bytes).is_err(), "a filter that knows format 1 alone");
        }

        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = FedRecord::decode(&bytes);
            Stamp::confirm(1, &mut bytes);
        }
    }
}
