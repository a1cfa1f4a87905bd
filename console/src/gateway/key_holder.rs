//! The key of a request: by its value, or by a record whose value is not known.

use core::fmt;

use trilane::keys::KeyRecord;

/// The value used for a key of which only the record is known. It never leaves this process.
const STAND_IN: &[u8] = b"a-stand-in-for-a-key-whose-value-is-not-known-here";

/// The holder of a key. `Debug` does not print its value.
pub struct KeyHolder {
    value: Vec<u8>,
    record: Option<KeyRecord>,
    anybody: bool,
}

impl fmt::Debug for KeyHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHolder")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl KeyHolder {
    /// The holder of this key.
    pub fn of_value(value: Vec<u8>) -> Self {
        Self {
            value,
            record: None,
            anybody: false,
        }
    }

    /// The holder of the key with this record, whatever its value is.
    pub fn of_record(record: KeyRecord) -> Self {
        Self {
            value: STAND_IN.to_vec(),
            record: Some(record),
            anybody: false,
        }
    }

    /// The holder of some valid key of this group, without anything of its own.
    pub fn anybody(group: &str) -> Self {
        let record = KeyRecord {
            id: "some-key".into(),
            group: group.into(),
            ..KeyRecord::default()
        };
        Self {
            anybody: true,
            ..Self::of_record(record)
        }
    }

    /// The key's value, or its stand-in.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// The record of a key whose value is not known.
    pub fn record(&self) -> Option<&KeyRecord> {
        self.record.as_ref()
    }

    /// Whether it stands for any key of a group.
    pub fn is_anybody(&self) -> bool {
        self.anybody
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_key() {
        let holder = KeyHolder::of_value(b"tl-secret".to_vec());
        assert!(!format!("{holder:?}").contains("secret"));
    }
}
