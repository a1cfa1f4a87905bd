//! `trilane console`: the control plane's API.
//!
//! All that it does is in [`trilane_console`]; here are its options ([`args`]), where its database is ([`database`]), a console
//! that [runs](running), with its first admin and what was there before ([`import`]), and the agent of an Envoy in the same
//! process ([`local_agent`]), and who sends the messages of [`webhooks`], and the [audit to a collector](audit_otlp). [`tools`] change a database without serving it.

mod args;
mod audit_otlp;
mod database;
mod import;
mod local_agent;
mod running;
mod smtp;
mod tools;
mod webhooks;

use std::path::{Path, PathBuf};

use serde_json::json;
use trilane_console::client_address::TrustedProxies;
use trilane_console::credentials::SealingKeyFile;
use trilane_console::identity_providers::ProviderAccess;
use trilane_console::maintenance::Retention;
use trilane_console::store::DatabaseAddress;
use trilane_console::store::audit::{self, Actor};
use trilane_console::vendors::VendorAccess;

use crate::console_http::ConsoleUrl;
use crate::data_directory::SEALING_KEYS;
use crate::event_printer::EventPrinter;
use crate::failure::Failure;
use crate::metrics_listener::MetricsAddress;
use crate::runtime;
use crate::serve::bind;
use crate::signals::Signals;
use trilane_console::prices::{CATALOGUE_NAME, CatalogueFile};

pub use args::ConsoleArgs;
pub use audit_otlp::AuditOtlpArgs;
pub use local_agent::admit as admit_local_agent;
pub use running::{ConsoleSettings, RunningConsole, TlsListen};
pub use smtp::SmtpArgs;

/// The default address of the metrics listener.
const METRICS: &str = "127.0.0.1:10094";
/// The threads that serve requests.
const THREADS: usize = 2;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot listen, or cannot open the database.
pub fn run(args: &ConsoleArgs) -> Result<(), Failure> {
    if let Some(command) = &args.command {
        return tools::run(command);
    }
    // What is under way at the end was given its time; a transaction that is cut changes nothing.
    runtime::run(THREADS, serve(args))
}

async fn serve(args: &ConsoleArgs) -> Result<(), Failure> {
    let printer = EventPrinter::new(args.json);
    let database = database::address(&args.database)?;
    let settings = ConsoleSettings {
        sealing_keys: sealing_keys(args.sealing_key_file.as_ref(), &database),
        prices: beside(args.prices.as_ref(), &database, CATALOGUE_NAME)
            .map(CatalogueFile::new)
            .unwrap_or_default(),
        database,
        admin_token_file: args.admin_token_file.clone(),
        import_document: args.import_document.clone(),
        retention: Retention {
            removals: args.keep_removals,
            requests: args.keep_requests,
        },
        https: args.behind_tls_proxy
            || args.tls.tls_listen.is_some()
            || args.console_url.as_ref().is_some_and(ConsoleUrl::is_tls),
        proxies: TrustedProxies::new(args.trusted_proxies.clone()),
        gateway: args.gateway_url.clone(),
        status_page: args.status_page,
        address: args.console_url.clone(),
        tls: args.tls.listen(),
        private_webhooks: args.allow_private_webhooks,
        audit_otlp: args.audit_otlp.clone(),
        mail: args.smtp.server()?,
        peers: None,
        vendors: VendorAccess::new(args.allow_private_accounts, args.system_ca.file()),
        providers: ProviderAccess::new(args.allow_private_providers, args.system_ca.file()),
        user_header: args.trusted_user_header.clone(),
    };
    // From here on, so that a signal interrupts nothing halfway.
    let mut signals = Signals::catch()?;
    let (listener, listens) = bind(&args.listen).await.map_err(Failure::Data)?;
    if !listens.ip().is_loopback() && !args.behind_tls_proxy {
        let text = format!(
            "{listens} is no address of loopback, and there is no TLS here: let a proxy end it, and say so with --behind-tls-proxy"
        );
        return Err(Failure::Usage(text));
    }
    if args.behind_tls_proxy && args.trusted_proxies.is_empty() {
        printer.trouble(
            "all people have the proxy's address: --trusted-proxies NETWORK says which proxies to believe. Until then attempts to sign in \
             are slowed by person alone, and the audit has the proxy's address",
        );
    }
    if let DatabaseAddress::Directory(directory) = &settings.database
        && !directory.is_dir()
    {
        let name = directory.display();
        return Err(Failure::Data(format!(
            "the database's directory {name} is not there: make it (mkdir -m 0700 {name}), or name another with --database DIR"
        )));
    }
    let console = tokio::select! {
        console = RunningConsole::begin(&settings, listener, printer) => console?,
        _ = signals.received() => return Ok(()),
    };
    let metrics = MetricsAddress::new(args.metrics_listen.as_deref(), METRICS);
    let metrics = metrics.serve(
        vec![Box::new(console.metrics())],
        None,
        "--metrics-listen",
        printer,
    );
    let metrics = metrics.await?;
    printer.listening(listens);
    signals.received().await;
    console.end().await;
    drop(metrics);
    printer.news("stopped", "stopped", json!({}));
    Ok(())
}

/// The keys that seal credentials: see [`sealing_key_file`].
fn sealing_keys(named: Option<&PathBuf>, database: &DatabaseAddress) -> Option<SealingKeyFile> {
    sealing_key_file(named, database).map(SealingKeyFile::new)
}

/// The file of the keys that seal credentials: in SQLite's directory, or next to it where `trilane up` has it, unless another is
/// named.
fn sealing_key_file(named: Option<&PathBuf>, database: &DatabaseAddress) -> Option<PathBuf> {
    let file = beside(named, database, SEALING_KEYS)?;
    let of_up = file.parent().and_then(Path::parent)?.join(SEALING_KEYS);
    let is_of_up = named.is_none() && !file.exists() && of_up.exists();
    Some(if is_of_up { of_up } else { file })
}

/// A file beside SQLite's database, unless another is named.
fn beside(named: Option<&PathBuf>, database: &DatabaseAddress, name: &str) -> Option<PathBuf> {
    let beside = || match database {
        DatabaseAddress::Directory(directory) => Some(directory.join(name)),
        DatabaseAddress::Postgres(_) => None,
    };
    named.cloned().or_else(beside)
}

/// The present time, in microseconds since 1970.
fn now() -> i64 {
    time::OffsetDateTime::now_utc()
        .unix_timestamp()
        .saturating_mul(1_000_000)
}

/// The operator of this machine, for the audit.
fn operator() -> Actor {
    Actor {
        id: audit::COMMAND.to_owned(),
        address: String::new(),
    }
}
