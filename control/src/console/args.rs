//! The options of `trilane console`.

use std::path::PathBuf;

use http::HeaderName;
use time::OffsetDateTime;
use trilane::keys::AddressRange;
use trilane_console::connections::CertificateFiles;
use trilane_console::timestamp;

use super::audit_otlp::AuditOtlpArgs;
use super::running::TlsListen;
use super::smtp::SmtpArgs;
use crate::console_http::ConsoleUrl;
use crate::system_ca::SystemCaArg;

/// Serves the control plane's API: keys, documents, usage and spend of all gateways, in one database.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The database is a directory, in which SQLite keeps it, or PostgreSQL at a URL postgres://USER@HOST/NAME, which several \
consoles may share. A URL with a password belongs into a file (--database-file) or into the environment (TRILANE_DATABASE): \
everybody on this machine can read a command line.

The API is at /api/v1, described by /api/openapi.json. Every request needs a token: Authorization: Bearer tlc-... The first \
one is made by --admin-token-file, as long as nobody is there.

/healthz responds with 200 while a change can be made in the database, else with 503, within two seconds.

Prometheus reads /metrics at an address of its own (--metrics-listen), without a token: no metric has a secret, and no proxy \
in front of the console has that address.

--listen has no TLS: leave it on loopback, for agents and metrics of this machine. People come by --tls-listen, with a certificate of your \
own, which is read again when its files change; or a proxy ends TLS, and --behind-tls-proxy says so.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  cannot listen, or the database cannot be opened
  2  wrong command line

Examples:
  trilane console --database /var/lib/trilane --admin-token-file admin.token
  TRILANE_DATABASE=postgres://console:...@db/console trilane console
  curl -H \"Authorization: Bearer $(cat admin.token)\" http://127.0.0.1:10092/api/v1/me")]
#[command(args_conflicts_with_subcommands = true)]
pub struct ConsoleArgs {
    /// The operation to run on the database instead of serving it
    #[command(subcommand)]
    pub command: Option<ConsoleCommand>,

    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The address to listen on; port 0 takes a free one, which is printed
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:10092")]
    pub listen: String,

    /// The address of this console's metrics for Prometheus, at /metrics; `none` turns them off [default: 127.0.0.1:10094]
    #[arg(long, value_name = "HOST:PORT", env = "TRILANE_METRICS_LISTEN")]
    pub metrics_listen: Option<String>,

    /// A proxy in front of this address ends TLS; without it only loopback is listened on
    #[arg(long)]
    pub behind_tls_proxy: bool,

    #[command(flatten)]
    pub tls: TlsListenArgs,

    /// Proxies in front of this address, as addresses or networks: their X-Forwarded-For says from where a request comes
    #[arg(
        long,
        env = "TRILANE_TRUSTED_PROXIES",
        value_name = "NETWORK",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<AddressRange>,

