//! The settings of `trilane up`, on the command line, in the environment and in a file.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use serde::Deserialize;

use super::console_peer::ConsolePeer;
use super::size::FileSize;
use crate::console_http::ConsoleUrl;
use crate::data_directory::DataArg;
use crate::envoy_program::FetchingArg;
use crate::host_port::HostPort;
use crate::timestamp::parse_duration;

/// Runs the gateway on this machine, until a signal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Everything is in the data directory: the document (gateway.json), the vendors' credentials (credentials/), the ledger \
(ledger/ledger.jsonl), and in run/ what this command writes for itself, Envoy's log among it. With server.crt and \
server.key in certs/ there is a listener for TLS. `trilane init` makes a directory that is ready to run; --demo tries it out \
without a vendor, with simulators, a sample document and keys that are printed, by default in trilane-demo/ beside the data directory.

While it runs:
  - Envoy is started again when it ends, at once and then ever later, up to every 30 s, and it is ended when it hangs
  - the document takes effect when it is saved, and so does a credential that is renamed into its place; a document \
with a mistake changes nothing, and every problem is printed
  - the ledger is rotated by size and age; nothing is removed unless --ledger-keep says so
  - an account that its vendor refuses is named, with the file to mend

With --console there is a console beside it (`trilane console --help`), and with --console-url alone it is one elsewhere. Then \
document and keys come from there: gateway.json is the console's first version if it has none yet, and changes nothing from \
then on; without either the gateway starts once a document was published in the console. They are kept in agent/, so the gateway goes on and starts without the console. Rotated files of the ledger that the console \
has all of are removed, but for the latest two (--ledger-keep).

SIGTERM lets requests in flight end first (--drain). Ctrl-C ends everything at once, cleanly; a second one does not even wait \
for that. Whatever ends this command ends Envoy too.

Each option may be an environment variable (below), or stand in DIR/trilane.toml under its own name, such as \
`port = 8000`. The command line comes first, then the environment, then the file.

Exit codes:
  0  ended by a signal
  1  it cannot start, or can no longer run
  2  wrong command line or trilane.toml

Examples:
  trilane up --demo
  trilane up --data /var/lib/trilane --host 0.0.0.0 --drain 10m
  TRILANE_PORT=8000 trilane up
  trilane up --console --console-url https://console.example.com --gateway-url https://ai.example.com
  trilane up --console --console-url https://ai.internal --console-tls-listen 0.0.0.0:443 \
    --console-tls-cert ai.crt --console-tls-key ai.key --host 0.0.0.0")]
pub struct UpArgs {
    #[command(flatten)]
    pub data: DataArg,

    #[command(flatten)]
    pub settings: UpSettings,

    /// Only let Envoy check its configuration
    #[arg(long)]
    pub check: bool,

    #[command(flatten)]
    pub fetching: FetchingArg,
}

