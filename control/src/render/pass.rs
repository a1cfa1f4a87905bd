//! One pass: read, check, and write what differs.

use trilane::config::document_hash;

use super::acknowledgement::{Acknowledged, EnvoyAsked};
use super::args::Args;
use super::paths::Paths;
use super::publication::{self, CleanUp};
use super::rendering::Rendering;
use super::report::RenderReport;
use super::stop::Stop;
use super::{kept, room, sources, writing};
use crate::agent_feeds::with_spend_feed;
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
    let (sources, mut document, number) =
        sources::read(&args.document, &args.aliases, &mut report.findings, seen);
    if args.spend_feed
        && let Some(with_feed) = with_spend_feed(&document)
    {
        document = with_feed;
    }
    let rendering = Rendering::new(&sources, paths, &mut report.findings, seen);
    report.accounts = rendering.accounts;
    report.without_credential = rendering.without_credential;
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
        if let Some(published_as) = &args.published_as {
            published_as.note(document_hash::of_text(&document), number);
        }
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
    let asked = match (&args.admin, stop) {
        (Some(admin), Some(_)) if publishes => Some(EnvoyAsked::new(admin)),
        _ => None,
    };
    writing::run(&rendering, paths, args.keep || publishes, report)?;
    if let Some(stop) = stop
        && (adds || asked.is_some())
        && publication::replaces(&document, paths)?
        && !is_led(&rendering, adds, asked, stop, args, report)
    {
        return Err("ended before the document was put in force: run it again".to_owned());
    }
    publication::run(&document, paths, report)?;
    if !publishes {
        return Ok(None);
    }
    CleanUp::new(rendering, document, paths, report)
}

/// Waits until Envoy has the clusters: otherwise the gateway might switch to the document before. Where Envoy cannot be asked,
/// it has the lead for clusters that are new. False: a signal came.
fn is_led(
    rendering: &Rendering,
    adds: bool,
    asked: Option<Result<EnvoyAsked<'_>, String>>,
    stop: &Stop,
    args: &Args,
    report: &mut RenderReport,
) -> bool {
    let silent = match asked.map(|asked| asked.map(|asked| asked.wait(&rendering.takeable, stop))) {
        None => None,
        Some(Ok(Acknowledged::All)) => return true,
        Some(Ok(Acknowledged::Stopped)) => return false,
        Some(Ok(Acknowledged::Missing(what))) => {
            let warning = format!(
                "{what}. The document goes into force all the same; requests to these accounts may fail"
            );
            report.findings.warnings.push(warning);
            return true;
        }
        Some(Err(why) | Ok(Acknowledged::Silent(why))) => Some(why),
    };
    if !adds {
        return true;
    }
    if let Some(why) = silent {
        let note = format!(
            "--admin: Envoy cannot be asked ({why}), so the document comes {} s after its clusters",
            args.lead
        );
        report.findings.notes.push(note);
    }
    !stop.came_within(args.lead())
}
