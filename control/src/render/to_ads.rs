//! The resources of a document by Envoy's stream.

use std::sync::Arc;

use super::args::Args;
use super::envoy::SecretSource;
use super::findings::Findings;
use super::paths::Paths;
use super::report::RenderReport;
use super::resources::Resources;
use super::stop::Stop;
use super::{publication, sources};
use crate::ads::{self, Acknowledged, AdsServer, ResourceNames};
use crate::watched_files::WatchedFiles;

/// Sends what the document needs, puts the document in force when Envoy has its clusters, and returns the clean-up that is due
/// then. Without `stop` no Envoy runs.
///
/// # Errors
/// The document cannot be put in force, or a signal came before.
pub fn run(
    ads: &Arc<AdsServer>,
    resources: Resources,
    document: &[u8],
    paths: &Paths,
    stop: Option<&Stop>,
    report: &mut RenderReport,
) -> Result<Option<AdsCleanUp>, String> {
    let resources = sent(resources);
    let names = resources.names();
    let changes = ads.put(resources)?;
    report.changes(changes.clusters, changes.secrets);
    report.kept = changes.kept;
    if let Some(stop) = stop
        && publication::replaces(document, paths)?
    {
        match ads.wait(|time| stop.came_within(time)) {
            Acknowledged::All => {}
            Acknowledged::Stopped => {
                return Err("ended before the document was put in force".to_owned());
            }
            Acknowledged::Missing(what) => report.findings.warnings.push(format!(
                "{what}. The document goes into force all the same; requests to these accounts may fail"
            )),
        }
    }
    publication::run(document, paths, report)?;
    Ok((!report.kept.is_empty()).then(|| AdsCleanUp {
        ads: Arc::clone(ads),
        names,
        report: report.next(),
    }))
}

/// Sends what the document in force needs, while another one is refused: its credentials may be others meanwhile, and after a
/// start Envoy has to be told all. What cannot be used of them stays as it is.
pub fn restore(ads: &AdsServer, args: &Args, paths: &Paths, seen: &mut WatchedFiles) {
    let Some(document) = paths.publish.as_deref().filter(|file| file.exists()) else {
        return;
    };
    let mut findings = Findings::default();
    let (sources, ..) = sources::read(document, &args.aliases, &mut findings, seen);
    if findings.problems.is_empty() {
        let resources = Resources::new(&sources, paths, SecretSource::Ads, &mut findings, seen);
        // Whatever is in the way has been told of the other document.
        let _ = ads.put(sent(resources));
    }
}

fn sent(resources: Resources) -> ads::Resources {
    let secrets = resources.secrets.into_iter();
    ads::Resources {
        clusters: resources.clusters,
        secrets: secrets.map(|(name, secret)| (name, secret.value)).collect(),
    }
}

/// The resources that stay when the previous document is no longer in force.
#[derive(Debug)]
pub struct AdsCleanUp {
    ads: Arc<AdsServer>,
    names: ResourceNames,
    report: RenderReport,
}

impl AdsCleanUp {
    /// Takes the others from Envoy.
    pub fn run(self) -> RenderReport {
        let mut report = self.report;
        report.removed_clusters(self.ads.keep_only(&self.names));
        report.done = true;
        report
    }
}
