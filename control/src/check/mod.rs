//! `trilane check`: whether the gateway would accept a document, and every problem of it.

mod args;
mod report;

pub use args::CheckArgs;
use report::{CheckReport, DocumentReport};

use crate::document;
use crate::failure::Failure;
use crate::in_force::NotInForce;
use crate::ink::Ink;
use crate::output::{self, OutputFormat};

/// Checks every document.
///
/// # Errors
/// One is invalid, or cannot be read.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    // A document is always named: the environment alone makes no check one by a console.
    let console = args.server.console(true)?;
    let mut verdicts = Vec::new();
    for path in args.documents() {
        let name = path.display().to_string();
        verdicts.push(match (document::read(path), &console) {
            (Err(why), _) => DocumentReport::unreadable(name, why),
            (Ok(bytes), None) => {
                if let Some(not) = NotInForce::of(path) {
                    not.note_of_check();
                }
                DocumentReport::of(name, &bytes, &document::prices_of(path), args.strict)
            }
            (Ok(bytes), Some(console)) => {
                let text = String::from_utf8_lossy(&bytes);
                let check = console.check_document(&text);
                let check = check.map_err(|error| Failure::Unreadable(error.text))?;
                DocumentReport::of_console(name, &bytes, &check, args.strict)
            }
        });
    }
    let report = CheckReport::new(verdicts);
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
