//! `trilane key`: the API keys of a document.
//!
//! A subcommand locks the document's [`file`], edits its [`text`] in place ([`change`]), compiles the result with the
//! gateway's own code, and only then replaces the file. A new value ([`NewSecret`]) is printed once, or written to a file of its own
//! ([`delivery`]).

mod access;
mod args;
mod change;
mod delivery;
mod file;
mod in_force;
mod state;
mod style;
mod terms;
mod text;

use std::path::Path;

use args::{
    KeyAccessArgs, KeyCommand, KeyExpireArgs, KeyLimitArgs, KeyListArgs, KeyOutArgs, KeyRotateArgs,
    OneKeyArgs,
};
pub use args::{KeyArgs, KeyCreateArgs};
use change::Opened;
pub use delivery::Delivery;
pub use file::LockedDocument;
use serde::Serialize;
use state::ListedKey;
pub use terms::LimitArgs;
use time::OffsetDateTime;
use trilane::config::{Compiled, Document};
use trilane_console::secret::NewSecret;

use crate::document;
use crate::failure::Failure;
use crate::output::{self, OutputColumn, OutputFormat, OutputTable};
use crate::terminal::say;
use crate::timestamp;
use trilane_console::prices::resolve;

/// Runs the subcommand.
///
/// # Errors
/// The document was not changed, or the list cannot be printed.
pub fn run(args: &KeyArgs) -> Result<(), Failure> {
    match &args.command {
        KeyCommand::Create(args) => create(args),
        KeyCommand::List(args) => list(args),
        KeyCommand::Disable(one) => simple(one, "disabled", |opened| opened.disable(&one.id, true)),
        KeyCommand::Enable(one) => simple(one, "enabled", |opened| opened.disable(&one.id, false)),
        KeyCommand::Expire(args) => expire(args),
        KeyCommand::Limit(args) => limit(args),
        KeyCommand::Access(args) => access(args),
        KeyCommand::Rotate(args) => rotate(args),
        KeyCommand::Remove(one) => simple(one, "removed", |opened| opened.remove(&one.id)),
    }
}

/// The result of a change, for a program. It may contain a key, so there is no `Debug`.
#[derive(Serialize)]
struct KeyReport<'a> {
    id: &'a str,
    /// The change: `created`, `disabled`, `enabled`, `expires`, `limited`, `access changed`, `rotated`, `removed`.
    done: &'static str,
    /// Whether the document was changed.
    changed: bool,
    /// The key's present state, unless it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<ListedKey>,
    /// The old value, if it stays valid for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<ListedKey>,
    /// The new value. It is shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl KeyReport<'_> {
    /// The same in a row.
    fn table(&self) -> OutputTable<[Vec<String>; 1]> {
        let columns = [
            "id",
            "done",
            "changed",
            "group",
            "state",
            "expires_at",
            "old_id",
            "key",
        ];
        let now = self.now.as_ref();
        let row = [
            Some(self.id),
            Some(self.done),
            Some(if self.changed { "true" } else { "false" }),
            now.map(|now| now.group.as_str()),
            now.map(|now| now.state),
            now.and_then(|now| now.expires_at.as_deref()),
            self.old.as_ref().map(|old| old.id.as_str()),
            self.key,
        ];
        let row = row.map(|cell| cell.unwrap_or_default().to_owned());
        OutputTable::new(columns.map(OutputColumn::text), [row.to_vec()])
    }
}

/// Creates a key.
///
/// # Errors
/// The document was not changed.
pub fn create(args: &KeyCreateArgs) -> Result<(), Failure> {
    let ends = match args.expires_in {
        Some(span) => Some(timestamp::from_now(span).map_err(Failure::Usage)?),
        None => args.expires_at,
    };
    let (one, new) = (&args.one, NewSecret::key().map_err(Failure::Data)?);
    with_new(one, &new, &args.shown, "created", |opened| {
        let text = opened.create(args, ends, &new)?;
        Ok((text.unwrap_or_default(), None))
    })
}

