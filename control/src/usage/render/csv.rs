//! CSV, as RFC 4180 has it: a header, the rows, the total rows.

use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};

use super::{Shown, charge, total_rows};
use crate::usage::pick::Pick;
use crate::usage::report::Report;

/// Writes the report. Charges are exact unless they are to be rounded; what a record has not is empty.
pub fn write(out: &mut dyn Write, report: &Report, round: Option<u32>) -> io::Result<()> {
    let mut csv = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    let shown = Shown::all(report);
    csv.write_record(shown.header(report))
        .map_err(io::Error::from)?;
    let totals = total_rows(report);
    for row in report.rows.iter().chain(&totals) {
        for value in &row.values {
            csv.write_field(value)?;
        }
        for pick in &shown.0 {
            match (pick, charge(*pick, row)) {
                (Pick::Measure(measure), _) => {
                    csv.write_field(row.totals.count(*measure).to_string())?;
                }
                (_, Some(charge)) => {
                    let exact = || charge.text();
                    csv.write_field(round.map_or_else(exact, |places| charge.shown(places)))?;
                }
                _ => csv.write_field(&row.currency)?,
            }
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}
