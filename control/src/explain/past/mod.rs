//! What happened to a request that is over, as its line of the ledger tells it.
//!
//! The line is given, or found by a request's id ([`find`]); [`line`] reads it, [`cause`] knows what an ending means and what
//! to do then, [`bill`] what was charged and why, and [`story`] puts it together.

mod bill;
mod cause;
mod find;
mod line;
mod story;

use std::io::{self, Write as _};

use line::Line;
use story::Story;

use super::args::Args;
use crate::document;
use crate::failure::Failure;
use crate::ink::Ink;

/// Explains each request that the command line means.
///
/// # Errors
/// No such request, or nothing that can be read.
pub fn run(args: &Args) -> Result<(), Failure> {
    let lines = find::lines(args)?;
    let document = args.now.as_deref().map(document::good).transpose()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let told = lines.iter().enumerate().try_for_each(|(position, line)| {
        let story = Story::new(line, document.as_ref());
        if args.json {
            let text = serde_json::to_string(&story).map_err(io::Error::other)?;
            return writeln!(out, "{text}");
        }
        if position > 0 {
            writeln!(out)?;
        }
        story.write(Ink::of_output(), &mut out)
    });
    let told = told.and_then(|()| out.flush());
    // Whoever looks at the code alone may have closed the output.
    match told.map_err(|error| Failure::of_output(&error)) {
        Err(Failure::Closed) | Ok(()) => Ok(()),
        failed => failed,
    }
}
