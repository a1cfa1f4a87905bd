//! The time that a change of keys, such as a revocation, takes until all Envoys have it.
//!
//! Each console looks for itself: at the head of the feed of keys, and at what agents say that they have. An agent says it every two
//! seconds, and its gateway reads it within one more.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::counted::counted;
use crate::envoy_report::EnvoyReport;
use crate::store::{Store, StoreError, envoys, key_feed};

/// The interval between looks.
pub const EVERY: Duration = Duration::from_millis(500);
/// An Envoy that was not heard of for so long is not waited for, in microseconds: it has an alert of its own.
pub(crate) const AWAY: i64 = 15_000_000;
/// The most changes that are waited for at once.
const MOST: usize = 1000;
/// After how long a change is no longer waited for.
const GIVEN_UP: Duration = Duration::from_secs(3600);

/// The changes of keys that some Envoy does not have.
#[derive(Debug, Default)]
pub struct KeyChangeWatch {
    head: Option<u64>,
    /// Versions of the feed, and when each was seen first.
    pending: VecDeque<(u64, Instant)>,
}

impl KeyChangeWatch {
    /// Looks, and counts what all Envoys have by now. `now` is in microseconds since 1970.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn look(&mut self, store: &Store, now: i64) -> Result<(), StoreError> {
        key_feed::give_versions(store).await?;
        let mut transaction = store.read().await?;
        let head = key_feed::versions(&mut transaction).await?.head;
        let is_new = self.head.is_some_and(|before| head > before);
        if is_new && self.pending.len() < MOST {
            self.pending.push_back((head, Instant::now()));
        }
        self.head = Some(head);
        let reports = if self.pending.is_empty() {
            Vec::new()
        } else {
            envoys::reports_since(&mut transaction, now.saturating_sub(AWAY)).await?
        };
        transaction.rollback().await;
        self.settle(&reports);
        let oldest = self.pending.front().map(|(_, since)| since.elapsed());
        counted().key_change_pending(oldest.unwrap_or_default());
        Ok(())
    }

    /// Returns the number of changes that some Envoy does not have yet.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Counts the changes that all have of whom these are the reports.
    fn settle(&mut self, reports: &[Option<String>]) {
        let has = |report: &Option<String>| {
            serde_json::from_str::<EnvoyReport>(report.as_deref()?)
                .ok()?
                .keys
        };
        let least = reports.iter().map(|report| has(report).unwrap_or(0)).min();
        while let Some((version, since)) = self.pending.front().copied() {
            let took = since.elapsed();
            match least {
                Some(least) if least >= version => counted().key_change(took),
                // Nobody is there who could have it.
                None => {}
                Some(_) if took > GIVEN_UP => {}
                Some(_) => break,
            }
            self.pending.pop_front();
        }
    }
}