fn rotate(args: &KeyRotateArgs) -> Result<(), Failure> {
    let (one, new) = (&args.one, NewSecret::key().map_err(Failure::Data)?);
    with_new(one, &new, &args.shown, "rotated", |opened| {
        opened.rotate(&one.id, args.overlap, &new)
    })
}

fn expire(args: &KeyExpireArgs) -> Result<(), Failure> {
    let end = &args.end;
    let ends = match (end.within, end.now) {
        (Some(span), _) => Some(timestamp::from_now(span).map_err(Failure::Usage)?),
        (None, true) => Some(OffsetDateTime::now_utc()),
        (None, false) => end.at,
    };
    simple(&args.one, "expires", |opened| {
        opened.expire(&args.one.id, ends)
    })
}

fn limit(args: &KeyLimitArgs) -> Result<(), Failure> {
    if args.terms.is_empty() && !args.only {
        let why =
            "nothing to change: name a limit or a budget, such as --rpm 60 or --budget-month none";
        return Err(Failure::Usage(why.to_owned()));
    }
    let id = &args.one.id;
    simple(&args.one, "limited", |opened| {
        opened.limit(id, &args.terms, args.only)
    })
}

fn access(args: &KeyAccessArgs) -> Result<(), Failure> {
    if args.access.is_empty() {
        let why = "nothing to change: name models, a multiplier or a team, such as --models all or --multiplier 0.15";
        return Err(Failure::Usage(why.to_owned()));
    }
    simple(&args.one, "access changed", |opened| {
        opened.access(&args.one.id, &args.access)
    })
}

fn list(args: &KeyListArgs) -> Result<(), Failure> {
    let (document, compiled) = document::good_with_text(args.document.path())?;
    let states = states(&document, &compiled);
    output::print(|out| match args.format.format() {
        OutputFormat::Table => state::table(&states).write_aligned(out),
        OutputFormat::Csv => state::table(&states).write_csv(out),
        OutputFormat::Json => output::write_json(&states, out),
    })
}

/// Opens a document that is in force, or may be.
fn open(document: &Path) -> Result<LockedDocument, Failure> {
    in_force::check(document)?;
    LockedDocument::open(document).map_err(Failure::Unreadable)
}

