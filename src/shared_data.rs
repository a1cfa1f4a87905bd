//! Envoy's shared data, as a seam: what publishing and reading the configuration, and counting, need of it.

/// The time for which a value that was read is used without reading it again, in microseconds.
///
/// Envoy answers that read through the VM's own allocator, which costs as much as two or three other host calls. A worker
/// with less than a hundred requests a second reads for each of them.
pub const FRESH_US: u64 = 10_000;

/// Whether something that was read at one moment of the steady clock may be used at another.
pub fn is_fresh(read_us: u64, now_us: u64) -> bool {
    // A clock that was set back must not keep a reading for longer.
    now_us
        .checked_sub(read_us)
        .is_some_and(|since| since < FRESH_US)
}

/// The key-value store that all VMs of one `vm_id` in an Envoy share.
pub trait SharedData {
    /// The value and its version; no value where the name was never set, an empty one where it was
    /// cleared (a name never goes away).
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>);

    /// Sets a value; with a version, only if that is still the current one.
    ///
    /// # Errors
    /// [`Conflict`] where somebody else has set the value since.
    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict>;
}

/// The failure of a compare-and-swap: another writer was faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict;

/// The maximum number of rounds of [`update`].
const ROUNDS: usize = 8;

/// Changes a value by compare-and-swap: `edit` gets the bytes, none where there is no value, and gives those that take their
/// place, or `None` where nothing changes. Gives whether the value was changed; it is not where others were faster in every
/// round.
pub fn update(
    name: &str,
    shared: &impl SharedData,
    mut edit: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> bool {
    for _ in 0..ROUNDS {
        let (bytes, version) = shared.get(name);
        let Some(value) = edit(&bytes.unwrap_or_default()) else {
            return false;
        };
        if shared.set(name, &value, version).is_ok() {
            return true;
        }
    }
    false
}

#[cfg(test)]
pub(crate) mod fake {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;

    /// Shared data in a map, with a log of the names written.
    #[derive(Debug, Default)]
    pub(crate) struct FakeSharedData {
        pub(crate) values: RefCell<HashMap<String, (Vec<u8>, u32)>>,
        pub(crate) written: RefCell<Vec<String>>,
    }

    impl SharedData for FakeSharedData {
        fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
            self.values
                .borrow()
                .get(name)
                .map_or((None, None), |(v, version)| {
                    (Some(v.clone()), Some(*version))
                })
        }

        fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
            let current = self.get(name).1;
            if version.is_some() && current.is_some() && version != current {
                return Err(Conflict);
            }
            self.written.borrow_mut().push(name.to_owned());
            let next = current.unwrap_or(0) + 1;
            self.values
                .borrow_mut()
                .insert(name.to_owned(), (value.to_vec(), next));
            Ok(())
        }
    }
}
