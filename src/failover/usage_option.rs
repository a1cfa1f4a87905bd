//! Whether accounts take the option which makes a stream report its usage, in shared data: one value for all of them.
//!
//! An entry has 24 bytes: the way to the account, until when it counts, in microseconds of the steady clock, and whether the
//! account takes the option.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher};

use crate::config::account::Marks;
use crate::host::Clocks;
use crate::shared_data::{SharedData, is_fresh, update};

/// The name of the value.
const NAME: &str = "trilane/usage_option";
/// The time for which it is known of an account. Then it is found out once more.
const KNOWN_US: u64 = 24 * 3600 * 1_000_000;
/// The most accounts that are known. Of more, those go whose time ends first.
const MOST: usize = 1024;

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

/// The accounts that take the option and those that refuse it, as a VM has read them lately.
#[derive(Debug, Default)]
pub(super) struct KnownOption(RefCell<Option<(u64, Vec<u8>)>>);

impl KnownOption {
    /// Whether the account of a way takes the option, ten milliseconds late at the most; `None` where it is not known.
    pub(super) fn takes(
        &self,
        way: WayMark,
        now_us: u64,
        shared: &impl SharedData,
    ) -> Option<bool> {
        let mut recent = self.0.try_borrow_mut().ok()?;
        let fresh = recent
            .take()
            .filter(|(read_us, _)| is_fresh(*read_us, now_us));
        let (_, value) = recent
            .insert(fresh.unwrap_or_else(|| (now_us, shared.get(NAME).0.unwrap_or_default())));
        let mut entries = entries(value);
        let known = entries.find(|known| known.way == way.0 && now_us < known.until_us);
        known.map(|known| known.takes)
    }

    /// Notes whether the account of a way takes the option, for all workers.
    pub(super) fn note(&self, way: WayMark, takes: bool, host: &(impl SharedData + Clocks)) {
        let now_us = host.steady_us();
        // Where others are always faster, its next answer is noted.
        update(NAME, host, |value| {
            let is_kept = |known: &Entry| known.way != way.0 && now_us < known.until_us;
            let mut kept: Vec<Entry> = entries(value).filter(is_kept).collect();
            kept.push(Entry {
                way: way.0,
                until_us: now_us.saturating_add(KNOWN_US),
                takes,
            });
            kept.sort_by_key(|known| core::cmp::Reverse(known.until_us));
            kept.truncate(MOST);
            Some(kept.into_iter().flat_map(Entry::to_bytes).collect())
        });
        if let Ok(mut recent) = self.0.try_borrow_mut() {
            *recent = None;
        }
    }
}

/// The knowledge of one way.
#[derive(Debug, Clone, Copy)]
struct Entry {
    way: u64,
    until_us: u64,
    takes: bool,
}

impl Entry {
    fn to_bytes(self) -> impl Iterator<Item = u8> {
        [self.way, self.until_us, u64::from(self.takes)]
            .into_iter()
            .flat_map(u64::to_le_bytes)
    }
}

fn entries(value: &[u8]) -> impl Iterator<Item = Entry> {
    let (numbers, _) = value.as_chunks::<8>();
    let (entries, _) = numbers.as_chunks::<3>();
    entries.iter().map(|entry| {
        let [way, until_us, takes] = entry.map(u64::from_le_bytes);
        Entry {
            way,
            until_us,
            takes: takes != 0,
        }
    })
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
        let (here, elsewhere) = (KnownOption::default(), KnownOption::default());
        let (one, two) = (WayMark::of_cluster("one"), WayMark::of_cluster("two"));
        let begin = 1_000_000;
        process.steady_us.set(begin);
        assert_eq!(elsewhere.takes(one, begin, &host), None, "nothing is known");
        here.note(one, false, &host);
        for (case, known, way, now_us, want) in [
            ("where it was noted", &here, one, begin, Some(false)),
            ("another account", &here, two, begin, None),
            (
                "another worker, which has just looked",
                &elsewhere,
                one,
                begin + 1,
                None,
            ),
            (
                "the same, later",
                &elsewhere,
                one,
                begin + FRESH_US,
                Some(false),
            ),
            (
                "at the end of the day",
                &elsewhere,
                one,
                begin + KNOWN_US - 1,
                Some(false),
            ),
            ("the next day", &elsewhere, one, begin + KNOWN_US, None),
        ] {
            assert_eq!(known.takes(way, now_us, &host), want, "{case}");
        }
    }

    #[test]
    fn what_was_noted_last_holds() {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let known = KnownOption::default();
        let way = WayMark::of_cluster("one");
        for takes in [true, false, true] {
            known.note(way, takes, &host);
            assert_eq!(
                known.takes(way, process.steady_us.get(), &host),
                Some(takes)
            );
        }
    }

    #[test]
    fn it_stays_small() {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let known = KnownOption::default();
        for number in 0..MOST as u64 + 9 {
            process.steady_us.set(number + 1);
            known.note(WayMark(number), true, &host);
        }
        let now_us = MOST as u64 + 10;
        assert_eq!(SharedData::get(&host, NAME).0.unwrap().len(), 24 * MOST);
        assert_eq!(
            known.takes(WayMark(0), now_us, &host),
            None,
            "the oldest went"
        );
        let latest = known.takes(WayMark(MOST as u64 + 8), now_us, &host);
        assert_eq!(latest, Some(true), "the latest");
    }
}
