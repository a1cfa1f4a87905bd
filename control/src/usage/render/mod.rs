//! How a report is shown.

mod csv;
mod json;
mod table;

use std::io::{self, Write};

use super::args::{Args, Format};
use super::charge::Sum;
use super::column::Column;
use super::measure::Measure;
use super::report::{Report, Row};
use super::tally::Tally;

/// Writes the report in the format asked for.
///
/// # Errors
/// As the output gives them.
pub fn write(out: &mut dyn Write, args: &Args, report: &Report, tally: &Tally) -> io::Result<()> {
    match args.format {
        Format::Table => table::write(out, report, args.round),
        Format::Csv => csv::write(out, report, args.round),
        Format::Json => json::write(out, report, tally),
    }
}

/// Which columns there are beside those that records are grouped by.
struct Shown {
    measures: Vec<Measure>,
    currency: bool,
    estimated_charge: bool,
}

impl Shown {
    /// All of them.
    fn all(report: &Report) -> Self {
        Self {
            measures: Measure::ALL.to_vec(),
            currency: !report.by_currency(),
            estimated_charge: true,
        }
    }

    /// All but those that are rare and have nothing to show.
    fn telling(report: &Report) -> Self {
        let mut shown = Self::all(report);
        shown
            .measures
            .retain(|measure| !measure.is_rare() || report.count(*measure) > 0);
        shown.estimated_charge = report.has_estimated_charges();
        shown
    }

    /// The names of all columns.
    fn header(&self, report: &Report) -> Vec<&'static str> {
        let values = report.columns.iter().map(|column| column.name());
        let measures = self.measures.iter().map(|measure| measure.name());
        values
            .chain(measures)
            .chain(self.currency.then_some("currency"))
            .chain(self.estimated_charge.then_some("estimated_charge"))
            .chain(["charge"])
            .collect()
    }

    /// The charges of a row, in their order.
    fn charges<'a>(&self, row: &'a Row) -> impl Iterator<Item = &'a Sum> {
        let estimated = self
            .estimated_charge
            .then_some(&row.totals.estimated_charge);
        estimated.into_iter().chain([&row.totals.charge])
    }
}

/// The total rows: one a currency. The first column says what they are.
fn total_rows(report: &Report) -> Vec<Row> {
    let several = report.totals.len() > 1;
    let total = |row: &Row| {
        let values =
            report
                .columns
                .iter()
                .enumerate()
                .map(|(place, column)| match (place, column) {
                    // Here the currency has no column of its own.
                    (0, Column::Currency) if several => format!("TOTAL {}", named(&row.currency)),
                    (0, _) => "TOTAL".to_owned(),
                    (_, Column::Currency) => row.currency.clone(),
                    _ => String::new(),
                });
        Row {
            values: values.collect(),
            ..row.clone()
        }
    };
    report.totals.iter().map(total).collect()
}

/// A value, or what stands for none.
fn named(value: &str) -> &str {
    if value.is_empty() { "-" } else { value }
}
