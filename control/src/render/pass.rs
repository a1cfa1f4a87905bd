//! One pass: read, check, and give Envoy what differs.

use trilane::config::document_hash;

use super::args::Args;
use super::clean_up::CleanUp;
use super::envoy::SecretSource;
use super::paths::Paths;
use super::report::RenderReport;
use super::resources::Resources;
use super::stop::Stop;
use super::{sources, to_ads, to_files};
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
    let directory = paths.secrets();
    let secrets = match &args.ads {
        Some(_) => SecretSource::Ads,
        None => SecretSource::Files(&directory),
    };
    let resources = Resources::new(&sources, paths, secrets, &mut report.findings, seen);
    report.accounts = resources.accounts;
    report.without_credential = resources.absent.len();
    let destinations = sources.iter().flat_map(|source| source.destinations.iter());
    report.destinations = destinations.cloned().collect();
    report.sources = sources.len();
    if let Some(plane) = paths.control_plane
        && sources
            .iter()
            .any(|source| source.accounts.are_alternatives())
    {
        report.findings.notes.push(plane.several_accounts());
    }
    let is_good = report.findings.problems.is_empty();
    if let (Some(published_as), true) = (&args.published_as, is_good) {
        published_as.note(document_hash::of_text(&document), number);
    }
    let done = match &args.ads {
        None => to_files::run(resources, document, args, paths, stop, &mut report)
            .map(|left| left.map(|left| CleanUp::Files(Box::new(left)))),
        Some(ads) if is_good => to_ads::run(ads, resources, &document, paths, stop, &mut report)
            .map(|left| left.map(|left| CleanUp::Ads(Box::new(left)))),
        Some(_) => Ok(None),
    };
    let clean_up = done.unwrap_or_else(|problem| {
        report.findings.problems.push(problem);
        None
    });
    report.done = report.findings.problems.is_empty();
    if let (Some(ads), false) = (&args.ads, report.done) {
        to_ads::restore(ads, args, paths, seen);
    }
    (report, clean_up)
}
