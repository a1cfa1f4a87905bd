//! `trilane render`: gives a running Envoy the document's upstream accounts, here as files.
//!
//! The document is compiled as the gateway compiles it ([`sources`]) and rendered as [`resources`]: each account is
//! a cluster ([`account_cluster`]) with a [`secret`], perhaps a [`judge`] of its answers, and perhaps a cluster for its [`proxy`]. Only if the document and the files that it
//! names are valid ([`credential`], where the document is a console's one that it has [`given`] or that is [bound](binding) to where it goes, [`authorities`]),
//! Envoy gets them, perhaps with clusters that are kept for now, and perhaps the document is put in force ([`publication`]), after Envoy has the clusters.
//!
//! There are two outputs. [Files](to_files) ([`rendered_files`], [`writing`], [`crate::files`]) are for an Envoy that somebody else runs, if it has [`room`] to
//! watch them; it is asked for clusters ([`acknowledgement`]) by the digests with which they are [`signed`], and there may be a resource for a
//! [`control_plane`] too. The [stream](to_ads) of [`crate::ads`] is for the Envoy of `trilane up` and of an agent, which run this in their own [`process`].
//!
//! That is a [`pass`], which ends in a [`report`], and perhaps leaves a [`clean_up`]. With `--watch` ([`watch`]) another pass begins
//! when one of the [`WatchedFiles`] has changed.

mod account_cluster;
mod acknowledgement;
mod args;
mod authorities;
mod binding;
mod clean_up;
mod control_plane;
mod credential;
mod envoy;
mod findings;
mod given;
mod judge;
mod kept;
mod label;
mod pass;
mod paths;
mod process;
mod proxy;
mod publication;
mod published_as;
mod rendered_files;
mod report;
mod resources;
mod room;
mod secret;
mod signed;
mod sources;
mod stop;
mod tls;
mod to_ads;
mod to_files;
mod watch;
mod writing;

use std::io::{self, Write as _};

pub use args::Args;
use clean_up::CleanUp;
pub use control_plane::ControlPlane;
use paths::Paths;
pub use process::{Follower, publish};
pub use published_as::PublishedAs;
use report::RenderReport;
use stop::Stop;

use crate::failure::Failure;
use crate::watched_files::WatchedFiles;

/// Checks, and writes what differs: once, or with `--watch` after every change.
///
/// # Errors
/// A document, or a file that it names, that is not valid; files that cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let paths = Paths::new(args)?;
    if args.watch {
        return watch::run(args, &paths);
    }
    // From here on a signal leaves nothing half done.
    let stop = args
        .publish
        .as_ref()
        .map(|_| Stop::by_signals())
        .transpose()?;
    let (mut report, clean_up) =
        pass::run(args, &paths, &mut WatchedFiles::default(), stop.as_ref());
    if !args.json {
        report.findings.tell("");
    }
    match (clean_up, stop) {
        (Some(clean_up), Some(stop)) => report = finish(clean_up, report, &stop, args, &paths),
        _ => tell(&report, args).map_err(|error| Failure::of_output(&error))?,
    }
    let good = report.done && (!args.check || report.findings.warnings.is_empty());
    match (good, args.json) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Told),
        (false, false) => Err(Failure::Data(report.refusal().to_owned())),
    }
}

/// Cleans up when the published document is in force; after a signal that is left to the next run. Reports what was done,
/// and cleans up even if standard output is closed.
fn finish(
    clean_up: CleanUp,
    first: RenderReport,
    stop: &Stop,
    args: &Args,
    paths: &Paths,
) -> RenderReport {
    if !args.json {
        let _ = tell(&first, args);
    }
    let report = if stop.came_within(args.settle()) {
        first
    } else {
        let last = clean_up.run(paths);
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

fn tell(report: &RenderReport, args: &Args) -> io::Result<()> {
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
