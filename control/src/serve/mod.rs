//! `trilane serve`: the document over HTTP.
//!
//! A [`site`] serves the [`document`], which is reloaded when its file changes ([`watch`]). A [`server`] accepts connections; a
//! response is sent in chunks ([`body`]), and a client that does not read it is disconnected
//! ([`trilane_console::connections`]). An agent serves its feeds the same way.

mod args;
mod body;
mod document;
mod server;
mod site;
mod watch;

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Builder;

use crate::event_printer::EventPrinter;
pub use args::ServeArgs;
use document::DocumentFile;
pub use server::{bind, serve};
pub use site::{FeedAnswer, of_feeds, of_published};
use watch::FileWatch;

use crate::failure::Failure;
use crate::signals::Signals;

/// The path of the health check.
const HEALTH: &str = "/healthz";
/// The most threads that wait for disks.
const BLOCKING: usize = 8;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot listen.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING)
        .build()
        .map_err(|error| Failure::Data(format!("cannot begin: {error}")))?;
    let ended = runtime.block_on(until_signal(args));
    // Reads are not awaited: the state is in memory only.
    runtime.shutdown_background();
    ended
}

async fn until_signal(args: ServeArgs) -> Result<(), Failure> {
    let printer = EventPrinter::new(args.json);
    // From here on, so that a signal interrupts nothing halfway.
    let mut signals = Signals::catch()?;
    let listener = bind(&args.listen).await.map_err(Failure::Data)?;
    let address = listener.local_addr();
    let address = address.map_err(|error| Failure::Data(format!("cannot listen: {error}")))?;

    let file = Arc::new(DocumentFile::new(args.document, printer));
    let watch = tokio::select! {
        watch = FileWatch::begin(Arc::clone(&file)) => watch,
        _ = signals.received() => return Ok(()),
    };
    tokio::spawn(watch.go_on());
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
