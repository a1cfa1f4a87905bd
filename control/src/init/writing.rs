//! Writes what was chosen: credentials, document, first key.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::present::{FirstKey, PresentDocument};
use crate::data_directory::DataDirectory;
use crate::document;
use crate::failure::Failure;
use crate::files;
use crate::key::{self, KeyCreateArgs, LockedDocument};
use crate::terminal::say;
use trilane_console::documents::model_changes;
use trilane_console::vendors::{self, VendorCredential, VendorGroup};

/// The files that were written, and the group of the key.
#[derive(Debug)]
pub struct Written {
    /// The document.
    pub document: PathBuf,
    /// The files of credentials.
    pub credentials: Vec<PathBuf>,
    /// The keys that were there and gain models, a sentence each.
    pub gains: Vec<String>,
    /// The group of the key.
    pub group: String,
}

/// Writes everything. The document is one that the gateway takes, or nothing is written. Groups that are to be apart do not come
/// into the group that serves all vendors of a document that is there.
///
/// # Errors
/// The file or document that cannot be written, and the reason.
pub fn run(
    data: &DataDirectory,
    present: PresentDocument,
    (groups, apart): (&[VendorGroup], bool),
    credentials: &[VendorCredential],
    key: FirstKey,
) -> Result<Written, Failure> {
    data.create()?;
    let document = data.document();
    let (text, group, held) = if present == PresentDocument::Added {
        let held = LockedDocument::open(&document).map_err(Failure::Unreadable)?;
        let added = vendors::with_added(&held.bytes, groups, apart);
        let (text, group) = added.ok_or_else(|| {
            let name = document.display();
            Failure::Data(format!("{name} has no list of groups: mend it first"))
        })?;
        (text, group, Some(held))
    } else {
        let (text, group) = vendors::new(groups);
        (text.into_bytes(), group, None)
    };
    let compiled = document::judge(&text, &data.prices()).map_err(|problems| {
        document::tell(&problems);
        Failure::Data("nothing was written: the gateway would refuse the document".to_owned())
    })?;
    for warning in &compiled.warnings {
        say(&format!("warning: {warning}"));
    }
    let before = held
        .as_ref()
        .and_then(|held| document::judge(&held.bytes, &data.prices()).ok());
    let gains = before.map(|before| model_changes::of_named(&before, &compiled));
    let gains = gains.iter().flatten();
    let gains = gains.map(|(change, keys)| change.sentence(keys)).collect();
    let mut files = Vec::new();
    for (group, credential) in groups.iter().zip(credentials) {
        let name = group.vendor.account();
        let written = data.write_credential(&name, credential.reveal());
        files.push(written.map_err(|error| {
            let directory = data.credentials();
            Failure::Data(format!(
                "cannot write into {}: {error}",
                directory.display()
            ))
        })?);
    }
    match held {
        Some(held) => held.replace(&text).map_err(Failure::Data)?,
        None => write_document(data, &document, &text, present, &key.file)?,
    }
    let args = KeyCreateArgs::first(&document, key.id, group.clone(), key.terms, key.file);
    key::create(&args)?;
    Ok(Written {
        document,
        credentials: files,
        gains,
        group,
    })
}

fn write_document(
    data: &DataDirectory,
    document: &Path,
    text: &[u8],
    present: PresentDocument,
    key: &Path,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let name = document.display();
        Failure::Data(format!("cannot write {name}: {error}"))
    };
    if present == PresentDocument::Replaced {
        for file in [document, key] {
            keep(file).map_err(failed)?;
        }
    }
    let name = document.file_name().unwrap_or_default();
    files::replace(data.root(), name, text).map_err(failed)
}

/// Moves a file out of the way, in place of one that was moved before.
fn keep(file: &Path) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".before");
    match fs::rename(file, name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
