//! The one-time import of keys and a document from before the console.

use serde_json::json;
use trilane_console::import;
use trilane_console::named_file;
use trilane_console::store::Store;

use super::running::ConsoleSettings;
use super::{now, operator};
use crate::event_printer::EventPrinter;
use crate::failure::Failure;

/// The longest document, in bytes.
const DOCUMENT: u64 = 64 << 20;

/// Publishes the document that is named, unless there is one already.
///
/// # Errors
/// It cannot be read, or is invalid.
pub async fn run(
    store: &Store,
    settings: &ConsoleSettings,
    printer: EventPrinter,
) -> Result<(), Failure> {
    let actor = operator();
    if let Some(file) = &settings.import_document {
        let name = file.display().to_string();
        let failed =
            |why: String| Failure::Data(format!("cannot import the document {name}: {why}"));
        let body = named_file::read_text(file, DOCUMENT);
        let body = body.map_err(|error| failed(error.to_string()))?;
        let published = import::document(store, body, &settings.prices, &actor, now()).await;
        if published.map_err(|error| failed(error.to_string()))? {
            printer.news(
                "document",
                &format!("published {name}"),
                json!({"file": name}),
            );
        }
    }
    Ok(())
}