    /// The header in which those proxies name the person who is signed in there. Whoever can set it is anybody: they must take it away
    /// from what clients send
    #[arg(
        long,
        value_name = "NAME",
        requires = "trusted_proxies",
        env = "TRILANE_TRUSTED_USER_HEADER"
    )]
    pub trusted_user_header: Option<HeaderName>,

    /// The address at which people reach this console, for links and for signing in elsewhere: https://console.example.com
    #[arg(long, env = "TRILANE_CONSOLE_URL", value_name = "URL")]
    pub console_url: Option<ConsoleUrl>,

    /// The address at which clients reach the gateway, for the pages that say how to set them up
    #[arg(long, env = "TRILANE_GATEWAY_URL", value_name = "URL")]
    pub gateway_url: Option<String>,

    /// Show the health of models at /status to everybody, without signing in: models alone, nothing of accounts, keys or people
    #[arg(long)]
    pub status_page: bool,

    /// Make the first admin, if nobody is there, and write that token into this new file
    #[arg(long, value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,

    /// The keys that seal credentials of accounts and secrets of webhooks and identity providers, made where there are none [default: sealing.keys in the database's directory]
    #[arg(long, value_name = "FILE", env = "TRILANE_SEALING_KEY_FILE")]
    pub sealing_key_file: Option<PathBuf>,

    /// The operator's own price catalogue, from `trilane prices import` [default: prices.json in the database's directory]
    #[arg(long, value_name = "FILE", env = "TRILANE_PRICES")]
    pub prices: Option<PathBuf>,

    /// Publish this document as the first version, if there is none yet
    #[arg(long, value_name = "FILE")]
    pub import_document: Option<PathBuf>,

    /// Days for which lines of the ledger are kept; sums stay
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub keep_requests: u32,

    /// Days for which the feed keeps removals; a gateway that was away for longer makes a full sync
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub keep_removals: u32,

    /// Let webhooks go to private addresses and without TLS, too
    #[arg(long)]
    pub allow_private_webhooks: bool,

    #[command(flatten)]
    pub smtp: SmtpArgs,

    /// Test accounts at private addresses and on this machine, too: servers of your own
    #[arg(long)]
    pub allow_private_accounts: bool,

    /// Let identity providers be at private addresses, and there without TLS, too
    #[arg(long)]
    pub allow_private_providers: bool,

    #[command(flatten)]
    pub audit_otlp: AuditOtlpArgs,

    #[command(flatten)]
    pub system_ca: SystemCaArg,

    /// Report everything on standard output, as one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// The options of the listener over TLS.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct TlsListenArgs {
    /// Listen here too, over TLS: 0.0.0.0:443
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "TRILANE_CONSOLE_TLS_LISTEN",
        requires = "tls_cert"
    )]
    pub tls_listen: Option<String>,

    /// The certificate of that, with its chain, in PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "TRILANE_CONSOLE_TLS_CERT",
        requires = "tls_key"
    )]
    pub tls_cert: Option<PathBuf>,

    /// The private key of that, in PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "TRILANE_CONSOLE_TLS_KEY",
        requires = "tls_listen"
    )]
    pub tls_key: Option<PathBuf>,
}

impl TlsListenArgs {
    /// The listener, if one is wanted.
    pub fn listen(&self) -> Option<TlsListen> {
        Some(TlsListen {
            address: self.tls_listen.clone()?,
            files: CertificateFiles {
                chain: self.tls_cert.clone()?,
                key: self.tls_key.clone()?,
            },
        })
    }
}

/// The options that locate the database.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct DatabaseArgs {
    /// The database: a directory, or a URL without a password
    #[arg(long, value_name = "DIR|URL", conflicts_with = "database_file")]
    pub database: Option<String>,

    /// A file in which that stands
    #[arg(long, value_name = "FILE")]
    pub database_file: Option<PathBuf>,
}

/// An operation on the database without serving it.
#[derive(Debug, clap::Subcommand)]
pub enum ConsoleCommand {
    /// Seal credentials of accounts and secrets of webhooks and identity providers with the first key of the file, which other keys have sealed; safe to repeat
    Reseal(ResealArgs),
    /// Make a token for an admin, where the last one is lost; it is good for an hour
    AdminToken(AdminTokenArgs),
    /// Make a link with which a person signs in, once, within an hour
    SignInLink(SignInLinkArgs),
    /// Copy SQLite's database to a new file, while consoles go on; for PostgreSQL there is pg_dump
    Backup(BackupArgs),
    /// Say that the database was restored from a backup: gateways read all keys anew
    Restored(RestoredArgs),
    /// Let the agent with this fingerprint have credentials of accounts; without one, list the agents that wait for it
    Approve(ApproveArgs),
    /// Make a secret with which agents enrol by themselves and are approved by that: for charts and autoscaling
    EnrolmentSecret(EnrolmentSecretArgs),
    /// Make lines of an Envoy void: they are taken from usage and spend, and do not count when they come again
    Void(VoidArgs),
}

/// The options of `trilane console void`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For an Envoy whose lines are wrong: its host was broken into, or its clock or prices were. Without --yes it says what would be void \
and changes nothing. With --yes the lines that were counted are taken from usage, spend and budgets, to the digit, and kept aside \
with the reason `void`, as are lines of this time that come later or again. It cannot be undone.

Sums of lines that are no longer kept (--keep-requests) stay. The Envoy that wrote the lines has them in its own counters of budgets \
until it starts anew; all other Envoys see the spend fall within two seconds.

