//! The totals, ready to be printed.

use trilane_console::ledger::{Measure, UsageColumn, UsageTotals};

use super::pick::Pick;

/// The totals of the records with the same values.
#[derive(Debug, Clone, Default)]
pub struct UsageRow {
    /// The values, in the order of the columns; empty if records have none.
    pub values: Vec<String>,
    /// The currency of the charge; empty if there is none.
    pub currency: String,
    /// The totals.
    pub totals: UsageTotals,
}

/// All rows and their totals.
#[derive(Debug)]
pub struct UsageReport {
    /// The properties that rows are grouped by.
    pub columns: Vec<UsageColumn>,
    /// Sorted by their values. Where charges have several currencies, rows are of one currency each.
    pub rows: Vec<UsageRow>,
    /// The totals of all rows, one for each currency and at least one, without values.
    pub totals: Vec<UsageRow>,
    /// Complete records without a charge.
    pub uncharged: u64,
    /// The columns that the source of the records does not have.
    pub unknown: Vec<Pick>,
}

impl UsageReport {
    /// Whether the source of the records has a column.
    pub fn knows(&self, pick: Pick) -> bool {
        !self.unknown.contains(&pick)
    }

    /// Whether rows are grouped by currency.
    pub fn by_currency(&self) -> bool {
        self.columns.contains(&UsageColumn::Currency)
    }

    /// The number over all currencies.
    pub fn count(&self, measure: Measure) -> u128 {
        self.totals.iter().fold(0, |sum: u128, row| {
            sum.saturating_add(row.totals.count(measure))
        })
    }

    /// Whether anything was charged by estimate.
    pub fn has_estimated_charges(&self) -> bool {
        self.totals
            .iter()
            .any(|row| !row.totals.estimated_charge.is_zero())
    }

    /// Whether a vendor said what something cost.
    pub fn has_reported_costs(&self) -> bool {
        self.totals
            .iter()
            .any(|row| !row.totals.reported_cost.is_zero())
    }

    /// Whether the cost of anything is known.
    pub fn has_costs(&self) -> bool {
        let known =
            |row: &UsageRow| !row.totals.cost.is_zero() || !row.totals.costed_charge.is_zero();
        self.totals.iter().any(known)
    }

    /// Whether anything was charged.
    pub fn has_charges(&self) -> bool {
        self.totals.iter().any(|row| !row.totals.charge.is_zero())
    }
}