/// The settings that `trilane.toml` accepts too.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[group(skip)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct UpSettings {
    /// Add simulators of the vendors, and where there is no document the sample one
    #[arg(long, env = "TRILANE_DEMO", value_parser = BoolishValueParser::new())]
    pub demo: bool,

    /// Say more at the start: addresses, files, accounts, processes
    #[arg(short, long, env = "TRILANE_VERBOSE", value_parser = BoolishValueParser::new())]
    pub verbose: bool,

    /// The address of this machine at which clients connect [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "TRILANE_HOST")]
    pub host: Option<String>,

    /// The port that clients connect to; 0: any free port [default: 10000]
    #[arg(long, value_name = "PORT", env = "TRILANE_PORT")]
    pub port: Option<u16>,

    /// The port that clients connect to over TLS; 0: any free port [default: 10443]
    #[arg(long, value_name = "PORT", env = "TRILANE_TLS_PORT")]
    pub tls_port: Option<u16>,

    /// Envoy's admin interface, on loopback; 0: any free port [default: 9901]
    #[arg(long, value_name = "PORT", env = "TRILANE_ADMIN_PORT")]
    pub admin_port: Option<u16>,

    /// The configuration document [default: gateway.json in the data directory]
    #[arg(long, value_name = "FILE", env = "TRILANE_DOCUMENT")]
    pub document: Option<PathBuf>,

    /// Run the console here too: keys, documents and usage in a database, and document and keys of this gateway from it
    #[arg(long, env = "TRILANE_CONSOLE", value_parser = BoolishValueParser::new())]
    pub console: bool,

    /// The port of that console on this machine; 0: any free port [default: 10092]
    #[arg(long, value_name = "PORT", env = "TRILANE_CONSOLE_PORT")]
    pub console_port: Option<u16>,

    /// In a container: let its host (`gateway`), or who has this address, connect to that console, too, and nobody else
    #[arg(long, value_name = "gateway|ADDRESS", env = "TRILANE_CONSOLE_PEER")]
    pub console_peer: Option<ConsolePeer>,

    /// Let that console test accounts at private addresses and on this machine, too: servers of your own
    #[arg(long, env = "TRILANE_ALLOW_PRIVATE_ACCOUNTS", value_parser = BoolishValueParser::new())]
    pub allow_private_accounts: bool,

    /// With --console: the mail server for notices: smtps://USER@HOST:465 (TLS from the start) or smtp://USER@HOST:587 (STARTTLS; on
    /// loopback without TLS)
    #[arg(long, value_name = "URL", env = "TRILANE_SMTP_URL")]
    pub smtp_url: Option<String>,

    /// The file with the password of that user
    #[arg(long, value_name = "FILE", env = "TRILANE_SMTP_PASSWORD_FILE")]
    pub smtp_password_file: Option<PathBuf>,

    /// The sender's address of notices: trilane@example.com
    #[arg(long, value_name = "ADDRESS", env = "TRILANE_SMTP_FROM")]
    pub smtp_from: Option<String>,

    /// The address of this machine where metrics are [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "TRILANE_METRICS_HOST")]
    pub metrics_host: Option<IpAddr>,

    /// The port of the metrics of console and agent, at /metrics, and of Envoy, at /stats/prometheus; 0: any free port [default: 10094]
    #[arg(long, value_name = "PORT", env = "TRILANE_METRICS_PORT")]
    pub metrics_port: Option<u16>,

    /// Take document and keys from the console at this address, and send it the ledger. With --console: the address at which people
    /// reach that one, by --console-tls-listen or by way of a proxy on this machine that ends TLS
    #[arg(long, value_name = "URL", env = "TRILANE_CONSOLE_URL")]
    pub console_url: Option<ConsoleUrl>,

    /// Listen for people at that console here too, over TLS: 0.0.0.0:443. Needs --console-url
    #[arg(long, value_name = "HOST:PORT", env = "TRILANE_CONSOLE_TLS_LISTEN")]
    pub console_tls_listen: Option<String>,

    /// The certificate of that, with its chain, in PEM
    #[arg(long, value_name = "FILE", env = "TRILANE_CONSOLE_TLS_CERT")]
    pub console_tls_cert: Option<PathBuf>,

    /// The private key of that, in PEM
    #[arg(long, value_name = "FILE", env = "TRILANE_CONSOLE_TLS_KEY")]
    pub console_tls_key: Option<PathBuf>,

    /// The address at which clients reach the gateway, for the pages of the console here [default: that on this machine]
    #[arg(long, value_name = "URL", env = "TRILANE_GATEWAY_URL")]
    pub gateway_url: Option<String>,

    /// Show the health of models at /status of the console here to everybody, without signing in: models alone, nothing of accounts, keys or people
    #[arg(long, env = "TRILANE_STATUS_PAGE", value_parser = BoolishValueParser::new())]
    pub status_page: bool,

    /// Trust the certificate authorities in this file for that console instead of the system's
    #[arg(long, value_name = "FILE", env = "TRILANE_CONSOLE_CA")]
    pub console_ca: Option<PathBuf>,

    /// Enrol there with the token or the enrolment secret in this file, at the first start
    #[arg(long, value_name = "FILE", env = "TRILANE_ENROLMENT_TOKEN_FILE")]
    pub enrolment_token_file: Option<PathBuf>,

    /// With an enrolment secret: the id of this Envoy in that console [default: the host's name]
    #[arg(long, value_name = "ID", env = "TRILANE_ENVOY_ID")]
    pub envoy_id: Option<String>,

    /// The directory of the files that the document names without a leading slash [default: credentials/ beside the document]
    #[arg(long, value_name = "DIR", env = "TRILANE_CREDENTIALS")]
    pub credentials: Option<PathBuf>,

    /// The system's certificate authorities, which Envoy and the console trust [default: where the distribution has them]
    #[arg(long, value_name = "FILE", env = "TRILANE_SYSTEM_CA")]
    pub system_ca: Option<PathBuf>,

    /// Add one line of JSON a request to this file [default: ledger/ledger.jsonl in the data directory]
    #[arg(long, value_name = "FILE", env = "TRILANE_LEDGER")]
    pub ledger: Option<PathBuf>,

    /// Begin another ledger file when this one is so large, in bytes or with k, M or G [default: 256M]
    #[arg(long, value_name = "SIZE", env = "TRILANE_LEDGER_MAX_SIZE")]
    pub ledger_max_size: Option<FileSize>,

    /// ... or its first line so old, such as 12h or 1d [default: never]
    #[arg(long, value_name = "DURATION", env = "TRILANE_LEDGER_MAX_AGE", value_parser = duration)]
    pub ledger_max_age: Option<String>,

    /// Remove the oldest of more rotated ledger files than this [default: keep all]
    #[arg(long, value_name = "NUMBER", env = "TRILANE_LEDGER_KEEP")]
    pub ledger_keep: Option<usize>,

    /// With the sample document: use this instead of the simulators
    #[arg(long, value_name = "HOST:PORT", env = "TRILANE_UPSTREAM")]
    pub upstream: Option<HostPort>,

    /// The number of trusted proxies in front of the gateway: the client's address is the one that so many have noted in x-forwarded-for.
    /// Only they may reach the gateway then [default: 0]
    #[arg(long, value_name = "NUMBER", env = "TRILANE_TRUSTED_HOPS", value_parser = clap::value_parser!(u32).range(0..=10))]
    pub trusted_hops: Option<u32>,

    /// Ask this rate limit service, as well
    #[arg(long, value_name = "HOST:PORT", env = "TRILANE_LIMITS_SERVICE")]
    pub limits_service: Option<HostPort>,

    /// Envoy's worker threads; with one, a crash of the filter concerns every request [default: 2]
    #[arg(long, value_name = "NUMBER", env = "TRILANE_CONCURRENCY")]
    pub concurrency: Option<u32>,

    /// Time that requests in flight may take to end after SIGTERM [default: 60s]
    #[arg(long, value_name = "DURATION", env = "TRILANE_DRAIN", value_parser = duration)]
    pub drain: Option<String>,

    /// End an Envoy that has answered nothing for so long, and start it again [default: 30s]
    #[arg(long, value_name = "DURATION", env = "TRILANE_UNRESPONSIVE_AFTER", value_parser = duration)]
    pub unresponsive_after: Option<String>,

    /// The Envoy to run [default: $ENVOY, else that of `trilane envoy install`, else the one in PATH]
    #[arg(long, value_name = "FILE", env = "TRILANE_ENVOY")]
    pub envoy: Option<PathBuf>,

    /// The filter to load instead of the one in this program, with `trilane_judge.wasm` beside it
    #[arg(long, value_name = "FILE", env = "TRILANE_WASM")]
    pub filter: Option<PathBuf>,

    /// Envoy's log level [default: info]
    #[arg(long, value_name = "LEVEL", env = "TRILANE_LOG_LEVEL",
        value_parser = ["trace", "debug", "info", "warning", "error", "critical", "off"])]
    pub log_level: Option<String>,
}

