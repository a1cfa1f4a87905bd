//! The options of `trilane agent`.

use std::path::PathBuf;

use crate::console_http::ConsoleUrl;
use crate::envoy_admin::AdminPlace;
use crate::system_ca::SystemCaArg;

/// Stands beside an Envoy: brings it document and keys from the console, and sends the console its ledger.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An admin adds the Envoy to the console (POST /api/v1/envoys), which gives a token that is good once. The agent enrols with it \
and keeps a credential of its own in its directory, from then on without the token. It gets credentials of accounts once somebody on \
the console's machine has approved it, by the fingerprint that it shows here (`trilane console approve FINGERPRINT`). With an \
enrolment secret (`trilane console enrolment-secret FILE`) it needs neither an admin nor an approval.

The agent keeps what it needs on disk, so Envoy and agent start without the console, with document and keys as last known:
  DIR/gateway.json   the document in force, with this agent as its feed of keys
  DIR/keys.db        the keys, served at --listen under /keys; 503 until all were here once
  DIR/given/         credentials of accounts that the console has, for --ads-socket; mode 0400
  DIR/agent.json     the agent's credential

With --publish the document is checked, Envoy gets the clusters and credentials of its accounts over --ads-socket, and the \
document is put in force when it has them. Envoy needs a cluster `trilane_agent` at --listen, and that socket: `trilane \
envoy-config --agent HOST:PORT --ads-socket FILE` prints both. The socket's directory is the agent's user's alone, who is \
Envoy's too: whoever reaches it gets every credential. Envoy goes on with what it has while the agent is away, and one that \
starts meanwhile waits.

Lines of the ledger count once, however often agent or console are killed. Files that were renamed beside the ledger \
(`ledger-20261124T120000Z.jsonl` beside `ledger.jsonl`) are sent as well; remove none before the console has all of it \
(GET /api/v1/envoys says how much is waiting).

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  it cannot start
  2  wrong command line

Examples:
  trilane agent --console https://console.example.com --enrolment-token-file token --data /var/lib/trilane-agent \\
    --ledger /var/log/envoy/ledger.jsonl
  trilane agent --console https://console.example.com --data /var/lib/trilane-agent --ledger /var/log/envoy/ledger.jsonl \\
    --publish /etc/trilane/document/gateway.json --ads-socket /run/trilane/ads.sock")]
pub struct AgentArgs {
    /// The console's address; without TLS only on this machine
    #[arg(long, value_name = "URL", env = "TRILANE_CONSOLE_URL")]
    pub console: ConsoleUrl,

    /// Trust the certificate authorities in this file instead of the system's
    #[arg(long, value_name = "FILE", env = "TRILANE_CONSOLE_CA")]
    pub ca: Option<PathBuf>,

    /// Enrol with the token or the enrolment secret in this file, if the agent has no credential yet
    #[arg(long, value_name = "FILE", env = "TRILANE_ENROLMENT_TOKEN_FILE")]
    pub enrolment_token_file: Option<PathBuf>,

    /// With an enrolment secret: the id of this Envoy in the console [default: the host's name]
    #[arg(long, value_name = "ID", env = "TRILANE_ENVOY_ID")]
    pub envoy_id: Option<String>,

    /// The agent's directory
    #[arg(long, value_name = "DIR", env = "TRILANE_AGENT_DATA")]
    pub data: PathBuf,

    /// The ledger that Envoy writes
    #[arg(long, value_name = "FILE", env = "TRILANE_LEDGER")]
    pub ledger: PathBuf,

    /// The address on which Envoy reads the feed of keys
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:10093")]
    pub listen: String,

    /// The address of this agent's metrics for Prometheus, at /metrics; `none` turns them off [default: 127.0.0.1:10095]
    #[arg(long, value_name = "HOST:PORT", env = "TRILANE_METRICS_LISTEN")]
    pub metrics_listen: Option<String>,

    /// The admin interface of the Envoy there, on this machine, such as 127.0.0.1:9901. The console is told then which document
    /// Envoy has in force
    #[arg(long, value_name = "HOST:PORT", env = "TRILANE_ENVOY_ADMIN")]
    pub admin: Option<AdminPlace>,

    /// Put the document in force: copy it to this file once it is checked and Envoy has its clusters
    #[arg(long, value_name = "FILE", requires = "ads_socket")]
    pub publish: Option<PathBuf>,

    /// Serve clusters and credentials of the document's accounts to Envoy on this socket, in a directory of this user alone
    #[arg(long, value_name = "FILE", requires = "publish")]
    pub ads_socket: Option<PathBuf>,

    /// The gateway's filter, under the path where Envoy has it, with `trilane_judge.wasm` beside it: then the accounts of a
    /// group with several are also judged by the words of their answers
    #[arg(long, value_name = "FILE", requires = "ads_socket")]
    pub filter: Option<PathBuf>,

    /// The directory of the files that the document names without a leading slash [default: credentials/ in the agent's directory]
    #[arg(long, value_name = "DIR")]
    pub credentials: Option<PathBuf>,

    #[command(flatten)]
    pub system_ca: SystemCaArg,

    /// Report everything on standard output, as one JSON object a line
    #[arg(long)]
    pub json: bool,
}
