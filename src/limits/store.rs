//! The counters in shared data, changed by compare-and-swap.

use super::counters::Counters;
use super::now::Now;
use super::subject::Subject;
use crate::shared_data::{Conflict, SharedData};

/// A version that no value has: a compare-and-swap with it succeeds only where there is no value.
const ABSENT: u32 = u32::MAX;

/// The counters under a name as they stand in shared data, to be changed in place of this version only.
#[derive(Debug, Clone)]
pub(super) struct VersionedCounters {
    pub counters: Counters,
    version: u32,
}

/// The counters of a subject as they are now.
pub(super) fn load(subject: &Subject, shared: &impl SharedData, now: Now) -> VersionedCounters {
    let mut found = read(&subject.name, shared);
    found.counters.advance(&subject.limits, now);
    found
}

fn read(name: &str, shared: &impl SharedData) -> VersionedCounters {
    let (bytes, version) = shared.get(name);
    // A record that cannot be read is damaged: counting begins anew.
    let counters = bytes.and_then(|bytes| Counters::decode(&bytes));
    VersionedCounters {
        counters: counters.unwrap_or_default(),
        version: version.unwrap_or(ABSENT),
    }
}

/// Edits the counters under `name` in a retry loop: at each conflict `edit` is applied to what the other writer left, at
/// most `rounds` times. An error of `edit` writes nothing. The first round takes what is `known`, where that is
/// something.
///
/// # Errors
/// The error of `edit`, or a [`Conflict`] in each round.
pub(super) fn update<T, E: From<Conflict>>(
    name: &str,
    rounds: u32,
    mut known: Option<VersionedCounters>,
    shared: &impl SharedData,
    mut edit: impl FnMut(&mut Counters) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 0..rounds {
        let VersionedCounters {
            mut counters,
            version,
        } = known.take().unwrap_or_else(|| read(name, shared));
        let done = edit(&mut counters)?;
        if shared.set(name, &counters.encode(), Some(version)).is_ok() {
            return Ok(done);
        }
    }
    Err(Conflict.into())
}
