//! CSV, as RFC 4180 has it: a header, the rows, the total rows.

use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};

use super::{Shown, total_rows};
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
        for measure in &shown.measures {
            csv.write_field(row.totals.count(*measure).to_string())?;
        }
        if shown.currency {
            csv.write_field(&row.currency)?;
        }
        for charge in shown.charges(row) {
            csv.write_field(round.map_or_else(|| charge.text(), |places| charge.shown(places)))?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}
