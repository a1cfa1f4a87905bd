//! The options of `trilane usage`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use time::OffsetDateTime;
use trilane_console::ledger::{LedgerRecord, UsageColumn};

use super::pick::Pick;
use crate::console_api::ServerArgs;
use crate::failure::Failure;
use crate::output::{FormatArgs, OutputFormat};
use crate::timestamp;

/// Adds up usage and charges from ledger lines.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Charges are added up exactly and never rounded. --round only changes what the table and CSV show: each \
charge, totals included, is rounded once, at the end, half away from zero; so shown charges may differ from \
their shown total in the last digit.

The table shows requests, input, output and charge, and the columns for failed, estimated, partial and uncovered \
requests, for images, and for cost and margin if they are not empty. --wide or --columns show others; CSV and JSON have all.

With --server the sums are those of a console, by hour, of what its gateways have sent: the same columns, digit for digit, as far as \
the person whose token it is may see them. It has no sums by status, and none of reported_cost; what lines lack is told on its pages.

Exit codes:
  0  the totals are complete
  1  they are not, or input cannot be read, or there is nothing of what --key, --group or --model names
  2  wrong command line")]
pub struct UsageArgs {
    /// Ledger files in their order, plain or gzip; `-` or none: standard input
    #[arg(value_name = "FILE", conflicts_with = "server")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub server: ServerArgs,

    /// The columns to group by, in this order
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        value_parser = ColumnParser,
        default_value = "key,group,model"
    )]
    pub by: Vec<UsageColumn>,

    #[command(flatten)]
    pub format: FormatArgs,

    /// The table's columns beside what it is grouped by, in this order; `all` as --wide
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(Pick::names()).map(|name| Pick::of(&name)),
        conflicts_with = "wide"
    )]
    pub columns: Vec<Pick>,

    /// Show every column of the table, except rare ones that are empty
    #[arg(long)]
    pub wide: bool,

    /// Only requests that began then or later: RFC 3339, or a day in UTC
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day)]
    pub since: Option<OffsetDateTime>,

    /// Only requests that began before: RFC 3339, or a day in UTC, which is then not included
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day)]
    pub until: Option<OffsetDateTime>,

    /// Only requests of this group; may be repeated; `-`: of none
    #[arg(long, value_name = "ID")]
    pub group: Vec<String>,

    /// Only requests of this key; may be repeated; `-`: of none
    #[arg(long, value_name = "ID")]
    pub key: Vec<String>,

    /// Only requests for this model, by its canonical name; may be repeated; `-`: for none
    #[arg(long, value_name = "NAME")]
    pub model: Vec<String>,

    /// Show charges with this many decimal places (table and CSV; JSON is always exact)
    #[arg(long, value_name = "PLACES", value_parser = clap::value_parser!(u32).range(..=28))]
    pub round: Option<u32>,

    /// Print what keys and groups have spent in the day and month (UTC) of the last request, as JSON in the form of a
    /// document's limits.budget.spent; with --key only those keys, and no groups
    #[arg(long, conflicts_with_all = ["server", "by", "format", "since", "until", "group", "model", "round", "columns", "wide"])]
    pub spent: bool,

    /// Exit with 1 if any line is not a whole ledger line
    #[arg(long, conflicts_with = "server")]
    pub strict: bool,

    /// Show no progress, even on a terminal
    #[arg(long)]
    pub no_progress: bool,
}

impl UsageArgs {
    /// Checks the combination of options.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn check(&self) -> Result<(), Failure> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since >= until
        {
            let why = "--until is not after --since: no request began in between (--until is not included)";
            return Err(Failure::Usage(why.to_owned()));
        }
        if (self.wide || !self.columns.is_empty()) && self.format.format() != OutputFormat::Table {
            let why = "--columns and --wide are for the table: CSV and JSON have every column";
            return Err(Failure::Usage(why.to_owned()));
        }
        let mut picked: Vec<Pick> = Vec::new();
        for pick in &self.columns {
            if picked.contains(pick) {
                return Err(Failure::Usage(format!(
                    "--columns names {} twice",
                    pick.name()
                )));
            }
            picked.push(*pick);
        }
        if picked.len() > 1 && picked.contains(&Pick::All) {
            let why = "--columns all has every column: name no others beside it";
            return Err(Failure::Usage(why.to_owned()));
        }
        let mut known: Vec<UsageColumn> = Vec::new();
        for column in &self.by {
            if known.contains(column) {
                return Err(Failure::Usage(format!(
                    "--by names {} twice",
                    column.name()
                )));
            }
            known.push(column.clone());
        }
        Ok(())
    }

    /// Whether the record is selected.
    pub fn wants(&self, record: &LedgerRecord<'_>) -> bool {
        self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
            && among(&self.group, record.group())
            // What was spent counts up to the last request of all keys.
            && (self.spent || among(&self.key, record.key()))
            && among(&self.model, record.model())
    }
}

/// The columns that have names of their own.
static COLUMNS: [UsageColumn; UsageColumn::ALL.len()] = UsageColumn::ALL;

/// Reads the name of a column.
#[derive(Debug, Clone)]
struct ColumnParser;

impl ColumnParser {
    /// The names that there are without labels.
    fn names() -> impl Iterator<Item = PossibleValue> {
        let names = COLUMNS.iter();
        names.map(|column| PossibleValue::new(column.name()).help(column.help()))
    }
}

impl TypedValueParser for ColumnParser {
    type Value = UsageColumn;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<UsageColumn, clap::Error> {
        match value.to_str().and_then(UsageColumn::of) {
            Some(column) => Ok(column),
            None => {
                let names = PossibleValuesParser::new(Self::names());
                let none = names.parse_ref(command, arg, value);
                none.map(|_| UsageColumn::default())
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let label = PossibleValue::new("label:NAME").help("The value of this label");
        Some(Box::new(Self::names().chain([label])))
    }
}

/// Whether a value is wanted; every value is if none is named.
fn among(wanted: &[String], value: &str) -> bool {
    let value = if value.is_empty() { "-" } else { value };
    wanted.is_empty() || wanted.iter().any(|wanted| wanted == value)
}
