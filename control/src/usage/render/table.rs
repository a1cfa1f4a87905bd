//! A table for people.

use std::io::{self, Write};

use super::{Shown, charge, named, total_rows};
use crate::terminal::printable;
use crate::usage::args::Args;
use crate::usage::measure::Measure;
use crate::usage::pick::Pick;
use crate::usage::report::{Report, Row};

/// Between two columns.
const GAP: &str = "  ";

/// Writes the report, aligned, with `*` at numbers of partial requests. Charges have as many decimal
/// places as the exact values need, unless they are to be rounded.
pub fn write(out: &mut dyn Write, report: &Report, args: &Args) -> io::Result<()> {
    let shown = Shown::of_table(report, args);
    let charges = report
        .rows
        .iter()
        .chain(&report.totals)
        .flat_map(|row| shown.charges(row));
    let exact = charges.map(|charge| charge.places()).max().unwrap_or(0);
    let table = Table {
        report,
        places: args.round.unwrap_or(exact),
        partial: report.count(Measure::Partial) > 0,
        shown,
    };
    let head = table.shown.header(report);
    let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
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
    shown: Shown,
}

impl Table<'_> {
    fn cells<'v>(&self, values: impl Iterator<Item = &'v str>, row: &Row) -> Vec<String> {
        let rest = self
            .shown
            .0
            .iter()
            .map(|pick| match (pick, charge(*pick, row)) {
                (Pick::Measure(measure), _) => {
                    let count = row.totals.count(*measure);
                    match measure {
                        Measure::Partial if self.partial && count > 0 => format!("{count}*"),
                        Measure::Partial if self.partial => format!("{count} "),
                        _ => count.to_string(),
                    }
                }
                (_, Some(charge)) => charge.shown(self.places),
                _ => printable(named(&row.currency)),
            });
        values.map(printable).chain(rest).collect()
    }

    /// Texts to the left, numbers to the right.
    fn aligned(&self, line: &[String], widths: &[usize]) -> String {
        let values = self.report.columns.len();
        let currency = self.shown.0.iter().position(|pick| *pick == Pick::Currency);
        let currency = currency.map(|place| values.saturating_add(place));
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
