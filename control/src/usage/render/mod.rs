//! Prints a report.

mod json;

use std::io::{self, Write};

use trilane_console::ledger::{Measure, SignedSum, UsageColumn};

use super::args::UsageArgs;
use super::pick::Pick;
use super::report::{UsageReport, UsageRow};
use super::tally::LineTally;
use crate::output::{OutputColumn, OutputFormat, OutputTable};

/// Writes the report in the format asked for.
///
/// # Errors
/// As the output gives them.
pub fn write(
    out: &mut dyn Write,
    args: &UsageArgs,
    report: &UsageReport,
    tally: Option<&LineTally>,
) -> io::Result<()> {
    match args.format.format() {
        OutputFormat::Table => for_people(report, args).write_aligned(out),
        OutputFormat::Csv => for_programs(report, args.round).write_csv(out),
        OutputFormat::Json => json::write(out, report, tally),
    }
}

/// The table for people, with `*` at numbers of partial requests and `-` for what a request has not. Charges have as many
/// decimal places as the exact values need, unless they are to be rounded.
fn for_people<'a>(
    report: &'a UsageReport,
    args: &UsageArgs,
) -> OutputTable<impl Iterator<Item = Vec<String>> + 'a> {
    let shown = ShownColumns::of_table(report, args);
    let charges = report
        .rows
        .iter()
        .chain(&report.totals)
        .flat_map(|row| shown.charges(row));
    let exact = charges.map(|charge| charge.places()).max().unwrap_or(0);
    let places = args.round.unwrap_or(exact);
    let has_partial = report.count(Measure::Partial) > 0;
    table(report, shown, named, move |pick, row| {
        match (pick, charge(pick, row)) {
            (Pick::Measure(measure), _) => {
                let count = row.totals.count(measure);
                match measure {
                    Measure::Partial if has_partial && count > 0 => format!("{count}*"),
                    Measure::Partial if has_partial => format!("{count} "),
                    _ => count.to_string(),
                }
            }
            (_, Some(charge)) => charge.shown(places),
            _ => named(&row.currency).to_owned(),
        }
    })
}

/// The table for programs: every column. Charges are exact unless they are to be rounded; what a request has not is empty.
fn for_programs(
    report: &UsageReport,
    round: Option<u32>,
) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
    let as_it_is: fn(&str) -> &str = |value| value;
    table(
        report,
        ShownColumns::all(report),
        as_it_is,
        move |pick, row| match (pick, charge(pick, row)) {
            _ if !report.knows(pick) => String::new(),
            (Pick::Measure(measure), _) => row.totals.count(measure).to_string(),
            (_, Some(charge)) => round.map_or_else(|| charge.text(), |places| charge.shown(places)),
            _ => row.currency.clone(),
        },
    )
}

/// A table of all rows and totals: `value` shows what a row is grouped by, `cell` the rest.
fn table<'a>(
    report: &'a UsageReport,
    shown: ShownColumns,
    value: fn(&str) -> &str,
    cell: impl Fn(Pick, &UsageRow) -> String + 'a,
) -> OutputTable<impl Iterator<Item = Vec<String>> + 'a> {
    let values = report.columns.iter();
    let columns = values.map(|column| OutputColumn::named(column.name().to_owned().into()));
    let columns = columns
        .chain(shown.0.iter().map(|pick| pick.column()))
        .collect();
    let cells = move |values: Vec<String>, row: &UsageRow| {
        let rest = shown.0.iter().map(|pick| cell(*pick, row));
        values.into_iter().chain(rest).collect::<Vec<String>>()
    };
    let totals = total_rows(report).into_iter();
    let totals = totals.map(|row| cells(row.values.clone(), &row)).collect();
    let rows = report.rows.iter().map(move |row| {
        let values = row.values.iter().map(|text| value(text).to_owned());
        cells(values.collect(), row)
    });
    OutputTable {
        columns,
        rows,
        totals,
    }
}

