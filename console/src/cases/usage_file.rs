//! Usage as a file for spreadsheets.

use super::problem::ApiProblem;
use super::usage::UsageView;
use crate::csv_file::{CsvFile, cell};
use crate::ledger::Measure;

/// The rows that a file may have.
pub const MOST: u32 = 100_000;

/// The problem of a file that would have more.
pub fn too_many() -> ApiProblem {
    ApiProblem::bad(text!(
        "There are more than 100,000 rows. Choose a shorter time, or fewer columns."
    ))
}

/// All rows, with every count and the exact charges, and costs where the rows have them.
///
/// # Errors
/// None but of the console itself.
pub fn usage_file(
    name: &str,
    by: &[impl AsRef<str>],
    rows: &[UsageView],
) -> Result<CsvFile, ApiProblem> {
    let measures = Measure::ALL.map(Measure::name);
    // The currency has a column in any case.
    let by = || {
        by.iter()
            .map(AsRef::as_ref)
            .filter(|name| *name != "currency")
    };
    let has_costs = rows.iter().any(|row| row.cost.is_some());
    let costs: &[&str] = if has_costs {
        &["costed_charge", "cost", "margin"]
    } else {
        &[]
    };
    let heads = by().chain(["currency"]).chain(measures);
    let heads = heads.chain(["charge", "estimated_charge"]);
    let heads = heads.chain(costs.iter().copied()).map(str::to_owned);
    let records = rows.iter().map(|row| {
        let values = by().map(|name| {
            let value = row.values.get(name).map(String::as_str);
            cell(value.unwrap_or_default())
        });
        let counts = measures.iter().map(|name| row.count(name).to_string());
        let charges = [row.charge.clone(), row.estimated_charge.clone()];
        let costs = [&row.costed_charge, &row.cost, &row.margin];
        let costs = costs.into_iter().flatten().cloned();
        let cells = values.chain([cell(&row.currency)]).chain(counts);
        cells.chain(charges).chain(costs).collect()
    });
    let file = CsvFile::new(name, [heads.collect()].into_iter().chain(records));
    file.map_err(|error| ApiProblem::internal(error.to_string()))
}
