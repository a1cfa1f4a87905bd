//! The keys of a document: it is locked, edited in place, compiled with the gateway's own code, and only then replaced.

use std::path::Path;

use time::OffsetDateTime;
use trilane::config::{Compiled, Document};
use trilane_console::prices::resolve;
use trilane_console::secret::NewSecret;

use super::args::{KeyCreateArgs, KeyOutArgs, KeyRotateArgs, OneKeyArgs};
use super::change::{self, KeyChange, Opened};
use super::delivery::Delivery;
use super::file::LockedDocument;
use super::report::{self, KeyReport, tell};
use super::state::{self, KeyDetails, ListedKey};
use crate::document;
use crate::failure::Failure;
use crate::in_force::NotInForce;

/// Creates a key.
///
/// # Errors
/// The document was not changed, or is not in force.
pub fn create(document: &Path, args: &KeyCreateArgs) -> Result<(), Failure> {
    let ends = args.ends()?;
    if !args.elsewhere
        && let Some(not) = NotInForce::beside_gateway(document)
    {
        return Err(not.refusal_unless_elsewhere());
    }
    let (one, new) = (&args.one, NewSecret::key().map_err(Failure::Data)?);
    with_new(document, one, &new, &args.shown, "created", |opened| {
        let text = opened.create(args, ends, &new)?;
        Ok((text.unwrap_or_default(), None))
    })
}

/// Gives a key a new value.
///
/// # Errors
/// The document was not changed.
pub fn rotate(document: &Path, args: &KeyRotateArgs) -> Result<(), Failure> {
    let (one, new) = (&args.one, NewSecret::key().map_err(Failure::Data)?);
    with_new(document, one, &new, &args.shown, "rotated", |opened| {
        opened.rotate(&one.id, args.overlap, &new)
    })
}

/// Makes a change without a new value.
///
/// # Errors
/// The document was not changed.
pub fn change(document: &Path, one: &OneKeyArgs, change: &KeyChange<'_>) -> Result<(), Failure> {
    let id = &one.id;
    simple(document, one, change, |opened| match change {
        KeyChange::Disable(disabled) => opened.disable(id, *disabled),
        KeyChange::Expire(ends) => opened.expire(id, *ends),
        KeyChange::Limit(terms, anew) => opened.limit(id, terms, *anew),
        KeyChange::Access(access) => opened.access(id, access),
        KeyChange::Remove => opened.remove(id),
    })
}

/// The keys of a document.
///
/// # Errors
/// It cannot be read, or is invalid.
pub fn list(file: &Path) -> Result<Vec<ListedKey>, Failure> {
    let (document, compiled) = document::good_with_text(file)?;
    if let Some(not) = NotInForce::of(file) {
        not.note();
    }
    Ok(states(&document, &compiled))
}

/// One of them.
///
/// # Errors
/// There is no such key, or as [`list`].
pub fn show(file: &Path, id: &str) -> Result<KeyDetails, Failure> {
    let mut keys = list(file)?.into_iter();
    let key = keys.find(|key| key.id == id);
    let key = key.ok_or_else(|| Failure::Data(change::no_key(id)))?;
    Ok(KeyDetails::new(key, None))
}

/// Opens a document that is in force, or may be.
fn open(document: &Path) -> Result<LockedDocument, Failure> {
    if let Some(not) = NotInForce::of(document) {
        return Err(not.refusal());
    }
    LockedDocument::open(document).map_err(Failure::Unreadable)
}

/// Makes a change without a new value.
fn simple(
    document: &Path,
    one: &OneKeyArgs,
    change: &KeyChange<'_>,
    edit: impl FnOnce(&Opened<'_>) -> change::Changed,
) -> Result<(), Failure> {
    let held = open(document)?;
    let text = edited(&held, edit)?;
    let changed = text.is_some();
    let text = text.unwrap_or_else(|| held.bytes.clone());
    let (document, compiled) = judged(&held, &text)?;
    if changed {
        held.replace(&text).map_err(Failure::Data)?;
    }
    for old in still_good(&compiled, &one.id).filter(|_| change.ends()) {
        report::note_old_value(old);
    }
    let told = KeyReport {
        id: &one.id,
        done: change.done(),
        changed,
        now: state_of(&document, &compiled, &one.id),
        old: None,
        key: None,
    };
    tell(&told, one.format.format())
}

/// Makes a change with a new value, and perhaps a key for the old one.
fn with_new(
    document: &Path,
    one: &OneKeyArgs,
    new: &NewSecret,
    shown: &KeyOutArgs,
    done: &'static str,
    edit: impl FnOnce(&Opened<'_>) -> Result<(Vec<u8>, Option<String>), String>,
) -> Result<(), Failure> {
    let held = open(document)?;
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
