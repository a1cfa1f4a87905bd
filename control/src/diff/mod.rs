//! `trilane diff`: the differences between two documents, or between a document and the one in force at a console.

mod args;

pub use args::DiffArgs;

use std::io::{self, Write};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use trilane_console::documents::{Difference, differences};

use crate::console_api::{ApiError, ConsoleApi};
use crate::document;
use crate::failure::Failure;
use crate::output::{self, OutputColumn, OutputFormat, OutputTable};
use crate::terminal::{printable, say};

/// The path of drafts.
const DRAFTS: &str = "/api/v1/drafts";

/// Prints the differences.
///
/// # Errors
/// There are some, or a document cannot be read.
pub fn run(args: &DiffArgs) -> Result<(), Failure> {
    let (before, after) = match args.files.as_slice() {
        [_, _] if args.server.server.is_some() => {
            let why = "two files are compared with each other: with --server name one, or none";
            return Err(Failure::Usage(why.to_owned()));
        }
        [before, after] => (read(before)?, read(after)?),
        named => {
            let console = args.server.must()?;
            let after = match named.first() {
                Some(file) => read(file)?,
                None => draft(&console, args.draft.as_deref())?,
            };
            let current = console.document_in_force().map_err(unreadable)?;
            say(&match current.version {
                0 => "nothing is in force".to_owned(),
                version => format!("in force: version {version}"),
            });
            (parsed(&current.body, "the document in force")?, after)
        }
    };
    let found = differences(&before, &after);
    output::print_beside_code(|out| match args.format.format() {
        OutputFormat::Table => lines(&found, out),
        OutputFormat::Csv => table(&found).write_csv(out),
        OutputFormat::Json => output::write_json(&json_of(&found), out),
    })?;
    if found.is_empty() {
        Ok(())
    } else {
        Err(Failure::Told)
    }
}

/// A draft without its text.
#[derive(Deserialize)]
struct DraftHead {
    id: String,
}

/// A draft.
#[derive(Deserialize)]
struct Draft {
    body: String,
}

/// The named draft, or else the only one.
fn draft(console: &ConsoleApi, named: Option<&str>) -> Result<Value, Failure> {
    let all: Vec<DraftHead> = console.list(DRAFTS, &[]).map_err(unreadable)?;
    let ids: Vec<&str> = all.iter().map(|draft| draft.id.as_str()).collect();
    let id = match (named, ids.as_slice()) {
        (Some(named), ids) if ids.contains(&named) => named,
        (None, [only]) => only,
        (_, []) => {
            let why = "the console has no draft: name a FILE to compare with what is in force";
            return Err(Failure::Unreadable(why.to_owned()));
        }
        (Some(named), ids) => {
            let ids = ids.join(", ");
            let why = format!("the console has no draft {named}; there are {ids}");
            return Err(Failure::Unreadable(printable(&why)));
        }
        (None, ids) => {
            let why = format!(
                "name a FILE, or one of these drafts with --draft ID: {}",
                ids.join(", ")
            );
            return Err(Failure::Usage(printable(&why)));
        }
    };
    let draft: Draft = console.get(&format!("{DRAFTS}/{id}")).map_err(unreadable)?;
    parsed(&draft.body, &format!("the draft {id}"))
}

fn unreadable(error: ApiError) -> Failure {
    Failure::Unreadable(error.text)
}

fn read(file: &Path) -> Result<Value, Failure> {
    let bytes = document::read(file).map_err(Failure::Unreadable)?;
    parsed(
        &String::from_utf8_lossy(&bytes),
        &file.display().to_string(),
    )
}

fn parsed(text: &str, name: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Unreadable(format!("{} is not JSON: {error}", printable(name))))
}

/// A line for each place: `+` what is new, `-` what is gone, `~` what is another.
fn lines(found: &[Difference], out: &mut dyn Write) -> io::Result<()> {
    for of in found {
        let place = printable(&of.place);
        let text = |text: &str| printable(text);
        match (&of.before, &of.after) {
            (None, Some(after)) => writeln!(out, "+ {place}: {}", text(after))?,
            (Some(before), None) => writeln!(out, "- {place}: {}", text(before))?,
            (before, after) => {
                let text = |of: &Option<String>| text(of.as_deref().unwrap_or_default());
                writeln!(out, "~ {place}: {} -> {}", text(before), text(after))?;
            }
        }
    }
    Ok(())
}

fn table(found: &[Difference]) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
    let columns = ["place", "before", "after"].map(OutputColumn::text);
    let cell = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = found.iter();
    let rows = rows.map(move |of| vec![of.place.clone(), cell(&of.before), cell(&of.after)]);
    OutputTable::new(columns.to_vec(), rows)
}

fn json_of(found: &[Difference]) -> Value {
    let found = found.iter();
    let found = found.map(|of| json!({"place": of.place, "before": of.before, "after": of.after}));
    found.collect()
}
