//! Accounts that refuse the option which makes a stream report its usage, in shared data: one value for all of them.
//!
//! An entry has 16 bytes: the way to the account, and until when it counts, in microseconds of the steady clock.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher};

use crate::config::account::Marks;
use crate::host::Clocks;
use crate::shared_data::{SharedData, is_fresh, update};

/// The name of the value.
const NAME: &str = "trilane/usage_option";
/// The time for which an account is known to refuse the option. Then it is asked with it once more.
const KNOWN_US: u64 = 24 * 3600 * 1_000_000;
/// The most accounts that are known. Of more, those go whose time ends first.
const MOST: usize = 256;

/// A way to a vendor: how an account is reached and with what credential, or a cluster that is written by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayMark(u64);

impl WayMark {
    /// Of an account.
    pub fn of_account(marks: &Marks) -> Self {
        Self(marks.way)
    }

    /// Of a cluster. All workers agree.
    pub fn of_cluster(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        Self(hasher.finish())
    }
}

/// The accounts that refuse the option, as a VM has read them lately.
#[derive(Debug, Default)]
pub(super) struct RefusedOption(RefCell<Option<(u64, Vec<u8>)>>);

impl RefusedOption {
    /// Whether the account of a way refuses the option, for all that is known: ten milliseconds late at the most.
    pub(super) fn by(&self, way: WayMark, now_us: u64, shared: &impl SharedData) -> bool {
        let Ok(mut recent) = self.0.try_borrow_mut() else {
            return false;
        };
        let fresh = recent
            .take()
            .filter(|(read_us, _)| is_fresh(*read_us, now_us));
        let (_, value) = recent
            .insert(fresh.unwrap_or_else(|| (now_us, shared.get(NAME).0.unwrap_or_default())));
        entries(value).any(|(known, until_us)| known == way.0 && now_us < until_us)
    }

    /// Notes that the account of a way refuses the option, for all workers.
    pub(super) fn note(&self, way: WayMark, host: &(impl SharedData + Clocks)) {
        let now_us = host.steady_us();
        // Where others are always faster, its next refusal is noted.
        update(NAME, host, |value| {
            let is_kept = |(known, until_us): &(u64, u64)| *known != way.0 && now_us < *until_us;
            let mut kept: Vec<(u64, u64)> = entries(value).filter(is_kept).collect();
            kept.push((way.0, now_us.saturating_add(KNOWN_US)));
            kept.sort_by_key(|(_, until_us)| core::cmp::Reverse(*until_us));
            kept.truncate(MOST);
            let numbers = kept.iter().flat_map(|(way, until_us)| [*way, *until_us]);
            Some(numbers.flat_map(u64::to_le_bytes).collect())
        });
        if let Ok(mut recent) = self.0.try_borrow_mut() {
            *recent = None;
        }
    }
}

/// The ways and the ends of their times.
fn entries(value: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let (numbers, _) = value.as_chunks::<8>();
    let (entries, _) = numbers.as_chunks::<2>();
    let number = |bytes: [u8; 8]| u64::from_le_bytes(bytes);
    entries
        .iter()
        .map(move |[way, until_us]| (number(*way), number(*until_us)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fake::{FakeHost, FakeProcess};
    use crate::shared_data::FRESH_US;

    #[test]
    fn all_workers_know_it_for_a_day() {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let (here, elsewhere) = (RefusedOption::default(), RefusedOption::default());
        let (one, two) = (WayMark::of_cluster("one"), WayMark::of_cluster("two"));
        let begin = 1_000_000;
        process.steady_us.set(begin);
        assert!(!elsewhere.by(one, begin, &host), "nothing is known");
        here.note(one, &host);
        for (case, known, way, now_us, want) in [
            ("where it was noted", &here, one, begin, true),
            ("another account", &here, two, begin, false),
            (
                "another worker, which has just looked",
                &elsewhere,
                one,
                begin + 1,
                false,
            ),
            ("the same, later", &elsewhere, one, begin + FRESH_US, true),
            (
                "at the end of the day",
                &elsewhere,
                one,
                begin + KNOWN_US - 1,
                true,
            ),
            ("the next day", &elsewhere, one, begin + KNOWN_US, false),
        ] {
            assert_eq!(known.by(way, now_us, &host), want, "{case}");
        }
    }

    #[test]
    fn it_stays_small() {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let known = RefusedOption::default();
        for number in 0..MOST as u64 + 9 {
            process.steady_us.set(number + 1);
            known.note(WayMark(number), &host);
        }
        let now_us = MOST as u64 + 10;
        assert_eq!(SharedData::get(&host, NAME).0.unwrap().len(), 16 * MOST);
        assert!(!known.by(WayMark(0), now_us, &host), "the oldest went");
        assert!(
            known.by(WayMark(MOST as u64 + 8), now_us, &host),
            "the latest"
        );
    }
}
