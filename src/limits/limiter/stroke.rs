//! Changes of a record in shared data, each in one stroke (compare and swap).

use crate::limits::counters::Counters;
use crate::limits::{Now, Subject};
use crate::shared_data::SharedData;

/// A version that no value has: by it a value is set only where there is none.
const ABSENT: u32 = u32::MAX;

/// Others were always faster.
pub(super) struct Overtaken;

/// The counters of a subject as they are now.
pub(super) fn look(subject: &Subject, shared: &impl SharedData, now: Now) -> Counters {
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

/// Changes counters in one stroke, however many others do at the same time: `edit` is made anew on
/// each state that they may have left. `None` of `edit` leaves them as they are.
pub(super) fn change<T>(
    name: &str,
    tries: u32,
    shared: &impl SharedData,
    mut edit: impl FnMut(&mut Counters) -> Option<T>,
) -> Result<Option<T>, Overtaken> {
    for _ in 0..tries {
        let (mut counters, version) = read(name, shared);
        let Some(done) = edit(&mut counters) else {
            return Ok(None);
        };
        if shared.set(name, &counters.encode(), Some(version)).is_ok() {
            return Ok(Some(done));
        }
    }
    Err(Overtaken)
}
