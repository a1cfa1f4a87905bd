//! `trilane key`: the API keys of a document, or of a console.
//!
//! In a [document](in_document) a subcommand locks the [`file`], edits its [`text`] in place ([`change`]), compiles the result with the
//! gateway's own code, and only then replaces the file. A [console](in_console) does all of this by itself. A new value is printed
//! once, or written to a file of its own ([`delivery`]).

mod access;
mod args;
mod change;
mod delivery;
mod file;
mod in_console;
mod in_document;
mod place;
mod report;
mod state;
mod style;
mod terms;
mod text;

use args::{
    KeyAccessArgs, KeyCommand, KeyEndArgs, KeyExpireArgs, KeyLimitArgs, KeyListArgs, OneKeyArgs,
};
pub use args::{KeyArgs, KeyCreateArgs};
use change::KeyChange;
pub use delivery::Delivery;
pub use file::LockedDocument;
use place::KeyPlace;
pub use terms::LimitArgs;
use time::OffsetDateTime;

use crate::failure::Failure;
use crate::output::{self, OutputFormat};
use crate::timestamp;

/// Runs the subcommand.
///
/// # Errors
/// Nothing was changed, or the list cannot be printed.
pub fn run(args: &KeyArgs) -> Result<(), Failure> {
    match &args.command {
        KeyCommand::Create(args) => create(args),
        KeyCommand::List(args) => list(args),
        KeyCommand::Show(one) => show(one),
        KeyCommand::Disable(one) => change(one, &KeyChange::Disable(true)),
        KeyCommand::Enable(one) => change(one, &KeyChange::Disable(false)),
        KeyCommand::Expire(args) => expire(args),
        KeyCommand::Limit(args) => limit(args),
        KeyCommand::Access(args) => access(args),
        KeyCommand::Rotate(args) => match args.one.place.find()? {
            KeyPlace::Document(document) => in_document::rotate(document, args),
            KeyPlace::Console(console) => in_console::rotate(&console, args),
        },
        KeyCommand::Remove(one) => change(one, &KeyChange::Remove),
    }
}

/// Creates a key.
///
/// # Errors
/// Nothing was changed.
pub fn create(args: &KeyCreateArgs) -> Result<(), Failure> {
    match args.one.place.find()? {
        KeyPlace::Document(document) => in_document::create(document, args),
        KeyPlace::Console(console) => in_console::create(&console, args),
    }
}

fn change(one: &OneKeyArgs, change: &KeyChange<'_>) -> Result<(), Failure> {
    match one.place.find()? {
        KeyPlace::Document(document) => in_document::change(document, one, change),
        KeyPlace::Console(console) => in_console::change(&console, one, change),
    }
}

fn expire(args: &KeyExpireArgs) -> Result<(), Failure> {
    let KeyEndArgs {
        at, within, now, ..
    } = args.end;
    let ends = match (within, now) {
        (Some(span), _) => Some(timestamp::from_now(span).map_err(Failure::Usage)?),
        (None, true) => Some(OffsetDateTime::now_utc()),
        (None, false) => at,
    };
    change(&args.one, &KeyChange::Expire(ends))
}

fn limit(args: &KeyLimitArgs) -> Result<(), Failure> {
    if args.terms.is_empty() && !args.only {
        let why =
            "nothing to change: name a limit or a budget, such as --rpm 60 or --budget-month none";
        return Err(Failure::Usage(why.to_owned()));
    }
    change(&args.one, &KeyChange::Limit(&args.terms, args.only))
}

fn access(args: &KeyAccessArgs) -> Result<(), Failure> {
    if args.access.is_empty() {
        let why = "nothing to change: name models, a multiplier or a team, such as --models all or --multiplier 0.15";
        return Err(Failure::Usage(why.to_owned()));
    }
    change(&args.one, &KeyChange::Access(&args.access))
}

fn list(args: &KeyListArgs) -> Result<(), Failure> {
    let keys = match args.place.find()? {
        KeyPlace::Document(document) => in_document::list(document)?,
        KeyPlace::Console(console) => in_console::list(&console)?,
    };
    output::print(|out| match args.format.format() {
        OutputFormat::Table => state::table(&keys).write_aligned(out),
        OutputFormat::Csv => state::table(&keys).write_csv(out),
        OutputFormat::Json => output::write_json(&keys, out),
    })
}

fn show(one: &OneKeyArgs) -> Result<(), Failure> {
    let key = match one.place.find()? {
        KeyPlace::Document(document) => in_document::show(document, &one.id)?,
        KeyPlace::Console(console) => in_console::show(&console, &one.id)?,
    };
    output::print(|out| match one.format.format() {
        OutputFormat::Table => key.table().write_aligned(out),
        OutputFormat::Csv => key.table().write_csv(out),
        OutputFormat::Json => output::write_json(&key, out),
    })
}
