//! Sums over records.

use super::charge::Sum;
use super::measure::Measure;
use super::record::{LedgerRecord, Status};

/// The sums over some records. Each record adds at most 10^9 to a count, so some nine thousand million records fit into the 63 bits
/// that a database has for one.
#[derive(Debug, Clone, Default)]
pub struct UsageTotals {
    counts: [u128; Measure::ALL.len()],
    /// Their charges, all of one currency.
    pub charge: Sum,
    /// The part of them that is estimated.
    pub estimated_charge: Sum,
    /// The costs by the vendors' words, in dollars. None is stored.
    pub reported_cost: Sum,
}

impl UsageTotals {
    /// Sums as they were stored: the counts in the order of [`Measure::ALL`], and the charges.
    pub fn stored(counts: [u64; Measure::ALL.len()], charge: Sum, estimated_charge: Sum) -> Self {
        Self {
            counts: counts.map(u128::from),
            charge,
            estimated_charge,
            reported_cost: Sum::default(),
        }
    }

    /// Adds others, whose charges have the same currency.
    pub fn add_all(&mut self, others: &Self) {
        self.add_counts(others);
        self.charge.add(others.charge.value());
        self.estimated_charge.add(others.estimated_charge.value());
        self.reported_cost.add(others.reported_cost.value());
    }

    /// Adds a record.
    pub fn add(&mut self, record: &LedgerRecord<'_>) {
        for (count, measure) in self.counts.iter_mut().zip(Measure::ALL) {
            *count = count.saturating_add(u128::from(record.amount(measure)));
        }
        if let Some(cost) = record.reported_cost() {
            self.reported_cost.add(cost);
        }
        if let Some(charge) = record.charge {
            self.charge.add(charge);
            if record.status == Status::Estimated {
                self.estimated_charge.add(charge);
            }
        }
    }

    /// Adds the counts of others, but not their charges, which may have another currency.
    pub fn add_counts(&mut self, others: &Self) {
        for (count, other) in self.counts.iter_mut().zip(others.counts) {
            *count = count.saturating_add(other);
        }
    }

    /// A count.
    pub fn count(&self, measure: Measure) -> u128 {
        self.counts.get(measure as usize).copied().unwrap_or(0)
    }
}
