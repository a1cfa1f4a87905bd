//! How a report is shown.

mod csv;
mod json;
mod table;

use std::io::{self, Write};

use super::args::{Args, Format};
use super::charge::Sum;
use super::column::Column;
use super::measure::Measure;
use super::pick::Pick;
use super::report::{Report, Row};
use super::tally::Tally;

/// Writes the report in the format asked for.
///
/// # Errors
/// As the output gives them.
pub fn write(out: &mut dyn Write, args: &Args, report: &Report, tally: &Tally) -> io::Result<()> {
    match args.format {
        Format::Table => table::write(out, report, args),
        Format::Csv => csv::write(out, report, args.round),
        Format::Json => json::write(out, report, tally),
    }
}

/// Which columns there are beside those that records are grouped by, in their order.
struct Shown(Vec<Pick>);

impl Shown {
    /// All of them.
    fn all(report: &Report) -> Self {
        let measures = Measure::ALL.map(Pick::Measure).into_iter();
        let currency = (!report.by_currency()).then_some(Pick::Currency);
        let charges = [Pick::EstimatedCharge, Pick::Charge];
        Self(measures.chain(currency).chain(charges).collect())
    }

    /// Those of a table: what was asked for, else what tells most.
    fn of_table(report: &Report, args: &Args) -> Self {
        let mut shown = Self::all(report);
        if !args.wide && args.columns.is_empty() {
            shown.0.retain(|pick| match pick {
                Pick::Measure(measure) => {
                    measure.is_usual() || (measure.matters() && report.count(*measure) > 0)
                }
                Pick::EstimatedCharge | Pick::All => false,
                Pick::Currency | Pick::Charge => true,
            });
        } else if args.wide || args.columns.contains(&Pick::All) {
            shown.0.retain(|pick| match pick {
                Pick::Measure(measure) => !measure.is_rare() || report.count(*measure) > 0,
                Pick::EstimatedCharge => report.has_estimated_charges(),
                _ => true,
            });
        } else {
            let by_currency = report.by_currency();
            let asked = args.columns.iter().copied();
            // Where rows are grouped by it, it stands there.
            shown.0 = asked
                .filter(|pick| !(by_currency && *pick == Pick::Currency))
                .collect();
            // Nobody can add up charges of several currencies, nor tell them apart.
            let charged = shown
                .0
                .iter()
                .position(|pick| matches!(pick, Pick::Charge | Pick::EstimatedCharge));
            if let Some(place) = charged
                && report.totals.len() > 1
                && !by_currency
                && !shown.0.contains(&Pick::Currency)
            {
                shown.0.insert(place, Pick::Currency);
            }
        }
        shown
    }

    /// The names of all columns.
    fn header(&self, report: &Report) -> Vec<&'static str> {
        let values = report.columns.iter().map(|column| column.name());
        values
            .chain(self.0.iter().map(|pick| pick.name()))
            .collect()
    }

    /// The charges of a row, in their order.
    fn charges<'a>(&self, row: &'a Row) -> impl Iterator<Item = &'a Sum> {
        self.0.iter().filter_map(|pick| charge(*pick, row))
    }
}

/// What a column of charges has in a row; `None` for any other column.
fn charge(pick: Pick, row: &Row) -> Option<&Sum> {
    match pick {
        Pick::Charge => Some(&row.totals.charge),
        Pick::EstimatedCharge => Some(&row.totals.estimated_charge),
        _ => None,
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
