//! Staying: a pass whenever a file is another, until a signal comes.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use super::args::Args;
use super::findings::Findings;
use super::pass;
use super::places::Places;
use super::publication::CleanUp;
use super::report::Report;
use super::seen::Seen;
use super::stop::Stop;
use crate::failure::Failure;
use crate::terminal::{printable, say};
use crate::timestamp::now;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Renders now and after every change, until SIGTERM or SIGINT.
///
/// What is wrong with a document or its files is told, and what was written before stays. What a published document has
/// no use for goes when nothing has changed for the time to settle.
///
/// # Errors
/// Signals cannot be heard.
pub fn run(args: &Args, places: &Places) -> Result<(), Failure> {
    let stop = Stop::new()?;
    if !args.document.exists() {
        let name = printable(&args.document.display().to_string());
        say(&format!("{} waiting for the document {name}", now()));
        while !args.document.exists() {
            if stop.came_within(EVERY) {
                return Ok(());
            }
        }
    }
    let mut told = None;
    let mut later = Later(None);
    loop {
        let mut seen = Seen::default();
        let (mut report, clean_up) = pass::run(args, places, &mut seen, Some(&stop));
        report.time = Some(now());
        tell(&report, args.json, told.as_ref());
        if stop.came_within(Duration::ZERO) {
            return Ok(());
        }
        // What was refused has not come into force: the clean-up of the one before is still right.
        if report.done {
            later = Later(clean_up.map(|clean_up| (Instant::now(), clean_up)));
        }
        told = Some(report.findings);
        while !seen.is_old() {
            if stop.came_within(EVERY.min(later.due(args.settle()))) {
                return Ok(());
            }
            if !seen.is_old()
                && let Some(clean_up) = later.take(args.settle())
            {
                let mut report = clean_up.run(places);
                report.time = Some(now());
                tell(&report, args.json, told.as_ref());
            }
        }
    }
}

/// A clean-up that waits for its time, and since when.
struct Later(Option<(Instant, CleanUp)>);

impl Later {
    /// How long it is until then.
    fn due(&self, settle: Duration) -> Duration {
        let since = self.0.as_ref().map(|(since, _)| since.elapsed());
        since.map_or(Duration::MAX, |since| settle.saturating_sub(since))
    }

    /// The clean-up, if its time has come.
    fn take(&mut self, settle: Duration) -> Option<CleanUp> {
        if !self.due(settle).is_zero() {
            return None;
        }
        self.0.take().map(|(_, clean_up)| clean_up)
    }
}

/// Tells what is new: what was done, what is wrong, and what else there is to say unless it was told before.
fn tell(report: &Report, json: bool, told: Option<&Findings>) {
    let news = told != Some(&report.findings) || !report.done;
    if !news && !report.has_changes() {
        return;
    }
    let mut out = io::stdout().lock();
    // That nobody reads it is no reason to stop: Envoy needs the files.
    if json {
        let _ = report.as_json(&mut out).and_then(|()| out.flush());
        return;
    }
    let time = report.time.as_deref().unwrap_or_default();
    if news {
        report.findings.tell(&format!("{time} "));
    }
    if !report.done {
        say(&format!(
            "{time} error: {}, what was there before stays in force",
            report.refusal()
        ));
    }
    let mut lines = report.lines();
    if report.done {
        lines.push(report.summary());
    }
    for line in lines {
        let _ = writeln!(out, "{time} {line}");
    }
    let _ = out.flush();
}
