//! `trilane serve`: the document over HTTP.
//!
//! A [`site`] serves the [`document`], which is reloaded when its file changes. A [`server`] accepts connections; a
//! response is sent in chunks ([`body`]), and a client that does not read it is disconnected
//! ([`trilane_console::connections`]). An agent serves its feeds the same way.

mod args;
mod body;
mod document;
mod server;
mod site;

use std::sync::Arc;

use serde_json::json;

use crate::event_printer::EventPrinter;
pub use args::ServeArgs;
use document::DocumentFile;
pub use server::{bind, serve};
pub use site::{FeedAnswer, of_feeds, of_published};

use crate::failure::Failure;
use crate::runtime;
use crate::signals::Signals;

/// The path of the health check.
const HEALTH: &str = "/healthz";

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot listen.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    runtime::run(1, until_signal(args))
}

async fn until_signal(args: ServeArgs) -> Result<(), Failure> {
    let printer = EventPrinter::new(args.json);
    // From here on, so that a signal interrupts nothing halfway.
    let mut signals = Signals::catch()?;
    let (listener, address) = bind(&args.listen).await.map_err(Failure::Data)?;
    let file = Arc::new(DocumentFile::new(args.document, printer));
    let seen = tokio::select! {
        seen = Arc::clone(&file).load() => seen,
        _ = signals.received() => return Ok(()),
    };
    tokio::spawn(Arc::clone(&file).follow(seen));
    printer.listening(address);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let router = site::of_document(&args.document_path, file);
    let serving = tokio::spawn(serve(listener, router, stopped));
    signals.received().await;
    let _ = stop.send(true);
    let _ = serving.await;
    printer.news("stopped", "stopped", json!({}));
    Ok(())
}
