//! The counters in shared data, changed by compare-and-swap.

use super::counters::Counters;
use super::now::Now;
use super::subject::Subject;
use crate::shared_data::{Conflict, SharedData};

/// A version that no value has: a compare-and-swap with it succeeds only where there is no value.
const ABSENT: u32 = u32::MAX;

/// The counters of a subject as they are now.
pub(super) fn load(subject: &Subject, shared: &impl SharedData, now: Now) -> Counters {
    let (mut counters, _) = read(&subject.name, shared);
    counters.advance(&subject.limits, now);
    counters
}

fn read(name: &str, shared: &impl SharedData) -> (Counters, u32) {
    let (bytes, version) = shared.get(name);
    // A record that cannot be read is damaged: counting begins anew.
    let counters = bytes.and_then(|bytes| Counters::decode(&bytes));
    (counters.unwrap_or_default(), version.unwrap_or(ABSENT))
}

/// Edits the counters under `name` in a retry loop: at each conflict `edit` is applied to what the other writer left, at
/// most `rounds` times. An error of `edit` writes nothing.
///
/// # Errors
/// The error of `edit`, or a [`Conflict`] in each round.
pub(super) fn update<T, E: From<Conflict>>(
    name: &str,
    rounds: u32,
    shared: &impl SharedData,
    mut edit: impl FnMut(&mut Counters) -> Result<T, E>,
) -> Result<T, E> {
    for _ in 0..rounds {
        let (mut counters, version) = read(name, shared);
        let done = edit(&mut counters)?;
        if shared.set(name, &counters.encode(), Some(version)).is_ok() {
            return Ok(done);
        }
    }
    Err(Conflict.into())
}
