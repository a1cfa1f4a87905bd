//! The report as one JSON object. Charges are always exact decimal strings.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use trilane_console::ledger::{Measure, SignedSum, Sum, UsageTotals};

use crate::output::write_json;
use crate::usage::pick::Pick;
use crate::usage::report::{UsageReport, UsageRow};
use crate::usage::tally::LineTally;

/// Writes the report, with the counts of lines where it was made from lines.
pub fn write(
    out: &mut dyn Write,
    report: &UsageReport,
    tally: Option<&LineTally>,
) -> io::Result<()> {
    write_json(&JsonReport { report, tally }, out)
}

struct JsonReport<'a> {
    report: &'a UsageReport,
    tally: Option<&'a LineTally>,
}

impl Serialize for JsonReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { report, tally } = self;
        let by: Vec<_> = report.columns.iter().map(|column| column.name()).collect();
        let rows: Vec<_> = report
            .rows
            .iter()
            .map(|row| OneRow { report, row })
            .collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("by", &by)?;
        map.serialize_entry("rows", &rows)?;
        map.serialize_entry("total", &Total(report))?;
        if let Some(tally) = tally {
            map.serialize_entry("lines", &tally.lines)?;
            map.serialize_entry("skipped", &tally.skipped.count)?;
            map.serialize_entry("damaged", &tally.damaged.count)?;
            map.serialize_entry("torn", &tally.torn.count)?;
            map.serialize_entry("left_out", &tally.left_out)?;
        }
        map.end()
    }
}

struct OneRow<'a> {
    report: &'a UsageReport,
    row: &'a UsageRow,
}

impl Serialize for OneRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { report, row } = self;
        let mut map = serializer.serialize_map(None)?;
        for (column, value) in report.columns.iter().zip(&row.values) {
            map.serialize_entry(column.name(), value)?;
        }
        for measure in Measure::ALL {
            map.serialize_entry(measure.name(), &row.totals.count(measure))?;
        }
        if !report.by_currency() {
            map.serialize_entry("currency", &row.currency)?;
        }
        map.serialize_entry("charge", &row.totals.charge.text())?;
        map.serialize_entry("estimated_charge", &row.totals.estimated_charge.text())?;
        // What the source does not have is null, not 0.
        let totals = &row.totals;
        for (pick, sum) in [
            (Pick::CostedCharge, SignedSum::from(totals.costed_charge)),
            (Pick::Cost, totals.cost.into()),
            (Pick::Margin, totals.margin()),
            (Pick::ReportedCost, totals.reported_cost.into()),
        ] {
            let known = report.knows(pick).then(|| sum.text());
            map.serialize_entry(pick.name(), &known)?;
        }
        map.end()
    }
}

/// The counts of everything. Charges of several currencies have no sum, so then `charge`, `estimated_charge` and those of costs are
/// null; `charges`, `estimated_charges` and so on have them by currency, always.
struct Total<'a>(&'a UsageReport);

impl Serialize for Total<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = self.0;
        let only = match report.totals.as_slice() {
            [row] => Some(row),
            _ => None,
        };
        let mut map = serializer.serialize_map(None)?;
        for measure in Measure::ALL {
            map.serialize_entry(measure.name(), &report.count(measure))?;
        }
        map.serialize_entry("currency", &only.map(|row| &row.currency))?;
        let sums: [NamedSum; 5] = [
            (Pick::Charge, "charges", |totals| totals.charge.into()),
            (Pick::EstimatedCharge, "estimated_charges", |totals| {
                totals.estimated_charge.into()
            }),
            (Pick::CostedCharge, "costed_charges", |totals| {
                totals.costed_charge.into()
            }),
            (Pick::Cost, "costs", |totals| totals.cost.into()),
            (Pick::Margin, "margins", UsageTotals::margin),
        ];
        for (pick, by_currency, which) in sums {
            let is_known = report.knows(pick);
            let only = only.filter(|_| is_known);
            map.serialize_entry(pick.name(), &only.map(|row| which(&row.totals).text()))?;
            let known = is_known.then_some(ByCurrency(&report.totals, which));
            map.serialize_entry(by_currency, &known)?;
        }
        // Of all currencies: vendors say it in dollars.
        let mut reported = Sum::default();
        for row in &report.totals {
            reported.add(row.totals.reported_cost.value());
        }
        let known = report.knows(Pick::ReportedCost).then(|| reported.text());
        map.serialize_entry("reported_cost", &known)?;
        map.end()
    }
}

/// The column of a sum, the name of its parts by currency, and the sum of totals.
type NamedSum = (Pick, &'static str, fn(&UsageTotals) -> SignedSum);

/// Charges, or sums beside them, by currency.
struct ByCurrency<'a>(&'a [UsageRow], fn(&UsageTotals) -> SignedSum);

impl Serialize for ByCurrency<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A row with neither currency nor charge has no charge.
        let charged = |row: &&UsageRow| !row.currency.is_empty() || !row.totals.charge.is_zero();
        let charges = self.0.iter().filter(charged);
        let which = self.1;
        serializer.collect_map(charges.map(|row| (&row.currency, which(&row.totals).text())))
    }
}
