//! One pass: read, check, and write what differs.

use super::args::Args;
use super::paths::Paths;
use super::publication::{self, CleanUp};
use super::rendering::Rendering;
use super::report::RenderReport;
use super::stop::Stop;
use super::{kept, room, sources, writing};
use crate::watched_files::WatchedFiles;

/// Runs one pass, and notes in `seen` which files it read. Returns the clean-up that is due once the document is in
/// force, if there is one. A signal to `stop` ends the pass before it publishes.
pub fn run(
    args: &Args,
    paths: &Paths,
    seen: &mut WatchedFiles,
    stop: Option<&Stop>,
) -> (RenderReport, Option<CleanUp>) {
    let mut report = RenderReport {
        check: args.check,
        ..RenderReport::default()
    };
    let (sources, document) =
        sources::read(&args.document, &args.aliases, &mut report.findings, seen);
    let rendering = Rendering::new(&sources, paths, &mut report.findings, seen);
    report.accounts = rendering.accounts;
    let destinations = sources.iter().flat_map(|source| source.destinations.iter());
    report.destinations = destinations.cloned().collect();
    report.sources = sources.len();
    if let Some(plane) = paths.control_plane
        && sources
            .iter()
            .any(|source| source.accounts.accounts.len() > 1)
    {
        report.findings.notes.push(plane.several_accounts());
    }
    let secrets = rendering.secrets.len();
    let room = writing::outgoing_secrets(paths, &rendering)
        .and_then(|going| room::check(secrets, going, args.inotify_instances));
    report.findings.problems.extend(room.err());
    let mut clean_up = None;
    if report.findings.problems.is_empty() {
        match write(rendering, document, args, paths, stop, &mut report) {
            Ok(left) => clean_up = left,
            Err(problem) => report.findings.problems.push(problem),
        }
    }
    report.done = report.findings.problems.is_empty();
    (report, clean_up)
}

fn write(
    rendering: Rendering,
    document: Vec<u8>,
    args: &Args,
    paths: &Paths,
    stop: Option<&Stop>,
    report: &mut RenderReport,
) -> Result<Option<CleanUp>, String> {
    // A check reports the final state, without clusters that are kept for a while.
    let publishes = paths.publish.is_some() && !args.check;
    let adds = publishes && kept::adds(&writing::present(paths)?, &rendering.clusters);
    writing::run(&rendering, paths, args.keep || publishes, report)?;
    if adds && publication::replaces(&document, paths)? {
        // Otherwise the gateway might switch to the document before Envoy has added the clusters.
        if stop.is_some_and(|stop| stop.came_within(args.lead())) {
            return Err("ended before the document was put in force: run it again".to_owned());
        }
    }
    publication::run(&document, paths, report)?;
    if !publishes {
        return Ok(None);
    }
    CleanUp::new(rendering, document, paths, report)
}
