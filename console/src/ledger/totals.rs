//! Sums over records.

use trilane::ledger::UsageStatus;

use super::charge::Sum;
use super::measure::Measure;
use super::record::LedgerRecord;
use super::signed_sum::SignedSum;

/// The sums over some records. Each record adds at most 10^9 to a count, so some nine thousand million records fit into the 63 bits
/// that a database has for one.
#[derive(Debug, Clone, Default)]
pub struct UsageTotals {
    counts: [u128; Measure::ALL.len()],
    /// Their charges, all of one currency.
    pub charge: Sum,
    /// The part of them that is estimated.
    pub estimated_charge: Sum,
    /// The part of the charges whose cost is known.
    pub costed_charge: Sum,
    /// The costs of that part, by the factors of accounts.
    pub cost: Sum,
    /// The costs by the vendors' words, in dollars. They are not stored.
    pub reported_cost: Sum,
}

impl UsageTotals {
    /// The names of the amounts that are stored.
    pub const AMOUNTS: [&str; 4] = ["charge", "estimated_charge", "costed_charge", "cost"];

    /// Sums as they were stored: the counts in the order of [`Measure::ALL`], and the amounts.
    pub fn stored(counts: [u64; Measure::ALL.len()], amounts: [Sum; Self::AMOUNTS.len()]) -> Self {
        let [charge, estimated_charge, costed_charge, cost] = amounts;
        Self {
            counts: counts.map(u128::from),
            charge,
            estimated_charge,
            costed_charge,
            cost,
            ..Self::default()
        }
    }

    /// The amounts that are stored.
    pub fn amounts(&self) -> [Sum; Self::AMOUNTS.len()] {
        [
            self.charge,
            self.estimated_charge,
            self.costed_charge,
            self.cost,
        ]
    }

    /// Adds others, whose charges have the same currency.
    pub fn add_all(&mut self, others: &Self) {
        for (count, other) in self.counts.iter_mut().zip(others.counts) {
            *count = count.saturating_add(other);
        }
        self.charge.add_sum(&others.charge);
        self.estimated_charge.add_sum(&others.estimated_charge);
        self.costed_charge.add_sum(&others.costed_charge);
        self.cost.add_sum(&others.cost);
        self.reported_cost.add_sum(&others.reported_cost);
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
            if record.status == UsageStatus::Estimated {
                self.estimated_charge.add(charge);
            }
            if let Some(cost) = record.cost() {
                self.costed_charge.add(charge);
                self.cost.add(cost);
            }
        }
    }

    /// The charges whose cost is known, without that cost.
    pub fn margin(&self) -> SignedSum {
        SignedSum::difference(&self.costed_charge, &self.cost)
    }

    /// A count.
    pub fn count(&self, measure: Measure) -> u128 {
        self.counts.get(measure as usize).copied().unwrap_or(0)
    }
}
