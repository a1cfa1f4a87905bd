//! `--watch`: a pass after every change of a file, until a signal.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use super::args::Args;
use super::clean_up::CleanUp;
use super::findings::Findings;
use super::pass;
use super::paths::Paths;
use super::report::RenderReport;
use super::stop::Stop;
use crate::failure::Failure;
use crate::terminal::{printable, say};
use crate::timestamp::now;
use crate::watched_files::WatchedFiles;

/// The interval at which the files are checked.
const EVERY: Duration = Duration::from_secs(1);
/// The interval at which their directories are, where Envoy gets credentials from here: a new one is to be used at once.
const SOON: Duration = Duration::from_millis(50);

/// Renders now and after every change, until SIGTERM or SIGINT.
///
/// Problems with a document or its files are reported, and what was written before stays. What a published document does
/// not need is removed once nothing has changed for the time to settle.
///
/// # Errors
/// Signals cannot be caught.
pub fn run(args: &Args, paths: &Paths) -> Result<(), Failure> {
    let stop = Stop::by_signals()?;
    if !args.document.exists() {
        let name = printable(&args.document.display().to_string());
        say(&format!("{} waiting for the document {name}", now()));
        while !args.document.exists() {
            if stop.came_within(EVERY) {
                return Ok(());
            }
        }
    }
    follow(args, paths, &stop, |report, told| {
        tell(report, args.json, told)
    });
    Ok(())
}

/// The same until `stop`. Each pass is told, with the findings of the one before.
pub fn follow(
    args: &Args,
    paths: &Paths,
    stop: &Stop,
    tell: impl Fn(&RenderReport, Option<&Findings>),
) {
    let mut told = None;
    let mut later = PendingCleanUp(None);
    loop {
        let mut seen = WatchedFiles::default();
        let (mut report, clean_up) = pass::run(args, paths, &mut seen, Some(stop));
        report.time = Some(now());
        tell(&report, told.as_ref());
        if stop.came_within(Duration::ZERO) {
            return;
        }
        // A refused document is not in force, so the clean-up for the previous one stays due.
        if report.done {
            later = PendingCleanUp(clean_up.map(|clean_up| (Instant::now(), clean_up)));
        }
        told = Some(report.findings);
        while !seen.have_changed() {
            if !waited(
                &mut seen,
                stop,
                args.ads.is_some(),
                later.due(args.settle()),
            ) {
                return;
            }
            if !seen.have_changed()
                && let Some(clean_up) = later.take(args.settle())
            {
                let mut report = clean_up.run(paths);
                report.time = Some(now());
                tell(&report, told.as_ref());
            }
        }
    }
}

/// Waits until the files are to be checked; at most for so long. False: a signal came.
fn waited(seen: &mut WatchedFiles, stop: &Stop, soon: bool, most: Duration) -> bool {
    let wait = EVERY.min(most);
    if !soon {
        return !stop.came_within(wait);
    }
    let begun = Instant::now();
    loop {
        let left = wait.saturating_sub(begun.elapsed());
        if stop.came_within(left.min(SOON)) {
            return false;
        }
        if left <= SOON || seen.directories_have_changed() {
            return true;
        }
    }
}

/// A clean-up that is due later, and since when it waits.
struct PendingCleanUp(Option<(Instant, CleanUp)>);

impl PendingCleanUp {
    /// The time until it is due.
    fn due(&self, settle: Duration) -> Duration {
        let since = self.0.as_ref().map(|(since, _)| since.elapsed());
        since.map_or(Duration::MAX, |since| settle.saturating_sub(since))
    }

    /// The clean-up, if it is due.
    fn take(&mut self, settle: Duration) -> Option<CleanUp> {
        if !self.due(settle).is_zero() {
            return None;
        }
        self.0.take().map(|(_, clean_up)| clean_up)
    }
}

/// Reports changes and problems, and findings that were not reported before.
fn tell(report: &RenderReport, json: bool, told: Option<&Findings>) {
    if json && is_news(report, told) {
        let mut out = io::stdout().lock();
        // A closed standard output is no reason to stop: Envoy needs the files.
        let _ = report.as_json(&mut out).and_then(|()| out.flush());
        return;
    }
    let time = report.time.as_deref().unwrap_or_default();
    let news = RenderChanges::of(report, told);
    for line in news.troubles {
        say(&format!("{time} {line}"));
    }
    let mut out = io::stdout().lock();
    for line in news.changes {
        let _ = writeln!(out, "{time} {line}");
    }
    let _ = out.flush();
}

fn is_news(report: &RenderReport, told: Option<&Findings>) -> bool {
    told != Some(&report.findings) || !report.done || report.has_changes()
}

/// The lines to print about a pass: those that are new since the pass before.
#[derive(Debug, Default)]
pub struct RenderChanges {
    /// Problems, and what they mean.
    pub troubles: Vec<String>,
    /// The changes that were made.
    pub changes: Vec<String>,
}

impl RenderChanges {
    /// Returns the outcome of a pass, after one with the findings `told`.
    pub fn of(report: &RenderReport, told: Option<&Findings>) -> Self {
        let mut news = Self::default();
        if !is_news(report, told) {
            return news;
        }
        if told != Some(&report.findings) || !report.done {
            news.troubles.extend(report.findings.lines());
        }
        if !report.done {
            let refusal = report.refusal();
            let line = format!("error: {refusal}, what was there before stays in force");
            news.troubles.push(line);
        }
        news.changes = report.lines();
        if report.done {
            news.changes.push(report.summary());
        }
        news
    }
}