impl UpSettings {
    /// These settings, and those of `other` where nothing is said.
    pub fn or(self, other: Self) -> Self {
        Self {
            demo: self.demo || other.demo,
            verbose: self.verbose || other.verbose,
            host: self.host.or(other.host),
            port: self.port.or(other.port),
            tls_port: self.tls_port.or(other.tls_port),
            admin_port: self.admin_port.or(other.admin_port),
            document: self.document.or(other.document),
            credentials: self.credentials.or(other.credentials),
            console: self.console || other.console,
            console_port: self.console_port.or(other.console_port),
            allow_private_accounts: self.allow_private_accounts || other.allow_private_accounts,
            console_peer: self.console_peer.or(other.console_peer),
            smtp_url: self.smtp_url.or(other.smtp_url),
            smtp_password_file: self.smtp_password_file.or(other.smtp_password_file),
            smtp_from: self.smtp_from.or(other.smtp_from),
            metrics_host: self.metrics_host.or(other.metrics_host),
            metrics_port: self.metrics_port.or(other.metrics_port),
            console_url: self.console_url.or(other.console_url),
            gateway_url: self.gateway_url.or(other.gateway_url),
            status_page: self.status_page || other.status_page,
            console_tls_listen: self.console_tls_listen.or(other.console_tls_listen),
            console_tls_cert: self.console_tls_cert.or(other.console_tls_cert),
            console_tls_key: self.console_tls_key.or(other.console_tls_key),
            console_ca: self.console_ca.or(other.console_ca),
            enrolment_token_file: self.enrolment_token_file.or(other.enrolment_token_file),
            envoy_id: self.envoy_id.or(other.envoy_id),
            system_ca: self.system_ca.or(other.system_ca),
            ledger: self.ledger.or(other.ledger),
            ledger_max_size: self.ledger_max_size.or(other.ledger_max_size),
            ledger_max_age: self.ledger_max_age.or(other.ledger_max_age),
            ledger_keep: self.ledger_keep.or(other.ledger_keep),
            upstream: self.upstream.or(other.upstream),
            trusted_hops: self.trusted_hops.or(other.trusted_hops),
            limits_service: self.limits_service.or(other.limits_service),
            concurrency: self.concurrency.or(other.concurrency),
            drain: self.drain.or(other.drain),
            unresponsive_after: self.unresponsive_after.or(other.unresponsive_after),
            envoy: self.envoy.or(other.envoy),
            filter: self.filter.or(other.filter),
            log_level: self.log_level.or(other.log_level),
        }
    }
}

/// Checks a duration, which stays as it is written.
fn duration(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}
