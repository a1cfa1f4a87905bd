//! Reloads files when they change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::watched_files::WatchedFiles;

/// The interval between checks of a file: half the gateway's default poll interval.
const EVERY: Duration = Duration::from_millis(250);

/// Whether a file has to be read again even if it does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Only after a change.
    Yes,
    /// It seems to be written at this moment.
    No,
}

/// A file that is reloaded when it changes.
pub trait ReloadableFile: Send + Sync + 'static {
    /// Returns the path of the file.
    fn file(&self) -> PathBuf;
    /// Reads it. May block.
    fn take_up(&self) -> FileState;
}

/// A watched file, and its state when it was read.
#[derive(Debug)]
pub struct FileWatch<W> {
    watched: Arc<W>,
    seen: WatchedFiles,
    settled: FileState,
}

impl<W: ReloadableFile> FileWatch<W> {
    /// Loads it for the first time.
    pub async fn begin(watched: Arc<W>) -> Self {
        let mut watch = Self {
            watched,
            seen: WatchedFiles::default(),
            settled: FileState::No,
        };
        watch.take_up().await;
        watch
    }

    /// Reloads it after every change.
    pub async fn go_on(mut self) {
        loop {
            sleep(EVERY).await;
            if self.settled == FileState::No || self.seen.have_changed() {
                self.take_up().await;
            }
        }
    }

    async fn take_up(&mut self) {
        self.seen = WatchedFiles::default();
        self.seen.note(&self.watched.file());
        let watched = Arc::clone(&self.watched);
        // A load that was aborted (the command stops) has to be repeated.
        let settled = spawn_blocking(move || watched.take_up()).await;
        self.settled = settled.unwrap_or(FileState::No);
    }
}
