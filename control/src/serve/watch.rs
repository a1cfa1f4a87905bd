//! Looking again and again whether a file is another one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::watched_files::WatchedFiles;

/// How often a file is looked at: twice as often as a gateway asks by default.
const EVERY: Duration = Duration::from_millis(250);

/// Whether a file that was read is to be read again even if it stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Only when it is another.
    Yes,
    /// It is being written, as it seems.
    No,
}

/// A file that is taken up whenever it is another one.
pub trait Watched: Send + Sync + 'static {
    /// Where it is.
    fn file(&self) -> PathBuf;
    /// Reads it. Takes its time.
    fn take_up(&self) -> Settled;
}

/// One that was read, and what it was then.
#[derive(Debug)]
pub struct Watch<W> {
    watched: Arc<W>,
    seen: WatchedFiles,
    settled: Settled,
}

impl<W: Watched> Watch<W> {
    /// Reads it for the first time.
    pub async fn begin(watched: Arc<W>) -> Self {
        let mut watch = Self {
            watched,
            seen: WatchedFiles::default(),
            settled: Settled::No,
        };
        watch.take_up().await;
        watch
    }

    /// Reads it whenever it is another.
    pub async fn go_on(mut self) {
        loop {
            sleep(EVERY).await;
            if self.settled == Settled::No || self.seen.have_changed() {
                self.take_up().await;
            }
        }
    }

    async fn take_up(&mut self) {
        self.seen = WatchedFiles::default();
        self.seen.note(&self.watched.file());
        let watched = Arc::clone(&self.watched);
        // One that was not finished (the command ends) is to be read again.
        let settled = spawn_blocking(move || watched.take_up()).await;
        self.settled = settled.unwrap_or(Settled::No);
    }
}
