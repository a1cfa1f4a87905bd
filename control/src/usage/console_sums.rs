//! Sums of a console, in the place of ledger lines.

use std::collections::BTreeMap;

use serde::Deserialize;
use time::OffsetDateTime;
use trilane_console::ledger::{Measure, Sum, UsageColumn, UsageTotals};

use super::args::UsageArgs;
use super::groups::Groups;
use super::pick::Pick;
use super::report::UsageReport;
use crate::console_api::ConsoleApi;
use crate::failure::Failure;
use crate::terminal::{printable, say};
use crate::timestamp;

/// Sums of requests with the same values, in one currency.
#[derive(Debug, Deserialize)]
struct ConsoleSums {
    values: BTreeMap<String, String>,
    currency: String,
    counts: BTreeMap<String, u64>,
    charge: String,
    estimated_charge: String,
    /// Absent for who may not see costs, as the next.
    costed_charge: Option<String>,
    cost: Option<String>,
}

impl ConsoleSums {
    /// The totals; `None`: this is not what a console of this release answers.
    fn totals(&self) -> Option<UsageTotals> {
        let mut counts = [0; Measure::ALL.len()];
        for (count, measure) in counts.iter_mut().zip(Measure::ALL) {
            *count = *self.counts.get(measure.name())?;
        }
        let sum = |text: &str| Sum::parse(text).ok();
        let known = |text: &Option<String>| text.as_deref().map_or(Some(Sum::default()), sum);
        let amounts = [
            sum(&self.charge)?,
            sum(&self.estimated_charge)?,
            known(&self.costed_charge)?,
            known(&self.cost)?,
        ];
        Some(UsageTotals::stored(counts, amounts))
    }

    /// The value of a column.
    fn value(&self, column: &UsageColumn) -> Option<String> {
        match column {
            UsageColumn::Currency => Some(self.currency.clone()),
            column => self.values.get(column.name()).cloned(),
        }
    }
}

/// A value of `--key`, `--group` or `--model`: the parameter, and the value; `None`: whatever it is.
type Filter<'a> = (&'static str, Option<&'a str>);

/// Reads the sums. The second result says whether each value that a filter names has some.
///
/// # Errors
/// The console does not give them, or has none of what is asked for.
pub fn read(
    console: &ConsoleApi,
    args: &UsageArgs,
) -> Result<(UsageReport, Result<(), Failure>), Failure> {
    let by = columns(&args.by)?;
    let since = hour("--since", args.since)?;
    let until = hour("--until", args.until)?;
    let mut groups = Groups::new(&args.by);
    let mut unknown = vec![Pick::ReportedCost];
    let mut found: Vec<Filter<'_>> = Vec::new();
    for filters in combinations(args) {
        let mut parameters = vec![("by", by.as_str())];
        parameters.extend(since.as_deref().map(|since| ("since", since)));
        parameters.extend(until.as_deref().map(|until| ("until", until)));
        for (name, value) in filters {
            // A request that has none has an empty one.
            let value = value.map(|value| if value == "-" { "" } else { value });
            parameters.extend(value.map(|value| (name, value)));
        }
        let all: Vec<ConsoleSums> = console.list("/api/v1/usage", &parameters)?;
        if !all.is_empty() {
            found.extend(filters);
        }
        for sums in all {
            let values = args.by.iter().map(|column| sums.value(column));
            let values: Option<Vec<String>> = values.collect();
            let totals = sums.totals().zip(values);
            let (totals, values) = totals.ok_or_else(|| Failure::from(console.unexpected()))?;
            groups.add_sums(&values, &sums.currency, &totals);
            if sums.cost.is_none() && unknown.len() == 1 {
                unknown.extend([Pick::CostedCharge, Pick::Cost, Pick::Margin]);
            }
        }
    }
    let report = UsageReport {
        unknown,
        ..groups.into_report()
    };
    if let Some(pick) = args.columns.iter().find(|pick| !report.knows(**pick)) {
        let name = pick.name();
        let why = if *pick == Pick::ReportedCost {
            "only ledger files have it"
        } else {
            "only admins and viewers see it"
        };
        return Err(Failure::Usage(format!(
            "--columns {name}: the console does not say it; {why}"
        )));
    }
    Ok((report, verdict(args, &found)))
}

/// The columns as the console has them.
fn columns(by: &[UsageColumn]) -> Result<String, Failure> {
    let mut names = Vec::new();
    for column in by.iter().filter(|column| **column != UsageColumn::Currency) {
        let name = column.name();
        if !column.is_stored() {
            return Err(Failure::Usage(format!(
                "--by {name}: a console adds up nothing by {name}; ledger files do"
            )));
        }
        names.push(name);
    }
    Ok(names.join(","))
}

/// A whole hour, as the console takes it.
fn hour(option: &str, time: Option<OffsetDateTime>) -> Result<Option<String>, Failure> {
    let Some(time) = time else {
        return Ok(None);
    };
    let hour = timestamp::hour(time);
    if timestamp::parse(&format!("{hour}:00:00Z")) != Some(time) {
        return Err(Failure::Usage(format!(
            "{option}: a console has sums of whole hours (UTC): name one, such as {hour}:00:00Z, or read ledger files"
        )));
    }
    Ok(Some(hour))
}

/// One value of each filter at a time: sums of different ones share no request.
fn combinations(args: &UsageArgs) -> Vec<[Filter<'_>; 3]> {
    let mut all = Vec::new();
    for key in distinct(&args.key) {
        for group in distinct(&args.group) {
            for model in distinct(&args.model) {
                all.push([("key", key), ("group", group), ("model", model)]);
            }
        }
    }
    all
}

/// Each value once; `None` alone where there is none.
fn distinct(named: &[String]) -> Vec<Option<&str>> {
    let mut values: Vec<Option<&str>> = named.iter().map(|value| Some(value.as_str())).collect();
    values.sort_unstable();
    values.dedup();
    if values.is_empty() {
        values.push(None);
    }
    values
}

/// Reports values without any request: an empty result must not pass for an answer.
fn verdict(args: &UsageArgs, found: &[Filter<'_>]) -> Result<(), Failure> {
    let named = [
        ("key", &args.key),
        ("group", &args.group),
        ("model", &args.model),
    ];
    let mut verdict = Ok(());
    for (name, values) in named {
        for value in values {
            if !found.contains(&(name, Some(value.as_str()))) {
                let value = printable(value);
                say(&format!(
                    "error: --{name} {value}: the console has no request with it that the other options leave"
                ));
                verdict = Err(Failure::Told);
            }
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_hours() {
        for (text, want) in [
            ("2026-11-24T17:00:00Z", Some("2026-11-24T17")),
            ("2026-11-24T18:00:00+01:00", Some("2026-11-24T17")),
            ("2026-11-24T17:00:01Z", None),
            ("2026-11-24T17:30:00Z", None),
        ] {
            let got = hour("--since", timestamp::parse(text));
            assert_eq!(got.ok().flatten().as_deref(), want, "{text}");
        }
    }

    #[test]
    fn each_value_once() {
        let named = ["b", "a", "b"].map(str::to_owned);
        assert_eq!(distinct(&named), [Some("a"), Some("b")]);
        assert_eq!(distinct(&[]), [None]);
    }
}
