//! Usage of one key or group: its running counters, and whether they allow a request.

use super::budget::CalendarSpending;
use super::bytes::RecordReader;
use super::count::Count;
use super::estimate::Estimate;
use super::figures::{BudgetBalance, Figures, Gauge};
use super::lease::{Held, Leases};
use super::now::Now;
use super::period::{Period, Window};
use super::rate::{Bucket, Rate, Share};
use super::subject::Subject;
use super::terms::Limits;
use super::violation::{Limit, LimitViolation};
use crate::money::Amount;

/// The running counters of one key or group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    buckets: [Bucket; Rate::ALL.len()],
    spending: CalendarSpending,
    leases: Leases,
}

/// The wait for a slot that clients are told: when one will be free is not known.
const SLOT_WAIT_US: u64 = 1_000_000;
/// The wait for money that others have reserved: some of it is given back when one of their requests ends, which takes
/// longer than a moment and is not known.
const RESERVED_WAIT_US: u64 = 5_000_000;

/// The units that a request reserved of each rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReservedShares([Share; Rate::ALL.len()]);

impl Counters {
    /// Brings the counters up to date, for a subject that may use `limits`.
    pub fn advance(&mut self, limits: &Limits, now: Now) {
        for (rate, bucket) in self.rates() {
            // What has no limit at this moment is left alone: it may have one the next.
            if let Some(limit) = limits.per_minute(rate) {
                *bucket = bucket.drained(limit, now.steady_us);
            }
        }
        self.advance_rest(limits, now);
    }

    /// Brings the counters up to date for a request that came when `limits` held: it is over, and they may have
    /// changed since.
    pub fn catch_up(&mut self, limits: &Limits, now: Now) {
        for (_, bucket) in self.rates() {
            *bucket = bucket.caught_up(now.steady_us);
        }
        self.advance_rest(limits, now);
    }

    fn advance_rest(&mut self, limits: &Limits, now: Now) {
        if limits.budget.is_set() {
            self.spending = self.spending.at(now.seconds(), limits.budget.spent);
        }
        self.leases.expire(now.steady_ms());
    }

    /// The violation of a subject's limits by a request: of several the hardest, and how long until none is left. `held` is
    /// what the requests of `holder` itself hold.
    pub fn violation(
        &self,
        subject: &Subject,
        estimate: Estimate,
        (holder, held): (u64, Held),
        now: Now,
    ) -> Option<LimitViolation> {
        let limits = &subject.limits;
        let violation = |limit, wait_us| LimitViolation {
            scope: subject.scope,
            limit,
            wait_us,
        };
        let rates = Rate::ALL.into_iter().zip(&self.buckets);
        let rates = rates.filter_map(|(rate, bucket)| {
            let limit = limits.per_minute(rate)?;
            let wait_us = bucket.wait_us(limit, estimate.units(rate, limit), now.steady_us);
            (wait_us > 0).then(|| violation(Limit::Rate(rate), wait_us))
        });
        let held = self.leases.held_by_others(holder).plus(held);
        let no_slot = limits.concurrent_requests;
        let no_slot = no_slot.filter(|limit| held.slots >= *limit);
        let no_slot = no_slot.map(|_| violation(Limit::Concurrency, SLOT_WAIT_US));
        let spent = self.budget_violation(subject, estimate.charge, held.reserved, now);
        rates
            .chain(no_slot)
            .chain(spent)
            .reduce(LimitViolation::and)
    }

    /// The violation of a subject's budget by a request that is expected to cost `charge`, while others have so much
    /// reserved.
    pub fn budget_violation(
        &self,
        subject: &Subject,
        charge: Amount,
        reserved: Amount,
        now: Now,
    ) -> Option<LimitViolation> {
        let budget = &subject.limits.budget;
        if !budget.is_set() {
            return None;
        }
        let spending = self.spending.with(&subject.elsewhere);
        let (limit, wait_us) = if let Some(window) = spending.exceeds(budget) {
            let end = Period::at(window, now.seconds()).ends_at();
            let wait_s = u64::try_from(end.saturating_sub(now.seconds())).unwrap_or_default();
            (Limit::Budget(window), wait_s.saturating_mul(1_000_000))
        } else {
            let wanted = budget.reservation(charge);
            let window = spending.reserved_by_others(budget, reserved, wanted)?;
            (Limit::Reserved(window), RESERVED_WAIT_US)
        };
        Some(LimitViolation {
            scope: subject.scope,
            limit,
            wait_us,
        })
    }

