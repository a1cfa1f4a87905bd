//! A second credential of a vendor that the document has: another account of its group.

use std::path::PathBuf;

use serde_json::Value;

use crate::data_directory::DataDirectory;
use crate::document;
use crate::failure::Failure;
use crate::key::LockedDocument;
use crate::output;
use crate::terminal::say;
use trilane_console::vendors::{Vendor, VendorCredential, group_at, with_another_account};

/// Finds the group of the document that has this vendor.
///
/// # Errors
/// The document cannot be read.
pub fn group_of(data: &DataDirectory, vendor: &Vendor) -> Result<Option<String>, Failure> {
    let text = document::read(&data.document()).map_err(Failure::Unreadable)?;
    let document: Option<Value> = serde_json::from_slice(&text).ok();
    Ok(document.and_then(|document| group_at(&document, vendor)))
}

/// Writes a tested credential, and an account that has it, behind those of a group.
///
/// # Errors
/// The group has no accounts, the gateway would refuse the document, or a file cannot be written.
pub fn write(
    data: &DataDirectory,
    group: &str,
    credential: &VendorCredential,
) -> Result<(), Failure> {
    let held = LockedDocument::open(&data.document()).map_err(Failure::Data)?;
    let added = with_another_account(&held.bytes, group).ok_or_else(|| {
        Failure::Data(format!(
            "the document has no group {group} with accounts: leave --another-key out"
        ))
    })?;
    let compiled = document::judge(&added.document, &data.prices()).map_err(|problems| {
        document::tell(&problems);
        Failure::Data("nothing was written: the gateway would refuse the document".to_owned())
    })?;
    for warning in &compiled.warnings {
        say(&format!("warning: {warning}"));
    }
    data.create()?;
    let written = data.write_credential(&added.id, credential.reveal());
    let file: PathBuf = written.map_err(|error| {
        let directory = data.credentials();
        Failure::Data(format!(
            "cannot write into {}: {error}",
            directory.display()
        ))
    })?;
    held.replace(&added.document).map_err(Failure::Data)?;
    let lines = [
        format!("wrote {}:", data.document().display()),
        format!(
            "  group {group} asks {}, then {}",
            added.before.join(", "),
            added.id
        ),
        format!("wrote {}, which only you can read", file.display()),
    ];
    output::print(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}
