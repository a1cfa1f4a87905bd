//! `trilane check`: whether the gateway would take a document, and everything that is against it.

mod args;
mod report;

use std::io::{self, Write as _};

pub use args::Args;
use report::{Report, Verdict};

use crate::document;
use crate::failure::Failure;
use crate::ink::Ink;

/// Judges every document.
///
/// # Errors
/// One that is not good, or cannot be read.
pub fn run(args: &Args) -> Result<(), Failure> {
    let verdicts = args.documents.iter().map(|path| {
        let name = path.display().to_string();
        match document::read(path) {
            Ok(bytes) => Verdict::of(name, &bytes, args.strict),
            Err(why) => Verdict::unreadable(name, why),
        }
    });
    let report = Report::new(verdicts.collect());
    // Whoever looks at the code alone may have closed the output.
    match tell(&report, args.json).map_err(|error| Failure::of_output(&error)) {
        Err(Failure::Closed) | Ok(()) => {}
        failed => return failed,
    }
    let unread = report.documents.iter().filter_map(Verdict::why_unread);
    let unread: Vec<&str> = unread.collect();
    if !unread.is_empty() {
        return Err(Failure::Unreadable(unread.join("\nerror: ")));
    }
    if report.good {
        Ok(())
    } else {
        Err(Failure::Told)
    }
}

fn tell(report: &Report, json: bool) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if json {
        let text = serde_json::to_string(report).map_err(io::Error::other)?;
        writeln!(out, "{text}")?;
    } else {
        report.lines(Ink::of_output(), &mut out)?;
    }
    out.flush()
}
