//! `trilane publish`: a document is put in force at a console, and no change of somebody else's is lost.

mod args;

pub use args::PublishArgs;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trilane_console::documents::differences;

use crate::console_api::{ConsoleApi, DocumentCheck, PlacedFinding};
use crate::document;
use crate::failure::Failure;
use crate::output;
use crate::terminal::{confirms, printable, say, theme};

/// The path of drafts.
const DRAFTS: &str = "/api/v1/drafts";

/// A draft to be begun.
#[derive(Serialize)]
struct NewDraft<'a> {
    body: &'a str,
    note: &'a str,
}

/// A draft.
#[derive(Deserialize)]
struct Draft {
    id: String,
    revision: i64,
    based_on: i64,
}

/// A published version.
#[derive(Deserialize)]
struct PublishedVersion {
    version: i64,
}

/// Publishes a document.
///
/// # Errors
/// It is not published.
pub fn run(args: &PublishArgs) -> Result<(), Failure> {
    let console = args.server.must()?;
    let bytes = document::read(&args.file).map_err(Failure::Unreadable)?;
    let name = printable(&args.file.display().to_string());
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Failure::Unreadable(format!("{name} is not UTF-8")))?;
    let check = console.check_document(&text)?;
    if let Some(seen) = args.if_version.filter(|seen| *seen != check.in_force) {
        return Err(changed(
            &console,
            &name,
            &format!("version {} is in force, not {seen}", check.in_force),
        ));
    }
    tell(&name, &check);
    if !check.valid {
        return Err(Failure::Data(format!(
            "nothing was published: gateways would refuse {name}"
        )));
    }
    let current = console.document_in_force()?;
    if current.version != check.in_force {
        return Err(changed(
            &console,
            &name,
            "another version was published meanwhile",
        ));
    }
    if current.version > 0 && current.body == text {
        say(&format!(
            "{name} is in force already, as version {}",
            current.version
        ));
        return Ok(());
    }
    tell_of_differences(&current.body, &text, current.version);
    if !args.yes {
        if theme().is_none() || args.file == Path::new(document::STDIN) {
            let why =
                "nothing was published: without a terminal to ask at, --yes says that it is meant";
            return Err(Failure::Usage(why.to_owned()));
        }
        if !confirms(&format!("Publish it at {}?", console.url())) {
            return Err(Failure::Data("nothing was published".to_owned()));
        }
    }
    let version = publish(&console, &name, &text, &args.note, check.in_force)?;
    say(&format!("published {name} at {} as version", console.url()));
    output::print(|out| writeln!(out, "{version}"))
}

/// Puts it in force in the place of the version that was seen.
fn publish(
    console: &ConsoleApi,
    name: &str,
    body: &str,
    note: &str,
    seen: i64,
) -> Result<i64, Failure> {
    let draft: Draft = console.send_json("POST", DRAFTS, &NewDraft { body, note })?;
    let path = format!("{DRAFTS}/{}", draft.id);
    let etag = format!("\"{}\"", draft.revision);
    let published = if draft.based_on == seen {
        // The console refuses it if another version was published since the draft was begun.
        let published = console.post_seen(&format!("{path}/publish"), &etag);
        published.map_err(Failure::from)
    } else {
        let why = format!("version {} was published meanwhile", draft.based_on);
        Err(changed(console, name, &why))
    };
    let published: Result<PublishedVersion, Failure> = published;
    if published.is_err()
        && let Err(error) = console.delete(&path, Some(&etag))
    {
        say(&format!(
            "note: the draft {} is left at the console: {}",
            draft.id, error.text
        ));
    }
    published.map(|published| published.version)
}

fn changed(console: &ConsoleApi, name: &str, why: &str) -> Failure {
    let url = console.url();
    Failure::Data(format!(
        "nothing was published: {why}. See what is in force with trilane diff --server {url} {name}, and take its changes over"
    ))
}

/// Tells what the console says of it.
fn tell(name: &str, check: &DocumentCheck) {
    let told = |kind: &str, found: &[PlacedFinding]| {
        for PlacedFinding { path, reason } in found {
            let colon = if path.is_empty() { "" } else { ": " };
            say(&format!(
                "{name}: {kind}: {}",
                printable(&format!("{path}{colon}{reason}"))
            ));
        }
    };
    told("error", &check.problems);
    told("warning", &check.all_warnings());
    for change in check.changes() {
        say(&format!("{name}: change: {}", printable(&change)));
    }
    if check.valid && check.model_changes.is_empty() {
        say(&format!(
            "{name}: no key that is in force gains or loses a model"
        ));
    }
}

/// Tells how much of what is in force it changes.
fn tell_of_differences(before: &str, after: &str, version: i64) {
    if version == 0 {
        say("nothing is in force yet");
        return;
    }
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    if let Some((before, after)) = json(before).zip(json(after)) {
        let places: Vec<String> = differences(&before, &after)
            .into_iter()
            .map(|of| printable(&of.place))
            .collect();
        say(&format!(
            "in force: version {version}; it changes {} places: {}",
            places.len(),
            some(&places)
        ));
    }
}

/// The first few of them.
fn some(places: &[String]) -> String {
    let listed = places
        .iter()
        .take(10)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if places.len() > 10 {
        format!("{listed}; ...")
    } else {
        listed
    }
}
