//! Changes of keys that a copy of a feed could not be given, because its disk is full or fails: they are told from memory, behind those
//! of the copy.

use std::sync::{Mutex, MutexGuard, PoisonError};

use trilane::feed::page::KeyChange;

/// The most that are kept: a disk that fails for long would take all memory.
const MOST: usize = 100_000;

/// Changes that are only in memory: their versions, and the changes as the feed writes them.
#[derive(Debug, Default)]
pub struct UnwrittenKeys(Mutex<Vec<(u64, String)>>);

impl UnwrittenKeys {
    fn all(&self) -> MutexGuard<'_, Vec<(u64, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the changes of a page that are later than those which are here.
    ///
    /// # Errors
    /// The changes are too many; none is added.
    pub fn add(&self, changes: &[KeyChange<'_>]) -> Result<(), String> {
        let mut all = self.all();
        let last = all.last().map_or(0, |(version, _)| *version);
        let versions = changes
            .iter()
            .filter_map(|change| Some((change.version?, change)));
        let new: Vec<_> = versions.filter(|(version, _)| *version > last).collect();
        let number = all.len().saturating_add(new.len());
        if number > MOST {
            return Err(format!(
                "{number} changes of keys are more than memory is taken for"
            ));
        }
        let text = |change| serde_json::to_string(change).unwrap_or_default();
        all.extend(
            new.into_iter()
                .map(|(version, change)| (version, text(change))),
        );
        Ok(())
    }

    /// The copy has them all.
    pub fn clear(&self) {
        self.all().clear();
    }

    /// The greatest version that one of them has; 0 where there is none.
    pub fn head(&self) -> u64 {
        self.all().last().map_or(0, |(version, _)| *version)
    }

    /// Gives each to `take`, with its version, and stops at its first error.
    ///
    /// # Errors
    /// That of `take`.
    pub fn each<E>(
        &self,
        mut take: impl FnMut(u64, &KeyChange<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.all().iter().try_for_each(|(version, change)| {
            let change = serde_json::from_str(change).unwrap_or_default();
            take(*version, &change)
        })
    }

    /// Those above a version, one more than fits at most.
    pub fn after(&self, version: u64, limit: u32) -> Vec<String> {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let all = self.all();
        let later = all.iter().filter(|(of, _)| *of > version);
        let later = later.map(|(_, change)| change.clone());
        later.take(most.saturating_add(1)).collect()
    }
}
