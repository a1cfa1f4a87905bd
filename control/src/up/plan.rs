//! The plan of a run: the settings, resolved for one data directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::console_peer::ConsolePeer;
use super::file;
use super::ledger::Rotation;
use super::settings::{UpArgs, UpSettings};
use super::size::FileSize;
use trilane_console::connections::CertificateFiles;
use trilane_console::webhooks::mail::MailServer;

use crate::console::{SmtpArgs, TlsListen};
use crate::console_http::ConsoleUrl;
use crate::data_directory::DataDirectory;
use crate::envoy_program::{self, EnvoyProgram};
use crate::event_printer::EventPrinter;
use crate::failure::Failure;
use crate::host_port::HostPort;
use crate::metrics_listener::MetricsAddress;
use crate::run_directory::RunDirectory;
use crate::system_ca;
use crate::timestamp::parse_duration;

/// Defaults.
const HOST: &str = "127.0.0.1";
const PORT: u16 = 10000;
const TLS_PORT: u16 = 10443;
const ADMIN_PORT: u16 = 9901;
const CONSOLE_PORT: u16 = 10092;
const METRICS_PORT: u16 = 10094;
const CONCURRENCY: u32 = 2;
const DRAIN: Duration = Duration::from_secs(60);
const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(30);
const LEDGER_SIZE: FileSize = FileSize(256 << 20);
/// The number of rotated files that are kept once a console has them.
const LEDGER_KEEP: usize = 2;

/// The source of document and keys.
#[derive(Debug, Clone)]
pub enum ConsolePlan {
    /// From a console in this process.
    Here(LocalConsole),
    /// From one elsewhere.
    At {
        /// The address of the console.
        url: ConsoleUrl,
        /// Authorities to trust instead of the system's.
        ca: Option<PathBuf>,
        /// The file of an enrolment token or an enrolment secret.
        enrolment: Option<PathBuf>,
        /// The id under which it enrols with a secret.
        envoy_id: Option<String>,
    },
}

/// A console in this process.
#[derive(Debug, Clone)]
pub struct LocalConsole {
    /// The port of the console; 0: any.
    pub port: u16,
    /// The address that may connect from elsewhere, in a container.
    pub peer: Option<ConsolePeer>,
    /// Whether it tests accounts at private addresses.
    pub private_accounts: bool,
    /// Whether everybody sees the health of models there.
    pub status_page: bool,
    /// The mail server of its notices.
    pub mail: Option<Box<MailServer>>,
    /// The address at which people reach it, over TLS here or by a proxy on this machine; `None`: on this machine alone.
    pub public: Option<ConsoleUrl>,
    /// The listener over TLS beside the plain one.
    pub tls: Option<TlsListen>,
    /// The address at which clients reach the gateway, for its pages; `None`: that on this machine.
    pub gateway: Option<String>,
}

/// The plan of one run. Paths are absolute.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The data directory.
    pub data: DataDirectory,
    /// The directory of the files that this run writes for itself.
    pub run: RunDirectory,
    /// Whether simulators and the sample document are wanted.
    pub demo: bool,
    /// Whether the overview says everything.
    pub verbose: bool,
    /// The address at which clients connect.
    pub host: String,
    /// The port for them; 0: any.
    pub port: u16,
    /// The port over TLS; 0: any.
    pub tls_port: u16,
    /// The port of the admin interface; 0: any.
    pub admin_port: u16,
    /// The source of document and keys, if it is not the document's file.
    pub console: Option<ConsolePlan>,
    /// The address of the metrics listener.
    pub metrics: MetricsAddress,
    /// The document that is put in force: as its owner writes it, or as it comes from a console.
    pub document: PathBuf,
    /// The first version of the console's document.
    pub imported: Option<PathBuf>,
    /// The directory of the files that it names.
    pub credentials: PathBuf,
    /// The file of the system's certificate authorities.
    pub system_ca: PathBuf,
    /// The ledger's file.
    pub ledger: PathBuf,
    /// The conditions on which another ledger file is begun.
    pub rotation: Rotation,
    /// The address that stands in for the sample's vendors instead of simulators.
    pub upstream: Option<HostPort>,
    /// A rate limit service to ask.
    pub limits_service: Option<HostPort>,
    /// The number of trusted proxies in front of the gateway.
    pub trusted_hops: u32,
    /// Envoy's worker threads.
    pub concurrency: u32,
    /// The longest time for requests in flight to end.
    pub drain: Duration,
    /// The time for which Envoy may answer nothing.
    pub unresponsive_after: Duration,
    /// The Envoy to run.
    pub envoy: EnvoyProgram,
    /// A filter other than the one in this program.
    pub filter: Option<PathBuf>,
    /// The log level of Envoy.
    pub log_level: String,
    /// Whether Envoy only checks its configuration.
    pub check: bool,
}

