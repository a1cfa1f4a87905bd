//! `trilane usage`: usage and charges, added up from the ledger.
//!
//! Lines are read one at a time ([`source`], [`lines`]). A line of a request ([`LedgerRecord`](trilane_console::ledger::LedgerRecord)) is added to the totals of its group
//! ([`groups`]), which are printed at the end ([`render`]), or to what its key and group have [`spent`]; other lines are
//! counted ([`reading`], [`tally`]). Memory grows with the number of groups, and with nothing else. A console has sums already
//! ([`console_sums`]).

mod args;
mod console_sums;
mod filter_values;
mod groups;
pub mod lines;
mod pick;
mod progress;
mod reading;
mod render;
mod report;
pub mod source;
mod spent;
mod tally;

use std::cell::Cell;
use std::io::{self, IsTerminal as _};
use std::rc::Rc;

pub use args::UsageArgs;
use filter_values::FilterValues;
use groups::Groups;
use lines::LineRead;
use progress::ProgressLine;
use reading::{Book, LedgerReader, LinePlace};
use report::UsageReport;
use source::LedgerSource;
use spent::SpentBook;
use tally::LineTally;
use trilane_console::ledger::Measure;

use crate::console_api::{ConsoleApi, SERVER_VARIABLE};
use crate::failure::Failure;
use crate::output;
use crate::terminal::say;

/// Reads, adds up and prints.
///
/// # Errors
/// Input cannot be read, output cannot be written, or a sum would not be exact; or, after all is printed, ledger lines
/// had to be left out.
pub fn run(args: &UsageArgs) -> Result<(), Failure> {
    args.check()?;
    if let Some(console) = args.server.console(!args.files.is_empty())? {
        return of_console(&console, args);
    }
    let sources = LedgerSource::all(&args.files)?;
    if args.files.is_empty() && io::stdin().is_terminal() {
        let why = "no FILE, and standard input is a terminal: name ledger files, pipe lines in, or name a console with --server URL";
        return Err(Failure::Usage(why.to_owned()));
    }
    if args.spent {
        let (spent, tally, sought) = read(args, &sources, SpentBook::of(&args.key))?;
        output::print(|out| spent.write(out))?;
        tally.tell();
        return verdict(args, &tally).and(sought.verdict());
    }
    let (groups, tally, sought) = read(args, &sources, Groups::new(&args.by))?;
    let report = groups.into_report();
    output::print(|out| render::write(out, args, &report, Some(&tally)))?;
    tally.tell();
    tell_of_partial_totals(&report);
    verdict(args, &tally).and(sought.verdict())
}

/// Prints the sums of a console.
fn of_console(console: &ConsoleApi, args: &UsageArgs) -> Result<(), Failure> {
    if args.spent || args.strict {
        let option = if args.spent { "--spent" } else { "--strict" };
        return Err(Failure::Usage(format!(
            "{option} is about ledger files, and {SERVER_VARIABLE} names a console: name the files, or `-` for standard input"
        )));
    }
    let (report, verdict) = console_sums::read(console, args)?;
    output::print(|out| render::write(out, args, &report, None))?;
    tell_of_partial_totals(&report);
    verdict
}

/// Adds the lines of all sources to a book.
fn read<B: Book>(
    args: &UsageArgs,
    sources: &[LedgerSource],
    book: B,
) -> Result<(B, LineTally, FilterValues), Failure> {
    let mut reading = LedgerReader::new(args, book);
    let taken = Rc::new(Cell::new(0));
    let size = sources.iter().map(LedgerSource::size).sum();
    let mut progress = ProgressLine::new(Rc::clone(&taken), size).filter(|_| !args.no_progress);
    let mut line = Vec::new();
    for source in sources {
        let mut input = source.open(&taken)?;
        let mut number: u64 = 0;
        loop {
            let read = lines::next(input.lines.as_mut(), &mut line)
                .map_err(|error| source.broken(&error, input.gzip, number))?;
            number = number.saturating_add(1);
            let place = LinePlace {
                source,
                line: number,
            };
            match read {
                LineRead::Line { ended } => reading.line(&line, ended, place)?,
                LineRead::TooLong => reading.too_long(place),
                LineRead::End => break,
            }
            if let Some(progress) = &mut progress {
                progress.tick(reading.lines());
            }
        }
    }
    Ok(reading.finish())
}

/// Reports why totals may be less than what was used.
fn tell_of_partial_totals(report: &UsageReport) {
    let partial = report.count(Measure::Partial);
    if partial > 0 {
        let requests = report.count(Measure::Requests);
        say(&format!(
            "note: partial requests: {partial} of {requests} (*). More may have been used than is known, so the \
             totals that include them are lower bounds"
        ));
    }
    let estimated = report.count(Measure::Estimated);
    if estimated > 0 {
        let requests = report.count(Measure::Requests);
        say(&format!(
            "note: estimated requests: {estimated} of {requests}. Their answers did not tell all that was used; what is \
             estimated is in the totals, and its charges also in estimated_charge"
        ));
    }
    let uncovered = report.count(Measure::Uncovered);
    if uncovered > 0 {
        say(&format!(
            "note: requests that used what no price covers: {uncovered} (trilane.uncovered in their lines says what). Their \
             charges may be less than what they cost, or more"
        ));
    }
    if report.has_charges() && report.uncharged > 0 {
        say(&format!(
            "note: complete requests without a charge: {} (their models have no prices)",
            report.uncharged
        ));
    }
}

/// Whether what was printed is complete.
fn verdict(args: &UsageArgs, tally: &LineTally) -> Result<(), Failure> {
    if tally.damaged.count > 0 {
        let why = "the totals lack the requests of lines that cannot be right (see the note above)";
        return Err(Failure::Data(why.to_owned()));
    }
    if args.strict && (tally.skipped.count > 0 || tally.torn.count > 0) {
        let why = "--strict: not every line is a whole ledger line (see the note above)";
        return Err(Failure::Data(why.to_owned()));
    }
    Ok(())
}
