//! The spend that stands in the ledger's files and that the console's totals here lack.
//!
//! A process of Envoy begins with what the console has told last. While the console is away that grows old, and the charges of
//! the processes before stand in the ledger alone. So a gateway is told those as well, from the files: of each, what comes
//! after the position up to which the totals have it. A position moves when totals were read after the console had acknowledged
//! the lines, and is kept with the totals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use trilane::money::Amount;
use trilane_console::intake::{LedgerBatch, SpentLines};
use trilane_console::secret;
use trilane_console::store::spend_feed;

use super::ledger_file::SentFile;
use super::other_files::OtherFiles;
use crate::ledger_files;

/// A subject: its kind and its id.
pub type SubjectName = (String, String);

/// Positions in files, by the files' identities.
pub type FilePositions = BTreeMap<String, u64>;

/// Charges of a subject by period and currency, and what of them each process has in its own counters.
pub type SubjectSpend = BTreeMap<(String, String), (Amount, BTreeMap<String, Amount>)>;

/// The place of a charge: subject, period, currency.
type ChargeKey = (SubjectName, String, String);

/// The spend that the files have and the totals lack.
#[derive(Debug)]
pub struct UnsentSpend {
    ledger: PathBuf,
    state: Mutex<UnsentState>,
}

#[derive(Debug, Default)]
struct UnsentState {
    files: BTreeMap<String, UnsentPart>,
    others: OtherFiles,
    /// Up to where the console has each file.
    acknowledged: FilePositions,
    /// Tells the numbers of changes from those of another run of this agent.
    run: String,
    /// The number of changes.
    changes: u64,
    /// The last change of each subject.
    changed: BTreeMap<SubjectName, u64>,
}

/// A part of a file.
#[derive(Debug, Default)]
struct UnsentPart {
    path: PathBuf,
    /// Up to where the totals have it.
    taken: u64,
    /// Up to where it is in the sums.
    read: u64,
    sums: PartSums,
}

/// The sums of the lines of a part.
#[derive(Debug, Default)]
struct PartSums {
    charges: BTreeMap<ChargeKey, Amount>,
    /// Of that what each process has in its own counters.
    shares: BTreeMap<(ChargeKey, String), Amount>,
}

impl PartSums {
    /// Adds up these bytes for the periods in which gateways may be.
    fn of(bytes: &[u8]) -> Self {
        let today = OffsetDateTime::now_utc().date();
        let periods = spend_feed::periods(today);
        let batch = LedgerBatch::new("agent", "file", 0, bytes, false).ok();
        let Some(spent) = batch.as_ref().map(SpentLines::of) else {
            return Self::default();
        };
        let mut sums = Self::default();
        for (key, sum) in spent.charges {
            if periods.contains(&key.period) {
                let subject = (key.kind.name().to_owned(), key.subject);
                let key = (subject, key.period, key.currency);
                sums.charges.insert(key, sum.value());
            }
        }
        for (share, sum) in spent.shares {
            let key = share.of;
            if periods.contains(&key.period) {
                let subject = (key.kind.name().to_owned(), key.subject);
                let key = (subject, key.period, key.currency);
                sums.shares.insert((key, share.instance), sum.value());
            }
        }
        sums
    }

    fn change(&mut self, other: Self, by: fn(Amount, Amount) -> Amount) {
        fn each<K: Ord>(
            all: &mut BTreeMap<K, Amount>,
            other: BTreeMap<K, Amount>,
            by: fn(Amount, Amount) -> Amount,
        ) {
            for (key, amount) in other {
                let sum = all.entry(key).or_default();
                *sum = by(*sum, amount);
            }
            all.retain(|_, sum| *sum != Amount::ZERO);
        }
        each(&mut self.charges, other.charges, by);
        each(&mut self.shares, other.shares, by);
    }
}

