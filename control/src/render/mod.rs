//! `trilane render`: the document's upstream accounts as files that a running Envoy takes in.
//!
//! The document is compiled as the gateway compiles it ([`sources`]) and rendered as text ([`rendering`]): each
//! account a cluster ([`account_cluster`]), perhaps one for its [`proxy`], and a [`secret`], each source with
//! several accounts the clusters that choose among them ([`source_cluster`]). Only when nothing is wrong with it,
//! nor with the files it names ([`credential`], [`authorities`], [`room`]), are the files written ([`writing`],
//! [`files`]), perhaps with clusters that are [`kept`] for now, and perhaps the document is put in force
//! ([`publication`]). That is a [`pass`], which ends in a [`report`]; whoever stays ([`watch`]) begins another one as
//! soon as a file that was [`seen`] has changed.

mod account_cluster;
mod args;
mod authorities;
mod credential;
mod envoy;
pub mod files;
mod findings;
mod kept;
mod label;
mod pass;
mod places;
mod proxy;
mod publication;
mod rendering;
mod report;
mod room;
mod secret;
pub mod seen;
mod source_cluster;
mod sources;
mod stop;
mod tls;
mod watch;
mod writing;

use std::io::{self, Write as _};

pub use args::Args;
use places::Places;
use publication::CleanUp;
use report::Report;
use seen::Seen;
use stop::Stop;

use crate::failure::Failure;

/// Checks, and writes what is different: once, or again and again.
///
/// # Errors
/// A document, or a file that it names, that is not as it should be; files that cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let places = Places::new(args)?;
    if args.watch {
        return watch::run(args, &places);
    }
    // From here on, for nothing is to be left half done.
    let stop = args.publish.as_ref().map(|_| Stop::new()).transpose()?;
    let (mut report, clean_up) = pass::run(args, &places, &mut Seen::default(), stop.as_ref());
    if !args.json {
        report.findings.tell("");
    }
    match (clean_up, stop) {
        (Some(clean_up), Some(stop)) => report = finish(clean_up, report, &stop, args, &places),
        _ => tell(&report, args).map_err(|error| Failure::of_output(&error))?,
    }
    let good = report.done && (!args.check || report.findings.warnings.is_empty());
    match (good, args.json) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Told),
        (false, false) => Err(Failure::Data(report.refusal().to_owned())),
    }
}

/// Cleans up when the document that was published is in force; after a signal the next run does. Tells what was done,
/// and that nobody reads it is no reason to leave anything behind.
fn finish(clean_up: CleanUp, first: Report, stop: &Stop, args: &Args, places: &Places) -> Report {
    if !args.json {
        let _ = tell(&first, args);
    }
    let report = if stop.came_within(args.settle()) {
        first
    } else {
        let last = clean_up.run(places);
        if !args.json {
            last.findings.without(&first.findings).tell("");
            let lines = last.lines().into_iter().map(|line| line + "\n");
            let _ = io::stdout().write_all(lines.collect::<String>().as_bytes());
        }
        first.then(last)
    };
    if args.json {
        let _ = tell(&report, args);
    }
    report
}

fn tell(report: &Report, args: &Args) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        report.as_json(&mut out)?;
        return out.flush();
    }
    for line in report.lines() {
        writeln!(out, "{line}")?;
    }
    if report.done {
        for line in report.destinations() {
            writeln!(out, "{line}")?;
        }
        if args.out.is_some() && !report.has_changes() {
            writeln!(out, "nothing to change")?;
        }
        writeln!(out, "{}", report.summary())?;
    }
    out.flush()
}
