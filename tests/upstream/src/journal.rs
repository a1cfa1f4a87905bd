//! The requests that all listeners received: counters and totals for every request, entries for the last ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::http::request::Parts;
use serde_json::{Value, json};

use crate::course::ExchangeCourse;
use crate::entry::JournalEntry;
use crate::totals::Totals;
use crate::view::View;

/// The maximum number of requests that are remembered.
const KEPT: usize = 4096;

/// The journal that all listeners share.
#[derive(Debug)]
pub struct Journal {
    on: bool,
    next: AtomicU64,
    counts: Vec<(Arc<str>, AtomicU64)>,
    ring: Mutex<VecDeque<Arc<JournalEntry>>>,
    totals: Mutex<Arc<Totals>>,
}

impl Journal {
    /// A journal for these listeners; one that is not `on` counts and sums, and keeps no entries.
    pub fn new(on: bool, listeners: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self {
            on,
            next: AtomicU64::new(1),
            counts: listeners
                .into_iter()
                .map(|name| (name, AtomicU64::new(0)))
                .collect(),
            ring: Mutex::new(VecDeque::new()),
            totals: Mutex::default(),
        }
    }

    /// Counts a request whose head has arrived at the listener number `index`, and gives it an id.
    pub fn count(&self, index: usize) -> u64 {
        if let Some((_, count)) = self.counts.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins the course of a request.
    pub fn begin(&self) -> Arc<ExchangeCourse> {
        Arc::new(ExchangeCourse::new(Arc::clone(&self.current_totals())))
    }

    /// Opens an entry, if one is kept or `needed`.
    pub fn open(
        &self,
        id: u64,
        listener: &Arc<str>,
        head: &Parts,
        course: &Arc<ExchangeCourse>,
        needed: bool,
    ) -> Option<Arc<JournalEntry>> {
        if !self.on && !needed {
            return None;
        }
        let entry = Arc::new(JournalEntry::new(
            id,
            Arc::clone(listener),
            head,
            Arc::clone(course),
        ));
        if self.on {
            let mut ring = self.ring();
            if ring.len() == KEPT {
                ring.pop_front();
            }
            ring.push_back(Arc::clone(&entry));
        }
        Some(entry)
    }

    /// The counters as JSON.
    pub fn counts(&self) -> Value {
        let mut total = 0;
        let mut by_listener = serde_json::Map::new();
        for (name, count) in &self.counts {
            let count = count.load(Ordering::Relaxed);
            total += count;
            by_listener.insert(name.to_string(), count.into());
        }
        json!({"requests": total, "by_listener": by_listener})
    }

    /// The last `last` entries (oldest first), only those with this `x-sim-marker` if one is given.
    pub fn entries(&self, last: usize, marker: Option<&str>) -> serde_json::Result<String> {
        let marked = |entry: &&Arc<JournalEntry>| match marker {
            Some(marker) => entry
                .headers
                .get("x-sim-marker")
                .is_some_and(|value| value == marker),
            None => true,
        };
        let found: Vec<_> = self
            .ring()
            .iter()
            .rev()
            .filter(marked)
            .take(last)
            .cloned()
            .collect();
        let views: Vec<_> = found.iter().rev().map(|entry| View::of(entry)).collect();
        serde_json::to_string(&views)
    }

    /// The totals as JSON.
    pub fn totals(&self) -> Value {
        self.current_totals().view()
    }

    /// Begins new totals. Requests that have begun already count no more, whatever becomes of them.
    pub fn reset_totals(&self) {
        *self.current_totals() = Arc::default();
    }

    /// Forgets entries and counts; ids and totals go on.
    pub fn clear(&self) {
        self.ring().clear();
        for (_, count) in &self.counts {
            count.store(0, Ordering::Relaxed);
        }
    }

    fn current_totals(&self) -> MutexGuard<'_, Arc<Totals>> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Arc<JournalEntry>>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