/// Makes a change without a new value.
fn simple(
    one: &OneKeyArgs,
    done: &'static str,
    edit: impl FnOnce(&Opened<'_>) -> change::Changed,
) -> Result<(), Failure> {
    let held = open(one.document.path())?;
    let text = edited(&held, edit)?;
    let changed = text.is_some();
    let text = text.unwrap_or_else(|| held.bytes.clone());
    let (document, compiled) = judged(&held, &text)?;
    if changed {
        held.replace(&text).map_err(Failure::Data)?;
    }
    for old in still_good(&compiled, &one.id).filter(|_| matches!(done, "disabled" | "removed")) {
        say(&format!(
            "note: an old value of this key is still good, by itself: {old}"
        ));
    }
    let told = KeyReport {
        id: &one.id,
        done,
        changed,
        now: state_of(&document, &compiled, &one.id),
        old: None,
        key: None,
    };
    tell(&told, one.format.format())
}

/// Makes a change with a new value, and perhaps a key for the old one.
fn with_new(
    one: &OneKeyArgs,
    new: &NewSecret,
    shown: &KeyOutArgs,
    done: &'static str,
    edit: impl FnOnce(&Opened<'_>) -> Result<(Vec<u8>, Option<String>), String>,
) -> Result<(), Failure> {
    let held = open(one.document.path())?;
    let (text, old) = edited(&held, edit)?;
    let (document, compiled) = judged(&held, &text)?;
    let delivery = shown
        .key_out
        .as_deref()
        .map(|file| Delivery::new(file, new))
        .transpose();
    let delivery = delivery.map_err(Failure::Data)?;
    held.replace(&text).map_err(Failure::Data)?;
    let delivered = delivery.is_some();
    if let Some(delivery) = delivery {
        delivery.keep();
    }
    let told = KeyReport {
        id: &one.id,
        done,
        changed: true,
        now: state_of(&document, &compiled, &one.id),
        old: old.and_then(|old| state_of(&document, &compiled, &old)),
        key: (!delivered).then(|| new.reveal()),
    };
    tell(&told, one.format.format()).map_err(|failure| {
        if delivered {
            return failure;
        }
        Failure::Data(format!(
            "the key {} is in the document, but its value could not be printed and is lost: rotate it",
            one.id
        ))
    })
}

/// Edits the text of a document.
fn edited<T>(
    held: &LockedDocument,
    edit: impl FnOnce(&Opened<'_>) -> Result<T, String>,
) -> Result<T, Failure> {
    let resolved = resolve(&held.bytes, &held.prices().read().map_err(Failure::Data)?);
    let document = Document::parse(&resolved.text).map_err(|problems| {
        document::tell(&problems);
        Failure::Data(
            "nothing was changed: the document has another form than it must have".to_owned(),
        )
    })?;
    let misread = || Failure::Data("the keys cannot be found in the document's text".to_owned());
    let opened = Opened::new(&held.bytes, document).ok_or_else(misread)?;
    edit(&opened).map_err(Failure::Data)
}

/// Compiles the new text as the gateway does.
fn judged(held: &LockedDocument, text: &[u8]) -> Result<(Document, Compiled), Failure> {
    document::read_and_judge(text, &held.prices()).map_err(|problems| {
        document::tell(&problems);
        let before = if document::judge(&held.bytes, &held.prices()).is_err() {
            ", as it would refuse the one that is there"
        } else {
            ""
        };
        Failure::Data(format!(
            "nothing was changed: the gateway would refuse the document{before}"
        ))
    })
}

/// The state of every key.
fn states(document: &Document, compiled: &Compiled) -> Vec<ListedKey> {
    let now = OffsetDateTime::now_utc();
    let says = document.keys.as_deref().unwrap_or_default();
    let keys = says.iter().zip(&compiled.keys);
    keys.map(|(says, (_, record))| ListedKey::of(record, says, now))
        .collect()
}

fn state_of(document: &Document, compiled: &Compiled, id: &str) -> Option<ListedKey> {
    let states = states(document, compiled);
    states.into_iter().find(|state| state.id == id)
}

/// The ids of old values that a rotation kept and that are still valid.
fn still_good<'c>(compiled: &'c Compiled, id: &str) -> impl Iterator<Item = &'c str> {
    let old = format!("{id}-old-");
    let now = OffsetDateTime::now_utc();
    let records = compiled.keys.iter().map(|(_, record)| record);
    let old = records
        .filter(move |record| record.id.starts_with(&old) && state::of(record, now) == "good");
    old.map(|record| record.id.as_str())
}

/// Prints the value alone on standard output, so that a script can read it, and the rest on standard error.
fn tell(told: &KeyReport<'_>, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => return output::print(|out| output::write_json(told, out)),
        OutputFormat::Csv => return output::print(|out| told.table().write_csv(out)),
        OutputFormat::Table => {}
    }
    let id = told.id;
    if !told.changed {
        say(&format!("{id}: nothing to change"));
        return Ok(());
    }
    let state = told.now.as_ref().map(|now| {
        let end = now
            .expires_at
            .as_ref()
            .map(|end| format!(", ends at {end}"));
        format!(
            ": {}, group {}{}",
            now.state,
            now.group,
            end.unwrap_or(", never ends".to_owned())
        )
    });
    say(&format!("{} {id}{}", told.done, state.unwrap_or_default()));
    if let Some(ListedKey { id, expires_at, .. }) = &told.old {
        let end = expires_at.as_deref().unwrap_or_default();
        say(&format!("the old value is {id} until {end}"));
    }
    if let Some(key) = told.key {
        say("the value, which nothing can show again:");
        output::print(|out| writeln!(out, "{key}"))?;
    }
    Ok(())
}
