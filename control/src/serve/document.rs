//! The served document: the last valid one.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use trilane_console::named_file;

use crate::document;
use crate::event_printer::EventPrinter;
use crate::watched_files::WatchedFiles;

/// The most that the gateway reads, in bytes (its `source.max_bytes`).
const MAX_BYTES: usize = 31_000_000;
/// The interval between checks of the file: half the gateway's default poll interval.
const EVERY: Duration = Duration::from_millis(250);

/// A valid document.
#[derive(Debug)]
pub struct Served {
    /// The bytes of the document, as they are in the file but for prices of the catalogue.
    pub bytes: Bytes,
    /// Their digest, in quotes.
    pub etag: String,
}

/// The document's file, and its last valid content.
#[derive(Debug)]
pub struct DocumentFile {
    file: PathBuf,
    printer: EventPrinter,
    served: RwLock<Option<Arc<Served>>>,
}

impl DocumentFile {
    /// Not read yet.
    pub fn new(file: PathBuf, printer: EventPrinter) -> Self {
        Self {
            file,
            printer,
            served: RwLock::default(),
        }
    }

    /// The last valid document.
    pub fn served(&self) -> Option<Arc<Served>> {
        self.served
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn read(&self) -> Result<(Served, [usize; 2], Vec<String>), Vec<String>> {
        let most = u64::try_from(MAX_BYTES)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let mut bytes = Vec::new();
        let read =
            named_file::open(&self.file).and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| vec![format!("cannot be read: {error}")])?;
        let too_long = |bytes: &[u8]| {
            let problem =
                format!("is longer than {MAX_BYTES} bytes, which is all that the gateway reads");
            (bytes.len() > MAX_BYTES).then(|| vec![problem])
        };
        if let Some(problem) = too_long(&bytes) {
            return Err(problem);
        }
        let resolved = document::resolve_and_judge(&bytes, &document::prices_of(&self.file))
            .map_err(|problems| {
                problems
                    .0
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
            })?;
        let (compiled, bytes) = (resolved.compiled, resolved.text);
        // With its prices it may have become so.
        if let Some(problem) = too_long(&bytes) {
            return Err(problem);
        }
        let etag = format!("\"{}\"", hex::encode(Sha256::digest(&bytes)));
        let sizes = [compiled.policy.groups().len(), compiled.keys.len()];
        let notes = compiled.warnings.iter().map(ToString::to_string).collect();
        let bytes = Bytes::from(bytes);
        Ok((Served { bytes, etag }, sizes, notes))
    }

    /// Loads it. Returns the file as it was then; `None`: it seems to be written at this moment, and has to be read again.
    pub async fn load(self: Arc<Self>) -> Option<WatchedFiles> {
        // A load that was aborted (the command stops) has to be repeated.
        spawn_blocking(move || self.take_up()).await.ok().flatten()
    }

    /// Loads it after every change.
    pub async fn follow(self: Arc<Self>, mut seen: Option<WatchedFiles>) {
        loop {
            sleep(EVERY).await;
            if seen.as_ref().is_none_or(WatchedFiles::have_changed) {
                seen = Arc::clone(&self).load().await;
            }
        }
    }

    fn take_up(&self) -> Option<WatchedFiles> {
        let mut seen = WatchedFiles::default();
        seen.note(&self.file);
        let read = self.read();
        if seen.have_changed() {
            return None;
        }
        let name = self.file.display().to_string();
        match read {
            Ok((document, [groups, keys], notes)) => {
                let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
                if served
                    .as_ref()
                    .is_some_and(|served| served.etag == document.etag)
                {
                    return Some(seen);
                }
                let facts = json!({"file": name, "etag": document.etag, "groups": groups, "keys": keys, "notes": notes});
                let mut text = format!("document {name}: groups {groups}, keys {keys}");
                for note in notes {
                    text.push_str("; note: ");
                    text.push_str(&note);
                }
                *served = Some(Arc::new(document));
                drop(served);
                self.printer.news("document", &text, facts);
            }
            Err(problems) => {
                let left = match self.served() {
                    Some(_) => "the last good one goes on being served",
                    None => "503 is answered until it is good",
                };
                self.printer.refused("the document", &name, &problems, left);
            }
        }
        Some(seen)
    }
}