impl Plan {
    /// From the command line, the environment and the file.
    ///
    /// # Errors
    /// A setting makes no sense, or there is no Envoy to run.
    pub fn new(args: UpArgs) -> Result<Self, Failure> {
        let directory = if args.settings.demo {
            args.data.demo_directory()?
        } else {
            args.data.directory()?
        };
        let root = absolute(directory.root())?;
        let data = DataDirectory::new(root);
        let settings = args.settings.or(file::read(&data)?);
        ensure_one_console(&settings)?;
        let tls = console_tls(&settings)?;
        let mail = SmtpArgs {
            smtp_url: settings.smtp_url.clone(),
            smtp_password_file: settings.smtp_password_file.clone(),
            smtp_from: settings.smtp_from.clone(),
        };
        let mail = mail.server()?.map(Box::new);
        if mail.is_some() && !settings.console {
            let text = "--smtp-url is for the console: it needs --console".to_owned();
            return Err(Failure::Usage(text));
        }
        let envoy = envoy_program::find_or_fetch(settings.envoy.as_deref(), &data, args.fetching)?;
        let document = match settings.document {
            Some(document) => absolute(&document)?,
            None => data.document(),
        };
        let console = match (settings.console, settings.console_url) {
            (true, public) => Some(ConsolePlan::Here(LocalConsole {
                port: settings.console_port.unwrap_or(CONSOLE_PORT),
                peer: settings.console_peer,
                private_accounts: settings.allow_private_accounts,
                status_page: settings.status_page,
                mail,
                public,
                tls,
                gateway: settings.gateway_url,
            })),
            (false, Some(url)) => Some(ConsolePlan::At {
                url,
                ca: settings.console_ca.as_deref().map(absolute).transpose()?,
                enrolment: settings
                    .enrolment_token_file
                    .as_deref()
                    .map(absolute)
                    .transpose()?,
                envoy_id: settings.envoy_id,
            }),
            (false, None) => None,
        };
        let credentials = match settings.credentials {
            Some(credentials) => absolute(&credentials)?,
            None => document
                .parent()
                .unwrap_or(Path::new("/"))
                .join("credentials"),
        };
        let ledger = settings
            .ledger
            .as_deref()
            .map_or_else(|| Ok(data.ledger()), absolute)?;
        let host = settings.host.unwrap_or_else(|| HOST.to_owned());
        if host.parse::<std::net::IpAddr>().is_err() {
            return Err(Failure::Usage(format!(
                "--host: {host} is no address; name one of this machine, such as 0.0.0.0"
            )));
        }
        let metrics_host = settings.metrics_host.map(|host| host.to_string());
        let metrics_are_said = metrics_host.is_some() || settings.metrics_port.is_some();
        let metrics = HostPort::new(
            metrics_host.as_deref().unwrap_or(HOST),
            settings.metrics_port.unwrap_or(METRICS_PORT),
        )
        .to_string();
        Ok(Self {
            run: RunDirectory::of(&data),
            demo: settings.demo,
            verbose: settings.verbose,
            host,
            port: settings.port.unwrap_or(PORT),
            tls_port: settings.tls_port.unwrap_or(TLS_PORT),
            admin_port: settings.admin_port.unwrap_or(ADMIN_PORT),
            imported: matches!(console, Some(ConsolePlan::Here(_))).then(|| document.clone()),
            metrics: MetricsAddress::new(metrics_are_said.then_some(&metrics), &metrics),
            document: match console {
                Some(_) => data.agent().document(),
                None => document,
            },
            credentials,
            system_ca: system_ca::named_or_found(settings.system_ca),
            ledger,
            rotation: Rotation {
                size: settings.ledger_max_size.unwrap_or(LEDGER_SIZE).0,
                age: settings
                    .ledger_max_age
                    .as_deref()
                    .map(duration)
                    .transpose()?,
                keep: settings
                    .ledger_keep
                    .or_else(|| console.is_some().then_some(LEDGER_KEEP)),
            },
            console,
            upstream: settings.upstream,
            limits_service: settings.limits_service,
            trusted_hops: settings.trusted_hops.unwrap_or_default(),
            concurrency: settings.concurrency.unwrap_or(CONCURRENCY).max(1),
            drain: settings.drain.as_deref().map_or(Ok(DRAIN), duration)?,
            unresponsive_after: settings
                .unresponsive_after
                .as_deref()
                .map_or(Ok(UNRESPONSIVE_AFTER), duration)?,
            envoy,
            filter: settings.filter,
            log_level: settings.log_level.unwrap_or_else(|| "info".to_owned()),
            check: args.check,
            data,
        })
    }

    /// The printer of what console and metrics say. A demonstration says less.
    pub fn printer(&self) -> EventPrinter {
        let printer = EventPrinter::new(false);
        if self.demo && !self.verbose {
            printer.without_news()
        } else {
            printer
        }
    }

    /// The address at which this machine itself reaches the gateway.
    pub fn reached_at(&self, port: u16) -> HostPort {
        match self.host.as_str() {
            "0.0.0.0" => HostPort::loopback(port),
            "::" => HostPort::new("::1", port),
            host => HostPort::new(host, port),
        }
    }
}

/// Refuses a console here with what only one elsewhere is given.
fn ensure_one_console(settings: &UpSettings) -> Result<(), Failure> {
    let elsewhere = [
        ("--console-ca", settings.console_ca.is_some()),
        (
            "--enrolment-token-file",
            settings.enrolment_token_file.is_some(),
        ),
        ("--envoy-id", settings.envoy_id.is_some()),
    ];
    match elsewhere.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if settings.console => Err(Failure::Usage(format!(
            "{option} is for a console elsewhere, and --console starts one here: leave one of them out"
        ))),
        _ => Ok(()),
    }
}

/// The listener over TLS of a console here.
fn console_tls(settings: &UpSettings) -> Result<Option<TlsListen>, Failure> {
    let given = (
        &settings.console_tls_listen,
        &settings.console_tls_cert,
        &settings.console_tls_key,
    );
    match given {
        (None, None, None) => Ok(None),
        (Some(address), Some(chain), Some(key)) if settings.console && settings.console_url.is_some() => {
            Ok(Some(TlsListen {
                address: address.clone(),
                files: CertificateFiles {
                    chain: absolute(chain)?,
                    key: absolute(key)?,
                },
            }))
        }
        _ => Err(Failure::Usage(
            "a console over TLS needs --console, --console-url, --console-tls-listen, --console-tls-cert and --console-tls-key".to_owned(),
        )),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

fn duration(text: &str) -> Result<Duration, Failure> {
    let parsed = parse_duration(text).map_err(Failure::Usage)?;
    Ok(parsed.unsigned_abs())
}
