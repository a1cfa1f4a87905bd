//! When a loader's ticks come, and which of them are for the document.

use core::time::Duration;

use super::feeding::PACE;
use super::host;
use crate::limits::lease::RENEWAL_MS;

/// How often a new process looks for its first document, and for how long, in milliseconds: until it has one it refuses
/// every request, and after a hot restart it has the sockets already. The source may be a listener of its own, which
/// opens within moments.
const EAGER: Duration = Duration::from_millis(20);
const EAGER_MS: u64 = 1000;

/// The ticks of one root.
#[derive(Debug)]
pub(super) struct Ticks {
    /// How often the document is looked at.
    every: Duration,
    /// When to look at it again, in milliseconds of the steady clock; until then ticks are for pages of the
    /// feed.
    look_ms: u64,
    /// Whether they come at the pace of pages.
    paced: bool,
    /// Until when a first document is looked for, in milliseconds of the steady clock; 0 for a root that waits.
    eager_until_ms: u64,
    /// How often they come now.
    period: Duration,
}

impl Ticks {
    /// None yet; `eager` for the first document of a process.
    pub(super) fn new(every: Duration, eager: bool) -> Self {
        let until = host::steady_ms().saturating_add(EAGER_MS);
        Self {
            every,
            look_ms: 0,
            paced: false,
            eager_until_ms: if eager { until } else { 0 },
            period: Duration::ZERO,
        }
    }

    /// Lets them come.
    pub(super) fn begin(&mut self) {
        self.set();
    }

    /// Whether one that has come is for the document; `seen` if there was one before.
    pub(super) fn is_look(&mut self, now: u64, seen: bool) -> bool {
        if seen || now >= self.eager_until_ms {
            self.eager_until_ms = 0;
            self.set();
        }
        if self.comes_between(now) {
            return false;
        }
        let every_ms = u64::try_from(self.every.as_millis()).unwrap_or(u64::MAX);
        self.look_ms = now.saturating_add(every_ms);
        true
    }

    /// Whether no document was ever seen, and all this began only just now.
    pub(super) fn is_eager(&self) -> bool {
        self.eager_until_ms > 0
    }

    /// Whether those between two looks are for pages.
    pub(super) fn is_paced(&self) -> bool {
        self.paced
    }

    /// Lets them come at the pace of pages, or no longer.
    pub(super) fn pace(&mut self, paced: bool) {
        self.paced = paced;
        self.set();
    }

    fn comes_between(&self, now: u64) -> bool {
        let period = self.wanted();
        // It may come a little early.
        let early = u64::try_from(period.as_millis() / 2).unwrap_or(0);
        !self.is_eager() && period < self.every && now.saturating_add(early) < self.look_ms
    }

    /// As often as pages may be asked for while there are some, or a first document; else as often as the document
    /// is looked at, or a part of that, since leases are renewed with the same ticks.
    fn wanted(&self) -> Duration {
        if self.paced {
            return PACE;
        }
        if self.is_eager() {
            return EAGER.min(self.every);
        }
        let renewals = self.every.as_millis().div_ceil(u128::from(RENEWAL_MS));
        let parts = u32::try_from(renewals).unwrap_or(u32::MAX).max(1);
        self.every.checked_div(parts).unwrap_or(self.every)
    }

    fn set(&mut self) {
        let wanted = self.wanted();
        // To set the same again would begin the time anew.
        if self.period != wanted {
            self.period = wanted;
            host::tick_every(wanted);
        }
    }
}
