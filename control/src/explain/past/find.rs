//! Finds the ledger lines of the requests that the command line means.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use memchr::memmem::Finder;
use trilane_console::explain::LedgerLine;

use crate::data_directory::{self, DataArg, DataDirectory};
use crate::document::{STDIN, read_input};
use crate::explain::args::ExplainArgs;
use crate::failure::Failure;
use crate::ledger_files;
use crate::run_directory::RunDirectory;
use crate::running_envoys;
use crate::terminal::printable;
use crate::usage::lines::{self, LineRead};
use crate::usage::source::LedgerSource;

/// The most requests of one id that are explained: clients may reuse an id.
const MOST: usize = 10;
/// The variable that names the ledger's file, here and for `trilane up`.
const VARIABLE: &str = "TRILANE_LEDGER";

/// The lines, at least one.
///
/// # Errors
/// There is no such request, or an input cannot be read.
pub fn lines(args: &ExplainArgs, request: &OsStr) -> Result<Vec<LedgerLine>, Failure> {
    let what = request.to_string_lossy();
    if what == STDIN && args.ledger.is_empty() {
        let text = read_input(Path::new(STDIN))
            .map_err(|error| Failure::Unreadable(format!("cannot read standard input: {error}")))?;
        return given(&text, "standard input");
    }
    if what.trim_start().starts_with('{') {
        return given(what.as_bytes(), "the line");
    }
    let sources = if args.ledger.is_empty() {
        found()?
    } else {
        args.ledger.clone()
    };
    let sources = LedgerSource::all(&sources)?;
    let lines = of_id(&what, &sources)?;
    if lines.is_empty() {
        return Err(Failure::Data(nothing(&what, &sources)));
    }
    Ok(lines)
}

/// Lines given directly.
fn given(text: &[u8], name: &str) -> Result<Vec<LedgerLine>, Failure> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines: Vec<LedgerLine> = lines.filter_map(LedgerLine::parse).take(MOST).collect();
    if lines.is_empty() {
        let why =
            format!("{name} has no ledger line: one JSON object of a request, with its timestamp");
        return Err(Failure::Unreadable(why));
    }
    Ok(lines)
}

/// The ledgers to search when none is named.
fn found() -> Result<Vec<PathBuf>, Failure> {
    if let Some(file) = std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        let file = PathBuf::from(file);
        let files = ledger_files::all(&file);
        // One that is not there is told by its name.
        return Ok(if files.is_empty() { vec![file] } else { files });
    }
    let named = std::env::var_os(data_directory::VARIABLE).map(PathBuf::from);
    let running = named.is_none().then(running);
    let own = DataArg { data: named };
    let own = [own.directory(), own.demo_directory()]
        .into_iter()
        .flatten();
    let ledgers: BTreeSet<PathBuf> = own
        .chain(running.into_iter().flatten())
        .map(|data| data.ledger())
        .collect();
    let files: Vec<PathBuf> = ledgers
        .iter()
        .flat_map(|ledger| ledger_files::all(ledger))
        .collect();
    if files.is_empty() {
        return Err(Failure::Usage(format!(
            "no ledger to look in: name its files with --ledger or {VARIABLE}, or give the line itself (- reads it from \
             standard input). To explain what a request would do, give --document, METHOD and PATH"
        )));
    }
    Ok(files)
}

/// The data directories of the gateways that this user runs on this machine.
fn running() -> impl Iterator<Item = DataDirectory> {
    running_envoys::all().filter_map(|envoy| RunDirectory::data_of(&envoy.config_path))
}

/// The lines of a request by its id: the gateway's, the vendor's, or that of the vendor's response.
fn of_id(id: &str, sources: &[LedgerSource]) -> Result<Vec<LedgerLine>, Failure> {
    let finder = Finder::new(id.as_bytes());
    let mut found = Vec::new();
    let mut bytes = Vec::new();
    for source in sources {
        let mut input = source.open(&Rc::new(Cell::new(0)))?;
        let mut number: u64 = 0;
        while found.len() < MOST {
            let read = lines::next(input.lines.as_mut(), &mut bytes)
                .map_err(|error| source.broken(&error, input.gzip, number))?;
            number = number.saturating_add(1);
            match read {
                LineRead::Line { .. } if finder.find(&bytes).is_some() => {
                    found.extend(LedgerLine::parse(&bytes).filter(|line| line.has_id(id)));
                }
                LineRead::Line { .. } | LineRead::TooLong => {}
                LineRead::End => break,
            }
        }
    }
    Ok(found)
}

fn nothing(id: &str, sources: &[LedgerSource]) -> String {
    let names: Vec<String> = sources
        .iter()
        .map(|source| printable(&source.name()))
        .collect();
    let file = if Path::new(id).exists() {
        ". It is the name of a file: to explain what a request would do, name it with --document and give METHOD and PATH behind it"
    } else {
        ". It may be in another ledger (--ledger), or not written yet: Envoy writes lines about once a second"
    };
    format!(
        "no request with the id {} in {}{file}",
        printable(id),
        names.join(", ")
    )
}