Exit codes:
  0  the lines are void, or were shown
  1  the data of a person is being erased, or the database cannot be used
  2  wrong command line

Examples:
  trilane console void --database /var/lib/trilane --envoy edge-1 --from 2026-11-27 --to 2026-11-28T09:30:00Z
  trilane console void --database /var/lib/trilane --envoy edge-1 --from 2026-11-27 --to 2026-11-28T09:30:00Z --yes")]
pub struct VoidArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The Envoy's id
    #[arg(long, value_name = "ID")]
    pub envoy: String,

    /// Requests that began from this time on: RFC 3339, or a day (UTC)
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day)]
    pub from: OffsetDateTime,

    /// Requests that began before this time
    #[arg(long, value_name = "TIME", value_parser = timestamp::parse_or_day)]
    pub to: OffsetDateTime,

    /// Make them void
    #[arg(long)]
    pub yes: bool,
}

/// The options of `trilane console reseal`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A new key: with --new-key it is put before the others in the file, and all is sealed with it. Consoles read the \
file whenever they need it. Where several have copies of it, copy the new file to all of them before running this without --new-key.

Old keys open backups from before; --forget-old-keys takes them out once nothing needs them.

Exit codes:
  0  every credential and every secret of a webhook is sealed with the first key
  1  some cannot be opened, or the database or the file cannot be used
  2  wrong command line")]
pub struct ResealArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The keys that seal [default: sealing.keys in the database's directory]
    #[arg(long, value_name = "FILE", env = "TRILANE_SEALING_KEY_FILE")]
    pub sealing_key_file: Option<PathBuf>,

    /// Put a new key before those in the file first
    #[arg(long)]
    pub new_key: bool,

    /// Take the other keys out of the file afterwards
    #[arg(long)]
    pub forget_old_keys: bool,
}

/// The options of `trilane console admin-token`.
#[derive(Debug, clap::Args)]
pub struct AdminTokenArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The person who gets the token and becomes an admin; added if nobody has this id
    #[arg(long, value_name = "ID", default_value = "admin")]
    pub person: String,

    /// The new file that gets the token
    #[arg(value_name = "FILE")]
    pub token_file: PathBuf,
}

/// The options of `trilane console sign-in-link`.
#[derive(Debug, clap::Args)]
pub struct SignInLinkArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The person who signs in with it
    #[arg(long, value_name = "ID", default_value = "admin")]
    pub person: String,

    /// The address of the console's pages
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:10092")]
    pub console_url: String,
}

/// The options of `trilane console backup`.
#[derive(Debug, clap::Args)]
pub struct BackupArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The new file that gets the copy
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// The options of `trilane console restored`.
#[derive(Debug, clap::Args)]
pub struct RestoredArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,
}

/// The options of `trilane console approve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent that has enrolled with a token of the API has document and keys at once, and credentials of accounts once it is approved \
here. Compare the fingerprint with the one that the agent's own log shows: nobody else knows that it is this agent.

Exit codes:
  0  approved, or listed
  1  no agent waits that has this fingerprint, or the database cannot be used
  2  wrong command line")]
pub struct ApproveArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The fingerprint, as the agent's log shows it
    #[arg(value_name = "FINGERPRINT")]
    pub fingerprint: Option<String>,
}

/// The options of `trilane console enrolment-secret`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whoever has this secret may enrol as many agents as they like, each under an id that is free, and read credentials of accounts. \
Agents take it where they take an enrolment token (--enrolment-token-file), with --envoy-id or their host's name as the id.

Exit codes:
  0  made, or removed
  1  there is none of this name, or the file or the database cannot be used
  2  wrong command line")]
pub struct EnrolmentSecretArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,

    /// The secret's name. One of this name that was made before is void
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: String,

    /// The validity of the secret, in days [default: until it is removed]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: Option<u32>,

    /// Remove it: no agent enrols with it any more, and those that have stay
    #[arg(long, conflicts_with_all = ["days", "file"])]
    pub remove: bool,

    /// The new file that gets the secret
    #[arg(value_name = "FILE", required_unless_present = "remove")]
    pub file: Option<PathBuf>,
}
