//! Sums over all requests, kept without keeping the requests.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::course::ExchangeStage;
use crate::usage::{CountedKind, SimulatedUsage};

/// Requests by state and issued usage. A request that begins with one `Totals` ends with it.
#[derive(Debug, Default)]
pub struct Totals {
    requests: [AtomicU64; ExchangeStage::ALL.len()],
    under_way: AtomicU64,
    most_at_once: AtomicU64,
    with_usage: AtomicU64,
    issued: [AtomicU64; CountedKind::ALL.len()],
}

impl Totals {
    /// A request has begun in this state.
    pub fn begun(&self, state: ExchangeStage) {
        self.requests[state as usize].fetch_add(1, Ordering::Relaxed);
        let under_way = self.under_way.fetch_add(1, Ordering::AcqRel) + 1;
        self.most_at_once.fetch_max(under_way, Ordering::AcqRel);
    }

    /// A request has gone from one state to another: in between it is in both, never in none.
    pub fn moved(&self, from: ExchangeStage, to: ExchangeStage) {
        self.requests[to as usize].fetch_add(1, Ordering::Release);
        self.requests[from as usize].fetch_sub(1, Ordering::Release);
        if to.is_over() && !from.is_over() {
            self.under_way.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Replaces the usage that a request has issued in the totals: `before` by `all`.
    pub fn issued(&self, before: Option<SimulatedUsage>, all: SimulatedUsage) {
        if before.is_none() {
            self.with_usage.fetch_add(1, Ordering::Relaxed);
        }
        let before = before.unwrap_or_default();
        for kind in CountedKind::ALL {
            // Wrapping: a later number of an answer may be lower than an earlier one.
            let more = all.get(kind).wrapping_sub(before.get(kind));
            if more != 0 {
                self.issued[kind as usize].fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// The sums as JSON. States are read first: all that a finished request has issued is in what is read after them.
    pub fn view(&self) -> Value {
        let by_state: Vec<_> = ExchangeStage::ALL
            .map(|state| (state, self.requests[state as usize].load(Ordering::Acquire)))
            .into();
        let mut issued = SimulatedUsage::default();
        for kind in CountedKind::ALL {
            issued.set(kind, self.issued[kind as usize].load(Ordering::Relaxed));
        }
        let requests: u64 = by_state.iter().map(|(_, count)| count).sum();
        let by_state: serde_json::Map<_, _> = by_state
            .into_iter()
            .map(|(state, count)| (state.name().to_owned(), count.into()))
            .collect();
        json!({
            "requests": requests,
            "by_state": by_state,
            "most_at_once": self.most_at_once.load(Ordering::Acquire),
            "with_usage": self.with_usage.load(Ordering::Relaxed),
            "issued": issued,
        })
    }
}
