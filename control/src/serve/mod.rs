//! `trilane serve`: the document and a feed of keys over HTTP.
//!
//! A [`site`] serves the [`document`], and a [`feed`] from a file ([`keys_file`]) or a database ([`sqlite`]). Files are
//! reloaded when they change ([`watch`]). A [`server`] accepts connections; each [`response`] is sent in chunks ([`body`]), and
//! a client that does not read it is disconnected ([`trilane_console::connections`]). The pages of the feed are
//! those of [`trilane_console::feed`]. docs/keys-feed.md describes the protocol.

mod args;
mod body;
mod document;
mod feed;
mod feed_reads;
mod keys_file;
mod response;
mod server;
mod site;
mod sqlite;
mod unwritten_keys;

mod watch;

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::tell::Teller;
pub use args::ServeArgs;
use document::Shelf;
pub use feed::{CopiedFeed, Feed};
pub use feed_reads::FeedReads;
use keys_file::KeysFile;
pub use server::bind;
pub use site::QueryAnswer;
use site::ServedPaths;
pub use sqlite::{Database, OpenDatabase};
pub use unwritten_keys::UnwrittenKeys;
use watch::FileWatch;

use crate::failure::Failure;
use crate::signals::Signals;

/// The path of the health check.
const HEALTH: &str = "/healthz";
/// The interval between compactions of old removals.
const COMPACT: Duration = Duration::from_secs(3600);
/// A day.
const DAY: Duration = Duration::from_secs(86_400);
/// How long [`feeds_alone`] keeps removals.
const REMOVALS: Duration = DAY.saturating_mul(30);
/// The most threads that wait for disks.
const BLOCKING: usize = 8;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot listen, or cannot open the database.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    if args.document.is_some() && args.path == args.document_path {
        let text = format!(
            "--path and --document-path are both {}: name two",
            args.path
        );
        return Err(Failure::Usage(text));
    }
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING)
        .build()
        .map_err(|error| Failure::Data(format!("cannot begin: {error}")))?;
    let ended = runtime.block_on(serve(args));
    // Reads and transactions are not awaited: the state is in memory only, and SQLite survives it.
    runtime.shutdown_background();
    ended
}

async fn serve(args: ServeArgs) -> Result<(), Failure> {
    let teller = Teller::new(args.json);
    // From here on, so that a signal interrupts nothing halfway.
    let mut signals = Signals::catch()?;
    let listener = server::bind(&args.listen).await.map_err(Failure::Data)?;
    let address = listener.local_addr();
    let address = address.map_err(|error| Failure::Data(format!("cannot listen: {error}")))?;

    let begin = async {
        let site = Arc::new(furnish(args, teller).await?);
        teller.listening(address);
        Ok(site)
    };
    let site = tokio::select! {
        site = begin => site?,
        _ = signals.received() => return Ok(()),
    };
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let serving = tokio::spawn(server::serve(listener, site, stopped));
    signals.received().await;
    let _ = stop.send(true);
    let _ = serving.await;
    teller.news("stopped", "stopped", json!({}));
    Ok(())
}

/// Opens and reads what is served, and keeps watching it.
async fn furnish(args: ServeArgs, teller: Teller) -> Result<ServedPaths, Failure> {
    let age = DAY.saturating_mul(args.keep_removals);
    let mut feed = None;
    if let Some(file) = args.sqlite {
        feed = Some(Arc::new(Feed::Sqlite(database(&file, age, teller).await?)));
    } else if let Some(file) = args.keys {
        let file = Arc::new(KeysFile::new(file, random_name()?, age, teller));
        tokio::spawn(FileWatch::begin(Arc::clone(&file)).await.go_on());
        feed = Some(Arc::new(Feed::File(file)));
    }
    let mut document = None;
    if let Some(file) = args.document {
        let shelf = Arc::new(Shelf::new(file, teller));
        tokio::spawn(FileWatch::begin(Arc::clone(&shelf)).await.go_on());
        document = Some((args.document_path, shelf));
    }
    if let Some(feed) = &feed {
        tokio::spawn(compact(Arc::clone(feed), age, teller));
    }
    Ok(ServedPaths::new(
        document,
        feed.map(|feed| (args.path, feed)),
        teller,
    ))
}

async fn database(file: &Path, age: Duration, teller: Teller) -> Result<Database, Failure> {
    let name = file.display().to_string();
    let file = file.to_owned();
    let opened = spawn_blocking(move || {
        let database = Database::open(file)?;
        // Before the first request, so that a restart decides which readers need a full sync.
        let _ = database.compact(age);
        Ok::<_, String>(database)
    });
    let opened = opened.await.unwrap_or_else(|error| Err(error.to_string()));
    let database =
        opened.map_err(|problem| Failure::Data(format!("the database {name}: {problem}")))?;
    if let Ok(standing) = database.standing() {
        let text = format!("keys {name}: version {}", standing.head);
        teller.news(
            "keys",
            &text,
            json!({"file": name, "version": standing.head}),
        );
    }
    Ok(database)
}

/// What an agent serves to its gateway, each with its path.
#[derive(Debug)]
pub struct AgentFeeds {
    /// The feed of keys.
    pub keys: (String, Feed),
    /// What is spent of budgets.
    pub spend: (String, QueryAnswer),
}

/// Serves the feeds of an agent and nothing else, until `stop`.
pub async fn feeds_alone(
    feeds: AgentFeeds,
    listener: TcpListener,
    stop: tokio::sync::watch::Receiver<bool>,
    teller: Teller,
) {
    let (path, feed) = feeds.keys;
    let feed = Arc::new(feed);
    let compacting = tokio::spawn(compact(Arc::clone(&feed), REMOVALS, teller));
    let mut site = ServedPaths::new(None, Some((path, feed)), teller);
    site.spend = Some(feeds.spend);
    server::serve(listener, Arc::new(site), stop).await;
    compacting.abort();
}

/// Serves what is spent of budgets and nothing else, until `stop`.
pub async fn spend_alone(
    spend: (String, QueryAnswer),
    listener: TcpListener,
    stop: tokio::sync::watch::Receiver<bool>,
    teller: Teller,
) {
    let mut site = ServedPaths::new(None, None, teller);
    site.spend = Some(spend);
    server::serve(listener, Arc::new(site), stop).await;
}

/// Compacts old removals periodically.
async fn compact(feed: Arc<Feed>, age: Duration, teller: Teller) {
    loop {
        sleep(COMPACT).await;
        let feed = Arc::clone(&feed);
        let done = spawn_blocking(move || match &*feed {
            Feed::File(file) => {
                file.compact();
                Ok(())
            }
            Feed::Sqlite(database) | Feed::Copy(CopiedFeed { database, .. }) => {
                database.compact(age)
            }
        });
        if let Ok(Err(problem)) = done.await {
            teller.trouble(&format!("old removals stay for now: {problem}"));
        }
    }
}

/// A name for a new feed, never used before.
fn random_name() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Data(format!("cannot get random bytes: {error}")))?;
    Ok(hex::encode(bytes))
}
