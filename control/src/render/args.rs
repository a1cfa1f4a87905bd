//! The options of `trilane render`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trilane_console::credentials::CredentialDestinations;

use super::control_plane::ControlPlane;
use super::published_as::PublishedAs;
use crate::ads::AdsServer;
use crate::envoy_admin::AdminPlace;
use crate::system_ca::SystemCaArg;

/// The time that a published document takes to be in force, in seconds.
const SETTLE: u32 = 3;
/// The time that written clusters take to be in Envoy, in seconds.
const LEAD: u32 = 1;

/// Writes the files from which a running Envoy takes the upstream accounts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes DIR/secrets/*.json (SDS: for each account where its credential is, never the credential itself) and \
DIR/clusters/clusters.json (CDS). Envoy's configuration names the latter under dynamic_resources; it must be \
there when Envoy starts. Files that are as they should be are left alone, so a second run changes nothing. \
While anything is wrong nothing is written, and what Envoy has stays in force.

Envoy reads each credential from the operator's own file, again whenever a new one is renamed (mv) into its \
place; that needs no run of this command. The file holds the credential and perhaps an end of line.

Each account costs Envoy two inotify instances (sysctl fs.inotify.max_user_instances), and so does each file \
of authorities; an Envoy that finds none left aborts, so a document with more than there is room for is \
refused. Accounts that are exchanged for others at once count both.

With --publish the document goes into force through this command, without a moment in which a request has no cluster: \
it adds what the document needs, and when Envoy has taken that in, by its own word (--admin) or after the lead, it puts a \
copy of the document at FILE (whole, by a rename, readable for everybody); when the gateway has taken that over, after the time to settle, it \
removes what is no longer needed. It waits only if there is something to add, or to remove. Ended by a signal \
meanwhile, it leaves the rest to the next run. A document that is not as it should be is not published. Whoever puts \
the document into force otherwise runs with --keep a second before and without it 3 seconds after.

With --watch a bad or missing document is told and waited for; SIGTERM and SIGINT end it.

Exit codes:
  0  done; with --check: all is good; with --watch: ended by a signal
  1  the document or a file that it names is not as it should be, or a file cannot be written
     (a credential that is not there yet is a warning, and fails --check only)
  2  wrong command line

Examples:
  trilane render --document gateway.json --check --credentials /etc/trilane/credentials
  trilane render --document gateway.json --out /etc/trilane/upstreams \\
    --credentials /etc/trilane/credentials \\
    --publish /etc/trilane/document/gateway.json --watch")]
pub struct Args {
    /// The gateway's configuration document
    #[arg(long, value_name = "FILE")]
    pub document: PathBuf,

    /// The directory to write to, under the same path as Envoy sees it
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    pub out: Option<PathBuf>,

    /// The directory of the files that the document names without a leading slash (`credential`, `ca`), under the same
    /// path as Envoy sees it
    #[arg(long, value_name = "DIR")]
    pub credentials: Option<PathBuf>,

    #[command(flatten)]
    pub system_ca: SystemCaArg,

    /// The gateway's filter, under the path where Envoy has it, with `trilane_judge.wasm` beside it: then the accounts of a
    /// group with several are also judged by the words of their answers, such as a 400 that means an empty account
    #[arg(long, value_name = "FILE")]
    pub filter: Option<PathBuf>,

    /// Number of inotify instances that Envoy's user may have where Envoy runs [default: as on this host]
    #[arg(long, value_name = "NUMBER")]
    pub inotify_instances: Option<u64>,

    /// Write the clusters also as a resource for this control plane: DIR/envoyfilter.json (istio) or
    /// DIR/envoypatchpolicy.json (envoy-gateway), for kubectl apply
    #[arg(long, value_name = "NAME", requires = "out")]
    pub control_plane: Option<ControlPlane>,

    /// Leave the clusters that the document no longer has, and their secrets: for as long as the one before is in force
    #[arg(long, conflicts_with = "publish")]
    pub keep: bool,

    /// Put the document in force: a copy of it, under the path where the gateway has it
    #[arg(long, value_name = "FILE")]
    pub publish: Option<PathBuf>,

    /// Seconds that the gateway may take to have a published document in force, and 2 of its ticks at least
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = SETTLE,
        requires = "publish"
    )]
    pub settle: u32,

    /// With --publish: ask the admin interface of the Envoy there whether it has the clusters, and let the document follow at
    /// once; on this machine, such as 127.0.0.1:9901
    #[arg(long, value_name = "HOST:PORT", requires = "publish")]
    pub admin: Option<AdminPlace>,

    /// With --publish: how long Envoy has to take in other clusters before the document that needs them comes, where --admin
    /// is not given or does not answer
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = LEAD,
        requires = "publish"
    )]
    pub lead: u32,

    /// Only say whether all is good, and with --out what would be written
    #[arg(long)]
    pub check: bool,

    /// Stay, look once a second at the document and the files that it names, and render again after a change
    #[arg(long, conflicts_with = "check")]
    pub watch: bool,

    /// Tell it on standard output as JSON: one object, with --watch one a line for each change
    #[arg(long)]
    pub json: bool,

    /// The directory in which an agent keeps the credentials that a console has given for destinations; the document is that console's then.
    #[arg(skip)]
    pub given: Option<PathBuf>,

    /// The destinations of credentials by the operator's own document, if the document here is a console's.
    #[arg(skip)]
    pub bound: CredentialDestinations,

    /// Serves clusters and secrets to Envoy, in place of files.
    #[arg(skip)]
    pub ads: Option<Arc<AdsServer>>,

    /// Authorities (`host:port`) of accounts whose requests go to other ones: those of a demonstration.
    #[arg(skip)]
    pub aliases: Vec<(String, String)>,

    /// Whether the document gets the spend feed that is served beside its gateway, where it names none.
    #[arg(skip)]
    pub spend_feed: bool,

    /// The table of published documents and their sources, if one is kept.
    #[arg(skip)]
    pub published_as: Option<Arc<PublishedAs>>,
}

impl Args {
    /// The defaults, for a document that is rendered within another command.
    pub fn new(document: PathBuf) -> Self {
        Self {
            document,
            out: None,
            credentials: None,
            system_ca: SystemCaArg::default(),
            filter: None,
            inotify_instances: None,
            control_plane: None,
            keep: false,
            publish: None,
            settle: SETTLE,
            admin: None,
            lead: LEAD,
            check: false,
            watch: false,
            json: false,
            given: None,
            bound: CredentialDestinations::new(),
            ads: None,
            aliases: Vec::new(),
            spend_feed: false,
            published_as: None,
        }
    }

    /// The time that a published document takes to be in force.
    pub fn settle(&self) -> Duration {
        Duration::from_secs(self.settle.into())
    }

    /// The time that written clusters take to be in Envoy.
    pub fn lead(&self) -> Duration {
        Duration::from_secs(self.lead.into())
    }
}