/// The columns beside those that rows are grouped by, in order.
struct ShownColumns(Vec<Pick>);

impl ShownColumns {
    /// All of them.
    fn all(report: &UsageReport) -> Self {
        let measures = Measure::ALL.map(Pick::Measure).into_iter();
        let measures = measures.chain([Pick::ReportedCost]);
        let currency = (!report.by_currency()).then_some(Pick::Currency);
        let charges = [
            Pick::EstimatedCharge,
            Pick::Charge,
            Pick::CostedCharge,
            Pick::Cost,
            Pick::Margin,
        ];
        Self(measures.chain(currency).chain(charges).collect())
    }

    /// Those of the table for people: what was asked for, else the most important ones.
    fn of_table(report: &UsageReport, args: &UsageArgs) -> Self {
        let mut shown = Self::all(report);
        if !args.wide && args.columns.is_empty() {
            shown.0.retain(|pick| match pick {
                Pick::Measure(measure) => {
                    measure.is_usual() || (measure.matters() && report.count(*measure) > 0)
                }
                Pick::EstimatedCharge | Pick::CostedCharge | Pick::ReportedCost | Pick::All => {
                    false
                }
                Pick::Cost | Pick::Margin => report.has_costs(),
                Pick::Currency | Pick::Charge => true,
            });
        } else if args.wide || args.columns.contains(&Pick::All) {
            shown.0.retain(|pick| match pick {
                Pick::Measure(measure) => !measure.is_rare() || report.count(*measure) > 0,
                Pick::EstimatedCharge => report.has_estimated_charges(),
                Pick::ReportedCost => report.has_reported_costs(),
                Pick::CostedCharge | Pick::Cost | Pick::Margin => report.has_costs(),
                _ => true,
            });
        } else {
            let by_currency = report.by_currency();
            let asked = args.columns.iter().copied();
            // Rows that are grouped by currency have it already.
            shown.0 = asked
                .filter(|pick| !(by_currency && *pick == Pick::Currency))
                .collect();
            // Charges of several currencies must be told apart.
            let charged = shown.0.iter().position(|pick| pick.is_of_one_currency());
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

    /// The charges of a row, in their order.
    fn charges(&self, row: &UsageRow) -> impl Iterator<Item = SignedSum> {
        self.0.iter().filter_map(|pick| charge(*pick, row))
    }
}

/// The charge in a column of charges; `None` for any other column.
fn charge(pick: Pick, row: &UsageRow) -> Option<SignedSum> {
    let totals = &row.totals;
    match pick {
        Pick::Charge => Some(totals.charge.into()),
        Pick::EstimatedCharge => Some(totals.estimated_charge.into()),
        Pick::CostedCharge => Some(totals.costed_charge.into()),
        Pick::Cost => Some(totals.cost.into()),
        Pick::Margin => Some(totals.margin()),
        Pick::ReportedCost => Some(totals.reported_cost.into()),
        Pick::All | Pick::Measure(_) | Pick::Currency => None,
    }
}

/// The total rows, one for each currency. The first column names them.
fn total_rows(report: &UsageReport) -> Vec<UsageRow> {
    let several = report.totals.len() > 1;
    let total = |row: &UsageRow| {
        let values =
            report
                .columns
                .iter()
                .enumerate()
                .map(|(place, column)| match (place, column) {
                    // Here the currency has no column of its own.
                    (0, UsageColumn::Currency) if several => {
                        format!("TOTAL {}", named(&row.currency))
                    }
                    (0, _) => "TOTAL".to_owned(),
                    (_, UsageColumn::Currency) => row.currency.clone(),
                    _ => String::new(),
                });
        UsageRow {
            values: values.collect(),
            ..row.clone()
        }
    };
    report.totals.iter().map(total).collect()
}

/// A value, or `-` for none.
fn named(value: &str) -> &str {
    if value.is_empty() { "-" } else { value }
}
