//! Sums over records.

use super::charge::{Inexact, Sum};
use super::measure::Measure;
use super::record::{LedgerRecord, Status};

/// The sums over some records. Each record adds less than 2^64 to a count, so no count can overflow before 2^64 records.
#[derive(Debug, Clone, Default)]
pub struct UsageTotals {
    counts: [u128; Measure::ALL.len()],
    /// Their charges, all of one currency.
    pub charge: Sum,
    /// The part of them that is estimated.
    pub estimated_charge: Sum,
}

impl UsageTotals {
    /// Sums as they were stored: the counts in the order of [`Measure::ALL`], and the charges.
    pub fn stored(counts: [u64; Measure::ALL.len()], charge: Sum, estimated_charge: Sum) -> Self {
        Self {
            counts: counts.map(u128::from),
            charge,
            estimated_charge,
        }
    }

    /// Adds others, whose charges have the same currency.
    ///
    /// # Errors
    /// The sum of charges would not be exact.
    pub fn add_all(&mut self, others: &Self) -> Result<(), Inexact> {
        self.add_counts(others);
        self.charge.add(others.charge.value())?;
        self.estimated_charge.add(others.estimated_charge.value())
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The sum of charges would not be exact.
    pub fn add(&mut self, record: &LedgerRecord<'_>) -> Result<(), Inexact> {
        for (count, measure) in self.counts.iter_mut().zip(Measure::ALL) {
            *count = count.saturating_add(u128::from(record.amount(measure)));
        }
        if let Some(charge) = record.charge {
            self.charge.add(charge)?;
            if record.status == Status::Estimated {
                self.estimated_charge.add(charge)?;
            }
        }
        Ok(())
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
