//! A table for people.

use std::io::{self, Write};

use super::{header, named, total_rows};
use crate::terminal::printable;
use crate::usage::measure::Measure;
use crate::usage::report::{Report, Row};

/// Between two columns.
const GAP: &str = "  ";

/// Writes the report, aligned, with `*` at numbers of partial requests. Charges have as many decimal
/// places as the exact values need, unless they are to be rounded.
pub fn write(out: &mut dyn Write, report: &Report, round: Option<u32>) -> io::Result<()> {
    let charges = report
        .rows
        .iter()
        .chain(&report.totals)
        .map(|row| &row.totals.charge);
    let exact = charges.map(|charge| charge.places()).max().unwrap_or(0);
    let table = Table {
        report,
        places: round.unwrap_or(exact),
        partial: report.count(Measure::Partial) > 0,
    };
    let head: Vec<String> = header(report).into_iter().map(str::to_owned).collect();
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|row| table.cells(row.values.iter().map(|value| named(value)), row))
        .collect();
    let totals = total_rows(report);
    let totals: Vec<_> = totals
        .iter()
        .map(|row| table.cells(row.values.iter().map(String::as_str), row))
        .collect();

    let widths: Vec<usize> = (0..head.len())
        .map(|place| {
            let lines = [&head].into_iter().chain(&rows).chain(&totals);
            lines
                .filter_map(|line| line.get(place))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    for line in [&head, &rule]
        .into_iter()
        .chain(&rows)
        .chain([&rule])
        .chain(&totals)
    {
        writeln!(out, "{}", table.aligned(line, &widths))?;
    }
    Ok(())
}

struct Table<'a> {
    report: &'a Report,
    places: u32,
    /// Whether there are partial requests.
    partial: bool,
}

impl Table<'_> {
    fn cells<'v>(&self, values: impl Iterator<Item = &'v str>, row: &Row) -> Vec<String> {
        let measures = Measure::ALL.into_iter().map(|measure| {
            let count = row.totals.count(measure);
            match measure {
                Measure::Partial if self.partial && count > 0 => format!("{count}*"),
                Measure::Partial if self.partial => format!("{count} "),
                _ => count.to_string(),
            }
        });
        let currency = (!self.report.by_currency()).then(|| printable(named(&row.currency)));
        let charge = row.totals.charge.shown(self.places);
        values
            .map(printable)
            .chain(measures)
            .chain(currency)
            .chain([charge])
            .collect()
    }

    /// Texts to the left, numbers to the right.
    fn aligned(&self, line: &[String], widths: &[usize]) -> String {
        let values = self.report.columns.len();
        let currency = if self.report.by_currency() {
            None
        } else {
            line.len().checked_sub(2)
        };
        let cells = line
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(place, (cell, width))| {
                if place < values || Some(place) == currency {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }
}
