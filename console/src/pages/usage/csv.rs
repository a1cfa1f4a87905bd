//! Usage as a file for spreadsheets.

use axum::extract::RawQuery;
use axum::response::IntoResponse as _;
use csv::{Terminator, WriterBuilder};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::asked::Asked;
use crate::cases::{ApiProblem, usage};
use crate::ledger::Measure;
use crate::pages::{PageResult, Visit};
use crate::timestamp::moment;

/// The rows that a file may have.
const MOST: u32 = 100_000;

/// The signs that a formula begins with. Spreadsheets take the full-width ones for the same.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A cell. A spreadsheet takes what begins like a formula for one, whatever is quoted, and some pass over what is not seen before
/// it: an apostrophe makes it a text.
fn cell(value: &str) -> String {
    let is_unseen = |sign: char| {
        sign.is_whitespace()
            || sign.is_control()
            || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    let seen = value.trim_start_matches(is_unseen);
    let is_formula = value.starts_with(|sign: char| sign.is_control()) || seen.starts_with(FORMULA);
    if is_formula {
        format!("'{value}")
    } else {
        value.to_owned()
    }
}

/// Records as a file (RFC 4180).
fn file(records: impl Iterator<Item = Vec<String>>) -> csv::Result<Vec<u8>> {
    let mut builder = WriterBuilder::new();
    let mut file = builder.terminator(Terminator::CRLF).from_writer(Vec::new());
    for record in records {
        file.write_record(&record)?;
    }
    file.into_inner().map_err(|error| error.into_error().into())
}

/// All rows, with every count and the exact charges.
pub async fn table(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let asked = Asked::parse(&query.unwrap_or_default(), &moment(state.now()));
    let rows = usage::all(&state, &signed_in.caller, &asked.params, MOST).await?;
    let rows = rows.ok_or_else(|| {
        ApiProblem::bad(
            "There are more than 100,000 rows. Choose a shorter time, or fewer columns.",
        )
    })?;
    let measures = Measure::ALL.map(Measure::name);
    let heads = asked.by.iter().chain(&["currency"]).chain(&measures);
    let heads = heads.chain(&["charge", "estimated_charge"]);
    // Members get no costs.
    let has_costs = signed_in.caller.only_owner().is_none();
    let costs: &[&str] = if has_costs {
        &["costed_charge", "cost", "margin"]
    } else {
        &[]
    };
    let heads = heads.chain(costs);
    let heads = heads.map(|name| (*name).to_owned());
    let records = rows.iter().map(|row| {
        let values = asked.by.iter().map(|name| {
            let value = row.values.get(name).map(String::as_str);
            cell(value.unwrap_or_default())
        });
        let counts = measures.iter().map(|name| row.count(name).to_string());
        let charges = [row.charge.clone(), row.estimated_charge.clone()];
        let cells = values.chain([cell(&row.currency)]).chain(counts);
        let costs = [&row.costed_charge, &row.cost, &row.margin];
        let costs = costs.into_iter().flatten().cloned();
        cells.chain(charges).chain(costs).collect()
    });
    let text = file([heads.collect()].into_iter().chain(records));
    let text = text.map_err(|error| ApiProblem::internal(error.to_string()))?;
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"usage.csv\""),
    ];
    Ok((headers, text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        for (value, want) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@sum(a,b)", "\"'@sum(a,b)\""),
            ("\t=1", "'\t=1"),
            ("\ta", "'\ta"),
            ("\ra", "\"'\ra\""),
            ("\na", "\"'\na\""),
            ("＝1+1", "'＝1+1"),
            ("＋1", "'＋1"),
            ("－1", "'－1"),
            ("＠sum(a)", "'＠sum(a)"),
            (" =1", "' =1"),
            ("\u{3000}=1", "'\u{3000}=1"),
            ("\u{feff}=1", "'\u{feff}=1"),
            ("\u{200b}＝1", "'\u{200b}＝1"),
            (" a", " a"),
            ("ann＝1", "ann＝1"),
            ("a=1", "a=1"),
            ("a\r\nb", "\"a\r\nb\""),
        ] {
            let written = file([vec![cell(value), "x".to_owned()]].into_iter()).unwrap();
            let want = format!("{want},x\r\n");
            assert_eq!(String::from_utf8(written).unwrap(), want, "{value:?}");
        }
    }
}