impl UnsentSpend {
    /// Adds up this ledger behind these positions, up to which the totals have its files.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn new(ledger: PathBuf, positions: FilePositions) -> Result<Self, String> {
        let parts = positions.iter().map(|(id, position)| {
            let part = UnsentPart {
                taken: *position,
                read: *position,
                ..UnsentPart::default()
            };
            (id.clone(), part)
        });
        let state = UnsentState {
            files: parts.collect(),
            acknowledged: positions,
            run: secret::new_id()?,
            ..UnsentState::default()
        };
        Ok(Self {
            ledger,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, UnsentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The console has a file up to this position.
    pub fn acknowledge(&self, id: &str, position: u64) {
        self.state().acknowledged.insert(id.to_owned(), position);
    }

    /// Up to where the console has all files. Totals that are asked for from now on have these lines.
    pub fn acknowledged(&self) -> FilePositions {
        self.state().acknowledged.clone()
    }

    /// The totals that are here have all files up to these positions.
    pub fn settle(&self, positions: &FilePositions) {
        let mut state = self.state();
        for (id, position) in positions {
            let part = state.files.entry(id.clone()).or_default();
            if *position <= part.taken {
                continue;
            }
            if *position >= part.read {
                part.sums = PartSums::default();
                part.read = *position;
            } else {
                let length = position.saturating_sub(part.taken);
                match bytes_of(&part.path, id, part.taken, length) {
                    Some(bytes) => part.sums.change(PartSums::of(&bytes), Amount::less),
                    // Rather too much than too little, until the rest of the file is taken.
                    None => continue,
                }
            }
            part.taken = *position;
        }
    }

    /// Gives the sums of what the files have and the totals lack to somebody who adds them to the totals, with the positions up to
    /// which these have the files then.
    ///
    /// # Errors
    /// The sums were not added: they stay here.
    pub fn hand_over(
        &self,
        add: impl FnOnce(&BTreeMap<SubjectName, SubjectSpend>, &FilePositions) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut state = self.state();
        let mut all: BTreeMap<SubjectName, SubjectSpend> = BTreeMap::new();
        for part in state.files.values() {
            for ((name, period, currency), charge) in &part.sums.charges {
                let of_subject = all.entry(name.clone()).or_default();
                let place = (period.clone(), currency.clone());
                let (sum, _) = of_subject.entry(place).or_default();
                *sum = sum.plus(*charge);
            }
            for (((name, period, currency), instance), share) in &part.sums.shares {
                let of_subject = all.entry(name.clone()).or_default();
                let place = (period.clone(), currency.clone());
                let (_, shares) = of_subject.entry(place).or_default();
                let sum = shares.entry(instance.clone()).or_default();
                *sum = sum.plus(*share);
            }
        }
        let positions: FilePositions = state
            .files
            .iter()
            .map(|(id, part)| (id.clone(), part.read))
            .collect();
        add(&all, &positions)?;
        for part in state.files.values_mut() {
            part.sums = PartSums::default();
            part.taken = part.read;
        }
        Ok(())
    }

    /// Reads what is new in the files, for the process with this number.
    pub fn catch_up(&self, instance: &str) {
        let mut state = self.state();
        let state = &mut *state;
        let mut seen = BTreeSet::new();
        let mut files = ledger_files::all(&self.ledger);
        files.extend(state.others.of(&self.ledger));
        for path in files {
            let Ok(Some(mut file)) = SentFile::open(&path, false) else {
                continue;
            };
            if !seen.insert(file.id.clone()) {
                continue;
            }
            let part = state.files.entry(file.id.clone()).or_default();
            part.path = path;
            while let Ok(chunk) = file.after(part.read, false) {
                let Ok(length @ 1..) = u64::try_from(chunk.bytes.len()) else {
                    break;
                };
                let sums = PartSums::of(&chunk.bytes);
                for (key, process) in sums.shares.keys() {
                    // A process knows of what it counts itself.
                    if process != instance || !state.changed.contains_key(&key.0) {
                        // Each has a number of its own, by which a page ends.
                        state.changes = state.changes.saturating_add(1);
                        state.changed.insert(key.0.clone(), state.changes);
                    }
                }
                part.sums.change(sums, Amount::plus);
                part.read = part.read.saturating_add(length);
            }
        }
        // What the totals have needs no telling apart any more once its file is gone.
        state
            .files
            .retain(|id, part| seen.contains(id) || !part.sums.charges.is_empty());
        let files = &state.files;
        state.acknowledged.retain(|id, _| files.contains_key(id));
        if state
            .files
            .values()
            .all(|part| part.sums.charges.is_empty())
        {
            state.changed.clear();
        }
    }

    /// Gives the spend in the files by subject, period and currency, without what this process has in its own counters.
    pub fn elsewhere(
        &self,
        subject: &SubjectName,
        currency: &str,
        instance: &str,
    ) -> BTreeMap<String, Amount> {
        let state = self.state();
        let mut all: BTreeMap<String, Amount> = BTreeMap::new();
        let first = (subject.clone(), String::new(), String::new());
        for part in state.files.values() {
            let of_subject = part.sums.charges.range(first.clone()..);
            for (key, charge) in of_subject.take_while(|(key, _)| key.0 == *subject) {
                if key.2 != currency {
                    continue;
                }
                let own = part.sums.shares.get(&(key.clone(), instance.to_owned()));
                let rest = charge.less(own.copied().unwrap_or_default());
                let sum = all.entry(key.1.clone()).or_default();
                *sum = sum.plus(rest);
            }
        }
        all
    }

    /// The subjects that have changed since a mark of [`mark`](Self::mark), those that changed longest ago first.
    pub fn changed_since(&self, mark: &str) -> Vec<(u64, SubjectName)> {
        let state = self.state();
        let since = mark.split_once('-').filter(|(run, _)| *run == state.run);
        let since = since.and_then(|(_, change)| change.parse().ok());
        let since: u64 = since.unwrap_or_default();
        let changed = state.changed.iter();
        let changed = changed.filter(|(_, change)| **change > since);
        let mut changed: Vec<_> = changed
            .map(|(subject, change)| (*change, subject.clone()))
            .collect();
        changed.sort();
        changed
    }

    /// A mark of this change, or of the last one.
    pub fn mark(&self, change: Option<u64>) -> String {
        let state = self.state();
        format!("{}-{}", state.run, change.unwrap_or(state.changes))
    }
}

/// These bytes of a file, if it is still the one with this identity.
fn bytes_of(path: &Path, id: &str, from: u64, length: u64) -> Option<Vec<u8>> {
    let mut file = SentFile::open(path, true).ok()??;
    if file.id != id {
        return None;
    }
    let length = usize::try_from(length).ok()?;
    let mut all = Vec::new();
    while all.len() < length {
        let at = from.checked_add(u64::try_from(all.len()).ok()?)?;
        let chunk = file.after(at, false).ok()?;
        if chunk.bytes.is_empty() {
            return None;
        }
        all.extend_from_slice(&chunk.bytes);
    }
    all.truncate(length);
    Some(all)
}

#[cfg(test)]
mod tests;
