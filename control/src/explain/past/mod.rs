//! What happened to a request that is over, as its line of the ledger tells it.
//!
//! The line is given, or found by a request's id ([`find`]); [`line`] reads it, [`cause`] knows what an ending means and what
//! to do then, [`bill`] what was charged and why, and [`story`] puts it together.

mod bill;
mod cause;
mod find;
mod line;
mod story;

use std::ffi::OsStr;

use line::Line;
use story::Story;

use super::args::Args;
use crate::document;
use crate::failure::Failure;
use crate::ink::Ink;
use crate::output::{self, OutputColumn, OutputFormat, OutputTable};

/// Explains each request that the command line means.
///
/// # Errors
/// No such request, or nothing that can be read.
pub fn run(args: &Args, request: &OsStr) -> Result<(), Failure> {
    let lines = find::lines(args, request)?;
    let document = args.document_now().map(document::good).transpose()?;
    let stories: Vec<Story<'_>> = lines
        .iter()
        .map(|line| Story::new(line, document.as_ref()))
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
            OutputTable::new(columns, stories.iter().flat_map(Story::rows)).write_csv(out)
        }
        OutputFormat::Json => stories
            .iter()
            .try_for_each(|story| output::write_json(story, out)),
    })
}
