//! Notes on issued keys: label and time of creation.
//!
//! They are kept in a file beside the document, `gateway.json.issued`, which no gateway reads: no document, feed or ledger
//! contains them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::LockedDocument;

/// The notes on the keys of a document, by id.
#[derive(Debug, Default)]
pub struct IssuedNotes {
    notes: BTreeMap<String, Note>,
}

/// The note on one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// The issuer's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The time at which the key was created, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
}

impl IssuedNotes {
    /// Reads the notes beside a document; none if there is no such file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn beside(document: &Path) -> Result<Self, String> {
        let document = fs::canonicalize(document).unwrap_or_else(|_| document.to_owned());
        let file = file_of(&document);
        let failed = |why: &str| {
            format!(
                "cannot read {}, where labels of keys are kept: {why}",
                file.display()
            )
        };
        match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(failed(&error.to_string())),
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(|notes| Self { notes })
                .map_err(|_| failed("it has another form than this command gives it")),
        }
    }

    /// The note on a key.
    pub fn of(&self, id: &str) -> Note {
        self.notes.get(id).cloned().unwrap_or_default()
    }

    /// Sets the note on a key; `None` removes it.
    pub fn note(&mut self, id: &str, note: Option<Note>) {
        match note.filter(|note| *note != Note::default()) {
            Some(note) => self.notes.insert(id.to_owned(), note),
            None => self.notes.remove(id),
        };
    }

    /// Writes the notes beside the document.
    ///
    /// # Errors
    /// The notes cannot be written, and are unchanged.
    pub fn write(&self, held: &LockedDocument) -> Result<(), String> {
        // Texts only, into memory: it cannot fail.
        let mut bytes = serde_json::to_vec_pretty(&self.notes).unwrap_or_default();
        bytes.push(b'\n');
        held.put(&file_of(held.path()), &bytes)
    }
}

fn file_of(document: &Path) -> PathBuf {
    let mut name = OsString::from(document);
    name.push(".issued");
    name.into()
}

/// Reads a label or owner: any text of one line.
///
/// # Errors
/// The expected form, as text.
pub fn text(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 128 || text.chars().any(char::is_control) {
        return Err("must be 1 to 128 bytes without control characters".to_owned());
    }
    Ok(text.to_owned())
}
