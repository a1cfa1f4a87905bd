//! `trilane check`: whether the gateway would accept a document, and every problem of it.

mod args;
mod report;

pub use args::CheckArgs;
use report::{CheckReport, DocumentReport};

use crate::document;
use crate::failure::Failure;
use crate::ink::Ink;
use crate::output::{self, OutputFormat};

/// Checks every document.
///
/// # Errors
/// One is invalid, or cannot be read.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let verdicts = args.documents().map(|path| {
        let name = path.display().to_string();
        match document::read(path) {
            Ok(bytes) => DocumentReport::of(name, &bytes, &document::prices_of(path), args.strict),
            Err(why) => DocumentReport::unreadable(name, why),
        }
    });
    let report = CheckReport::new(verdicts.collect());
    output::print_beside_code(|out| match args.format.format() {
        OutputFormat::Table => report.lines(Ink::of_output(), out),
        OutputFormat::Csv => report.table().write_csv(out),
        OutputFormat::Json => output::write_json(&report, out),
    })?;
    let unread = report
        .documents
        .iter()
        .filter_map(DocumentReport::why_unread);
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
