//! Checks of what exists already: a document, a key, a key's file.

use std::path::PathBuf;

use trilane::config::{Document, Problems};

use super::args::InitArgs;
use crate::data_directory::DataDirectory;
use crate::document;
use crate::failure::Failure;
use crate::key::LimitArgs;
use crate::terminal::printable;
use trilane_console::prices::resolve;
use trilane_console::vendors::{ChosenModel, PriceSource, VendorGroup};

/// The treatment of an existing document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresentDocument {
    /// A document must not be present.
    None,
    /// It gets further groups.
    Added,
    /// It is replaced, and kept beside the new one.
    Replaced,
}

/// The first key.
#[derive(Debug)]
pub struct FirstKey {
    /// The id of the key.
    pub id: String,
    /// The path of the file with the key's value.
    pub file: PathBuf,
    /// The limits of the key.
    pub terms: LimitArgs,
}

impl PresentDocument {
    /// Reads the treatment from the options.
    pub fn of(args: &InitArgs) -> Self {
        match (args.add, args.force) {
            (true, _) => Self::Added,
            (_, true) => Self::Replaced,
            _ => Self::None,
        }
    }
}

/// The file of a key, absolute: its path stands in the lines for clients.
///
/// # Errors
/// There is no working directory.
pub fn key_file(args: &InitArgs, data: &DataDirectory, id: &str) -> Result<PathBuf, Failure> {
    let default = || data.root().join(format!("{id}.key"));
    let file = args.key_out.clone().unwrap_or_else(default);
    std::path::absolute(&file).map_err(|error| Failure::Usage(format!("--key-out: {error}")))
}

/// Refuses early what would fail late: a document, a key's file or a key's id that is there.
///
/// # Errors
/// The obstacle, and the remedy.
pub fn ensure_free(
    data: &DataDirectory,
    present: PresentDocument,
    key: &FirstKey,
) -> Result<(), Failure> {
    let document = data.document();
    let name = document.display();
    if present == PresentDocument::None && document.exists() {
        return Err(Failure::Data(format!(
            "{name} is there already: --add adds a vendor to it, --force replaces it"
        )));
    }
    if present == PresentDocument::Added && !document.exists() {
        return Err(Failure::Data(format!(
            "{name} is not there, so nothing can be added to it: leave --add out"
        )));
    }
    if key.file.exists() && present != PresentDocument::Replaced {
        return Err(Failure::Data(format!(
            "{} is there already: name another file with --key-out FILE, or another key with --key-id ID",
            key.file.display()
        )));
    }
    Ok(())
}

/// The document that is there, read.
fn present_document(data: &DataDirectory) -> Result<Result<Document, Problems>, Failure> {
    let bytes = document::read(&data.document()).map_err(Failure::Unreadable)?;
    let prices = data.prices().read().map_err(Failure::Data)?;
    let resolved = resolve(&bytes, &prices);
    Ok(Document::parse(&resolved.text))
}

fn has_key(document: &Document, id: &str) -> bool {
    let mut keys = document.keys.iter().flatten();
    keys.any(|key| key.id.as_deref() == Some(id))
}

/// Whether there is a key of this id, or its file.
pub fn is_taken(data: &DataDirectory, key: &FirstKey) -> bool {
    let document = present_document(data).ok().and_then(Result::ok);
    key.file.exists() || document.is_some_and(|document| has_key(&document, &key.id))
}

/// Refuses groups, and a key, that cannot be added to the document.
///
/// # Errors
/// The obstacle, and the remedy.
pub fn ensure_fits(data: &DataDirectory, groups: &[VendorGroup], key: &str) -> Result<(), Failure> {
    let file = data.document();
    let document = present_document(data)?.map_err(|problems| {
        document::tell(&problems);
        Failure::Unreadable(format!(
            "nothing was changed: mend {} first",
            file.display()
        ))
    })?;
    if has_key(&document, key) {
        return Err(Failure::Data(format!(
            "the document has a key {key} already: name the new one with --key-id ID"
        )));
    }
    let ids = document
        .groups
        .iter()
        .flatten()
        .filter_map(|group| group.id.as_ref());
    let ids: Vec<&String> = ids.collect();
    for group in groups {
        let id = &group.vendor.group;
        if ids.contains(&id) {
            return Err(Failure::Data(format!(
                "the document has a group {id} already: name the new one with --group ID"
            )));
        }
    }
    let known = |model: &ChosenModel| model.pricing.source() == Some(PriceSource::Catalogue);
    let from_catalogue = groups.iter().any(|group| group.models.iter().any(known));
    match document.currency {
        Some(currency) if currency != "USD" && from_catalogue => Err(Failure::Data(format!(
            "the document's prices are in {}, and those of the catalogue in USD: name yours with --price",
            printable(&currency)
        ))),
        _ => Ok(()),
    }
}
