//! The resources of a document as files, which a running Envoy reads.

use super::acknowledgement::{Acknowledged, EnvoyAsked};
use super::args::Args;
use super::paths::Paths;
use super::publication::{self, FileCleanUp};
use super::rendered_files::RenderedFiles;
use super::report::RenderReport;
use super::resources::Resources;
use super::stop::Stop;
use super::{kept, room, writing};

/// Writes what differs, puts the document in force if that is wanted, and returns the clean-up that is due once it is.
///
/// # Errors
/// A file that cannot be read or written, or a signal that came before the document was put in force.
pub fn run(
    resources: Resources,
    document: Vec<u8>,
    args: &Args,
    paths: &Paths,
    stop: Option<&Stop>,
    report: &mut RenderReport,
) -> Result<Option<FileCleanUp>, String> {
    let rendering = RenderedFiles::new(resources);
    let secrets = rendering.secrets.len();
    let room = writing::outgoing_secrets(paths, &rendering)
        .and_then(|going| room::check(secrets, going, args.inotify_instances));
    report.findings.problems.extend(room.err());
    if !report.findings.problems.is_empty() {
        return Ok(None);
    }
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
    FileCleanUp::new(rendering, document, paths, report)
}

/// Waits until Envoy has the clusters: otherwise the gateway might switch to the document before. Where Envoy cannot be asked,
/// it has the lead for clusters that are new. False: a signal came.
fn is_led(
    rendering: &RenderedFiles,
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
