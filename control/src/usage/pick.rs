//! The columns that a table can show.

use trilane_console::ledger::Measure;

use crate::output::OutputColumn;

/// A column beside those that records are grouped by, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// All.
    All,
    /// A number that is added up over records.
    Measure(Measure),
    /// The cost by the vendors' words.
    ReportedCost,
    /// The currency of the charges.
    Currency,
    /// The charge that rests on estimated usage.
    EstimatedCharge,
    /// The amount charged.
    Charge,
    /// The part of it whose cost is known.
    CostedCharge,
    /// Those that cost something.
    Cost,
    /// The difference of the two.
    Margin,
}

impl Pick {
    /// All columns, in the order of a whole table.
    fn columns() -> impl Iterator<Item = Self> {
        let rest = [
            Self::ReportedCost,
            Self::Currency,
            Self::EstimatedCharge,
            Self::Charge,
            Self::CostedCharge,
            Self::Cost,
            Self::Margin,
        ];
        Measure::ALL.map(Self::Measure).into_iter().chain(rest)
    }

    /// The names that the command line takes.
    pub fn names() -> Vec<&'static str> {
        let all = [Self::All].into_iter().chain(Self::columns());
        all.map(Self::name).collect()
    }

    /// By its name; all for one that is none.
    pub fn of(name: &str) -> Self {
        Self::columns()
            .find(|pick| pick.name() == name)
            .unwrap_or(Self::All)
    }

    /// Whether it adds up money that has a currency of its own in each row.
    pub fn is_of_one_currency(self) -> bool {
        matches!(
            self,
            Self::EstimatedCharge | Self::Charge | Self::CostedCharge | Self::Cost | Self::Margin
        )
    }

    /// Returns the column of a table that shows it.
    pub fn column(self) -> OutputColumn {
        match self {
            Self::Currency => OutputColumn::text(self.name()),
            _ => OutputColumn::number(self.name()),
        }
    }

    /// Returns the name, which is the same in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Measure(measure) => measure.name(),
            Self::ReportedCost => "reported_cost",
            Self::Currency => "currency",
            Self::EstimatedCharge => "estimated_charge",
            Self::Charge => "charge",
            Self::CostedCharge => "costed_charge",
            Self::Cost => "cost",
            Self::Margin => "margin",
        }
    }
}