    /// Reserves the rates' part of a request's estimate, and records what its holder holds with it.
    pub fn reserve(
        &mut self,
        limits: &Limits,
        estimate: Estimate,
        (holder, held): (u64, Held),
        now: Now,
    ) -> ReservedShares {
        let mut reserved = ReservedShares::default();
        for ((rate, bucket), share) in self.rates().zip(&mut reserved.0) {
            if let Some(limit) = limits.per_minute(rate) {
                (*bucket, *share) = bucket.with_share(estimate.units(rate, limit));
            }
        }
        if limits.lends() {
            self.hold((holder, held), now);
        }
        reserved
    }

    /// Refunds what a request reserved that was not forwarded after all.
    pub fn refund(&mut self, reserved: ReservedShares) {
        for ((_, bucket), share) in self.rates().zip(reserved.0) {
            *bucket = bucket.settled(share, 0);
        }
    }

    /// Settles what a request reserved with what it used: input and output tokens.
    pub fn settle(&mut self, limits: &Limits, reserved: ReservedShares, used: [Count; 2]) {
        let [input, output] = used;
        // It was one request, and is.
        let used = [Count::AtLeast(0), input, output];
        for (((rate, bucket), share), used) in self.rates().zip(reserved.0).zip(used) {
            // Where there was no limit when it came, nothing was put in.
            if limits.per_minute(rate).is_some() {
                *bucket = bucket.settled(share, used.settled(share.units()));
            }
        }
    }

    /// Adds a charge.
    pub fn charge(&mut self, charge: Amount) {
        self.spending = self.spending.plus(charge);
    }

    /// Records what the requests of a VM hold.
    pub fn hold(&mut self, (holder, held): (u64, Held), now: Now) {
        self.leases.set(holder, held, now.steady_ms());
    }

    /// Sums what the requests of others than `holder` hold.
    pub fn held_by_others(&self, holder: u64) -> Held {
        self.leases.held_by_others(holder)
    }

    /// Returns the number of requests under way.
    pub fn under_way(&self) -> u32 {
        self.leases.held_by_all().slots
    }

    /// Sums what all requests under way have reserved of the budget.
    pub fn reserved(&self) -> Amount {
        self.leases.held_by_all().reserved
    }

    /// The same without its leases, to be told of and never to be written.
    #[must_use]
    pub fn without_leases(&self) -> Self {
        Self {
            buckets: self.buckets,
            spending: self.spending,
            leases: Leases::default(),
        }
    }

    /// Returns the amounts spent in the current day and month.
    pub fn spending(&self) -> CalendarSpending {
        self.spending
    }

    /// Returns the remainder of the rates and the budgets.
    pub fn figures(&self, subject: &Subject, now: Now) -> Figures {
        let limits = &subject.limits;
        let spending = self.spending.with(&subject.elsewhere);
        let [requests, input_tokens, output_tokens] = Rate::ALL.map(|rate| {
            let limit = limits.per_minute(rate)?;
            let bucket = self.buckets.get(rate as usize)?;
            Some(Gauge {
                limit,
                remaining: bucket.remaining(limit),
                reset_us: bucket.reset_us(limit, now.steady_us),
            })
        });
        let budgets = Window::ALL.map(|window| {
            let budget = limits.budget.of(window)?;
            let spent = spending.of(window);
            Some(BudgetBalance {
                remaining: budget.less(spent),
                budget,
                spent,
            })
        });
        Figures {
            requests,
            input_tokens,
            output_tokens,
            budgets,
            at_us: now.wall_us,
        }
    }

    fn rates(&mut self) -> impl Iterator<Item = (Rate, &mut Bucket)> {
        Rate::ALL.into_iter().zip(&mut self.buckets)
    }

    /// The encoding in a record: the record's name contains its version.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256);
        for bucket in self.buckets {
            bucket.encode(&mut bytes);
        }
        self.spending.encode(&mut bytes);
        self.leases.encode(&mut bytes);
        bytes
    }

    /// Decodes a record; `None` where the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = RecordReader(bytes);
        let mut buckets = [Bucket::default(); Rate::ALL.len()];
        for bucket in &mut buckets {
            *bucket = Bucket::decode(&mut reader)?;
        }
        Some(Self {
            buckets,
            spending: CalendarSpending::decode(&mut reader)?,
            leases: Leases::decode(&mut reader)?,
        })
    }
}

#[cfg(test)]
mod tests;
