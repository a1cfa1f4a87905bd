//! One pass: read, check, and write what is different.

use super::args::Args;
use super::places::Places;
use super::publication::{self, CleanUp};
use super::rendering::Rendering;
use super::report::Report;
use super::seen::Seen;
use super::stop::Stop;
use super::{kept, room, sources, writing};

/// Does it once. What it looked at is noted in `seen`. With a document that is published now, or was just before,
/// there may be something to clean up when it is in force. With `stop` it can be ended before it publishes.
pub fn run(
    args: &Args,
    places: &Places,
    seen: &mut Seen,
    stop: Option<&Stop>,
) -> (Report, Option<CleanUp>) {
    let mut report = Report {
        check: args.check,
        ..Report::default()
    };
    let (sources, document) = sources::read(&args.document, &mut report.findings, seen);
    let rendering = Rendering::new(&sources, places, &mut report.findings, seen);
    report.accounts = rendering.accounts;
    let destinations = sources.iter().flat_map(|source| source.destinations.iter());
    report.destinations = destinations.cloned().collect();
    report.sources = sources.len();
    let secrets = rendering.secrets.len();
    let room = writing::going(places, &rendering)
        .and_then(|going| room::check(secrets, going, args.inotify_instances));
    report.findings.problems.extend(room.err());
    let mut clean_up = None;
    if report.findings.problems.is_empty() {
        match write(rendering, document, args, places, stop, &mut report) {
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
    places: &Places,
    stop: Option<&Stop>,
    report: &mut Report,
) -> Result<Option<CleanUp>, String> {
    // Checked is what there will be in the end.
    let publishes = places.publish.is_some() && !args.check;
    let adds = publishes && kept::adds(&writing::present(places)?, &rendering.clusters);
    writing::run(&rendering, places, args.keep || publishes, report)?;
    if adds && publication::replaces(&document, places)? {
        // Envoy may be slower to take them in than the gateway is to take the document.
        if stop.is_some_and(|stop| stop.came_within(args.lead())) {
            return Err("ended before the document was put in force: run it again".to_owned());
        }
    }
    publication::run(&document, places, report)?;
    if !publishes {
        return Ok(None);
    }
    CleanUp::new(rendering, document, places, report)
}
