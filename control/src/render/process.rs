//! The same within another command's process: `trilane up`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use super::args::Args;
use super::pass;
use super::paths::Paths;
use super::stop::Stop;
use super::watch::{self, RenderChanges};
use crate::failure::Failure;
use crate::watched_files::WatchedFiles;

/// Publishes a document while no Envoy runs: nothing waits, and nothing is left for later. Returns the warnings.
///
/// # Errors
/// The problems of the document and of the files that it names, a line each.
pub fn publish(args: &Args) -> Result<Vec<String>, Vec<String>> {
    let told = |failure| match failure {
        Failure::Usage(text) | Failure::Data(text) | Failure::Unreadable(text) => vec![text],
        Failure::Told | Failure::Closed => Vec::new(),
    };
    let paths = Paths::new(args).map_err(told)?;
    let (mut report, clean_up) = pass::run(args, &paths, &mut WatchedFiles::default(), None);
    if let Some(clean_up) = clean_up {
        report = clean_up.run(&paths);
    }
    if report.done {
        Ok(report.findings.lines())
    } else {
        Err(report.findings.lines())
    }
}

/// A thread that publishes a document whenever it or a file that it names has changed. It ends when this is dropped.
#[derive(Debug)]
pub struct Follower {
    stop: Option<Sender<()>>,
    warnings: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Begins. `tell` gets each line about a document: what was done, or why it was not.
    ///
    /// # Errors
    /// The command line is wrong, or there is no thread.
    pub fn begin(args: Args, tell: impl Fn(&str) + Send + 'static) -> Result<Self, Failure> {
        let paths = Paths::new(&args)?;
        let (stop, stopped) = Stop::by_thread();
        let warnings = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&warnings);
        let follow = move || {
            watch::follow(&args, &paths, &stopped, |report, told| {
                let number = u64::try_from(report.without_credential);
                counted.store(number.unwrap_or(u64::MAX), Ordering::Relaxed);
                let RenderChanges { troubles, changes } = RenderChanges::of(report, told);
                // The first pass finds what is in force already.
                if told.is_some() || report.has_changes() || !report.done {
                    troubles.iter().chain(&changes).for_each(|line| tell(line));
                }
            });
        };
        let thread = thread::Builder::new()
            .name("render".to_owned())
            .spawn(follow);
        let thread = thread
            .map_err(|error| Failure::Data(format!("cannot follow the document: {error}")))?;
        Ok(Self {
            stop: Some(stop),
            warnings,
            thread: Some(thread),
        })
    }

    /// The number of accounts that serve nothing, because their credential is missing.
    pub fn warnings(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.warnings)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
