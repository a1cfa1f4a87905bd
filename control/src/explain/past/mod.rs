//! Explains a request that is over from its ledger line.
//!
//! The line is given, or found by the request's id ([`find`]), and read ([`line`]). [`cause`] has the meaning of each ending
//! and its remedy, [`bill`] the charge by items, and [`past_request`] the whole.

mod bill;
mod cause;
mod find;
mod line;
mod past_request;

use std::ffi::OsStr;

use line::LedgerLine;
use past_request::PastRequest;

use super::args::ExplainArgs;
use crate::document;
use crate::failure::Failure;
use crate::ink::Ink;
use crate::output::{self, OutputColumn, OutputFormat, OutputTable};

/// Explains each request that the command line means.
///
/// # Errors
/// There is no such request, or an input cannot be read.
pub fn run(args: &ExplainArgs, request: &OsStr) -> Result<(), Failure> {
    let lines = find::lines(args, request)?;
    let document = args.document_now().map(document::good).transpose()?;
    let stories: Vec<PastRequest<'_>> = lines
        .iter()
        .map(|line| PastRequest::new(line, document.as_ref()))
        .collect();
    output::print_beside_code(|out| match args.format.format() {
        OutputFormat::Table => stories
            .iter()
            .enumerate()
            .try_for_each(|(position, story)| {
                if position > 0 {
                    writeln!(out)?;
                }
                story.write(Ink::of_output(), out)
            }),
        OutputFormat::Csv => {
            let columns = ["request_id", "part", "text"].map(OutputColumn::text);
            OutputTable::new(columns, stories.iter().flat_map(PastRequest::rows)).write_csv(out)
        }
        OutputFormat::Json => stories
            .iter()
            .try_for_each(|story| output::write_json(story, out)),
    })
}
