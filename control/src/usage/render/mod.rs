//! How a report is shown.

mod csv;
mod json;
mod table;

use std::io::{self, Write};

use super::args::{Args, Format};
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

/// The names of all columns.
fn header(report: &Report) -> Vec<&'static str> {
    let values = report.columns.iter().map(|column| column.name());
    let measures = Measure::ALL.into_iter().map(Measure::name);
    let currency = (!report.by_currency()).then_some("currency");
    values
        .chain(measures)
        .chain(currency)
        .chain(["charge"])
        .collect()
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
