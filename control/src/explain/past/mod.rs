//! Explains a request that is over from its ledger line.
//!
//! The line is given, or found by the request's id ([`find`]). What it means is in [`trilane_console::explain`], and
//! [`lines`] writes that.

mod find;
mod lines;

use std::ffi::OsStr;

use trilane_console::explain::PastRequest;

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
    let found = find::lines(args, request)?;
    let document = args.document_now().map(document::good).transpose()?;
    let stories: Vec<PastRequest<'_>> = found
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
                lines::write(story, Ink::of_output(), out)
            }),
        OutputFormat::Csv => {
            let columns = ["request_id", "part", "text"].map(OutputColumn::text);
            OutputTable::new(columns, stories.iter().flat_map(lines::rows)).write_csv(out)
        }
        OutputFormat::Json => stories
            .iter()
            .try_for_each(|story| output::write_json(story, out)),
    })
}
