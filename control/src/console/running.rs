//! A console that runs in this process.

use core::time::Duration;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderName;
use serde_json::json;
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use trilane_console::account_credentials;
use trilane_console::cases::{ConsoleState, Reporter, StatusCache};
use trilane_console::client_address::TrustedProxies;
use trilane_console::connections::{CertificateFiles, ServerCertificate};
use trilane_console::credentials::SealingKeyFile;
use trilane_console::identity_providers::ProviderAccess;
use trilane_console::key_changes::{self, KeyChangeWatch};
use trilane_console::live::LiveParts;
use trilane_console::maintenance::{self, Retention};
use trilane_console::metrics::ConsoleMetrics;
use trilane_console::peer_listener::PeerListener;
use trilane_console::prices::CatalogueFile;
use trilane_console::secret::NewSecret;
use trilane_console::sessions::link_path;
use trilane_console::store::{
    DatabaseAddress, Store, StoreError, Workload, documents, key_grams, usage_days,
};
use trilane_console::vendors::VendorAccess;
use trilane_console::webhooks::mail::MailServer;
use trilane_console::webhooks::secrets;
use trilane_console::webhooks::sender::WebhookSender;
use trilane_console::{first_admin, server};

use super::audit_otlp::{AuditOtlpArgs, AuditSender};
use super::{import, now, webhooks};
use crate::console_http::ConsoleUrl;
use crate::event_printer::EventPrinter;
use crate::failure::Failure;
use crate::key::Delivery;
use crate::serve::bind;

/// The interval between two times of forgetting what is old.
const MAINTAIN: Duration = Duration::from_secs(3600);
/// The interval between two times of rolling usage up.
const ROLL_UP: Duration = Duration::from_secs(60);
/// Between looks for keys that the search is to know of, and after a failure.
const INDEX: Duration = Duration::from_secs(1);
const INDEX_LATER: Duration = Duration::from_secs(60);
/// The time for responses in progress when it ends.
const LAST: Duration = Duration::from_secs(5);

/// The configuration that a console starts with.
#[derive(Debug)]
pub struct ConsoleSettings {
    /// The address of its database.
    pub database: DatabaseAddress,
    /// The file that gets the first admin's token, if the database has no person yet.
    pub admin_token_file: Option<PathBuf>,
    /// A document that is published, if there is none yet.
    pub import_document: Option<PathBuf>,
    /// The operator's own prices, for documents that name the catalogue.
    pub prices: CatalogueFile,
    /// The days for which removals and requests are kept.
    pub retention: Retention,
    /// Whether browsers come over TLS, which a proxy ends.
    pub https: bool,
    /// The proxies whose word is taken for where a request comes from.
    pub proxies: TrustedProxies,
    /// The address of the gateway, for the lines that set clients up.
    pub gateway: Option<String>,
    /// Whether everybody sees the health of models.
    pub status_page: bool,
    /// The address at which people reach this console.
    pub address: Option<ConsoleUrl>,
    /// The listener over TLS beside the plain one.
    pub tls: Option<TlsListen>,
    /// The keys that seal credentials of accounts and secrets of webhooks; made where there are none.
    pub sealing_keys: Option<SealingKeyFile>,
    /// Whether webhooks may go to private addresses, and without TLS.
    pub private_webhooks: bool,
    /// The collector of the audit, if there is one.
    pub audit_otlp: AuditOtlpArgs,
    /// The mail server; `None`: no e-mail is sent.
    pub mail: Option<MailServer>,
    /// The addresses that may connect; `None`: all.
    pub peers: Option<Vec<IpAddr>>,
    /// The client that asks vendors for their models, to test accounts.
    pub vendors: VendorAccess,
    /// The access to identity providers.
    pub providers: ProviderAccess,
    /// The header in which a trusted proxy names the person who is signed in there.
    pub user_header: Option<HeaderName>,
}

/// A listener over TLS.
#[derive(Debug, Clone)]
pub struct TlsListen {
    /// Its address: `0.0.0.0:443`.
    pub address: String,
    /// The files of its certificate.
    pub files: CertificateFiles,
}

/// A console that runs.
#[derive(Debug)]
pub struct RunningConsole {
    store: Store,
    live: LiveParts,
    stop: watch::Sender<bool>,
    serving: Vec<JoinHandle<()>>,
    /// Tasks that run without a request.
    going_on: Vec<JoinHandle<()>>,
}

impl RunningConsole {
    /// Opens the database and serves the API.
    ///
    /// # Errors
    /// The database cannot be opened, or what is to be imported is not good.
    pub async fn begin(
        settings: &ConsoleSettings,
        listener: TcpListener,
        printer: EventPrinter,
    ) -> Result<Self, Failure> {
        let audit = AuditSender::new(&settings.audit_otlp).map_err(Failure::Usage)?;
        let store = Store::open(&settings.database);
        let store = store
            .await
            .map_err(|error| Failure::Data(error.to_string()))?;
        admit_first_admin(&store, settings.admin_token_file.as_deref(), printer).await?;
        import::run(&store.of(Workload::Background), settings, printer).await?;
        prepare_sealing(&store, settings.sealing_keys.as_ref(), printer).await?;
        let background = store.of(Workload::Background);
        let maintaining = tokio::spawn(maintain(background.clone(), settings.retention, printer));
        let rolling = tokio::spawn(roll_up(background.clone(), printer));
        let watching = tokio::spawn(watch_key_changes(background.clone()));
        let indexing = tokio::spawn(index_keys(background.clone(), printer));
        let sender = WebhookSender::new(settings.private_webhooks, settings.mail.clone());
        let exporting = audit.map(|audit| tokio::spawn(audit.go_on(background.clone(), printer)));
        let keys = settings.sealing_keys.clone();
        let address = settings.address.as_ref().map(ConsoleUrl::to_string);
        let telling = webhooks::go_on(sender.clone(), background, keys, address.clone(), printer);
        let telling = tokio::spawn(telling);
        let live = LiveParts::default();
        let state = ConsoleState {
            store: store.clone(),
            prices: settings.prices.clone(),
            https: settings.https,
            certificate: settings.tls.as_ref().map(|tls| tls.files.chain.clone()),
            proxies: settings.proxies.clone(),
            gateway: settings.gateway.clone(),
            status: settings.status_page.then(StatusCache::default),
            address,
            sealing_keys: settings.sealing_keys.clone(),
            vendors: settings.vendors.clone(),
            providers: settings.providers.clone(),
            sender,
            user_header: settings.user_header.clone(),
            reporter: Reporter(Arc::new(move |reason: &str| printer.trouble(reason))),
            live: live.clone(),
            clock: OffsetDateTime::now_utc,
        };
        let (stop, stopped) = watch::channel(false);
        let stopped = || {
            let mut stopped = stopped.clone();
            async move {
                let _ = stopped.wait_for(|stopped| *stopped).await;
            }
        };
        let reporter = || state.reporter.clone();
        let plain = PeerListener::new(listener, settings.peers.clone(), reporter());
        let mut serving = Vec::new();
        if let Some(tls) = &settings.tls {
            let report = move |why: &str| printer.trouble(why);
            let certificate = ServerCertificate::new(tls.files.clone(), report);
            let certificate = certificate.map_err(Failure::Data)?;
            let (listener, listens) = bind(&tls.address).await.map_err(Failure::Data)?;
            let text = format!("listening on https://{listens} over TLS");
            printer.news(
                "listening_tls",
                &text,
                json!({"address": listens.to_string()}),
            );
            let listener = PeerListener::new(listener, None, reporter());
            let served = server::serve(listener, Some(certificate), state.clone(), stopped());
            serving.push(tokio::spawn(served));
        }
        serving.push(tokio::spawn(server::serve(plain, None, state, stopped())));
        Ok(Self {
            store,
            live,
            stop,
            serving,
            going_on: [maintaining, rolling, watching, indexing, telling]
                .into_iter()
                .chain(exporting)
                .collect(),
        })
    }

    /// Returns the database of the console.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether a document is in force.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn has_document(&self) -> Result<bool, Failure> {
        let failed = |error: StoreError| Failure::Data(error.to_string());
        let mut transaction = self.store.read().await.map_err(failed)?;
        let current = documents::current(&mut transaction).await;
        transaction.rollback().await;
        Ok(current.map_err(failed)?.is_some())
    }

    /// The source of its Prometheus metrics.
    pub fn metrics(&self) -> ConsoleMetrics {
        ConsoleMetrics::new(self.store.clone(), self.live.clone())
    }

    /// The path of a new link that signs the first admin in, once. `None`: that person is no admin any more, or some admin has a
    /// password.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sign_in_path(&self) -> Result<Option<String>, Failure> {
        let link = first_admin::make_link(&self.store, now()).await;
        let link = link.map_err(|error| Failure::Data(error.to_string()))?;
        Ok(link.as_ref().map(link_path))
    }

    /// Finishes the responses in progress and closes the database.
    pub async fn end(self) {
        let _ = self.stop.send(true);
        for serving in self.serving {
            let _ = timeout(LAST, serving).await;
        }
        for going_on in self.going_on {
            going_on.abort();
        }
        let _ = timeout(LAST, self.store.close()).await;
    }
}

/// Makes the file of keys that seal where there is none, seals what a console of before has left as it is, and tells what none of
/// the keys opens.
async fn prepare_sealing(
    store: &Store,
    file: Option<&SealingKeyFile>,
    printer: EventPrinter,
) -> Result<(), Failure> {
    if let Some(file) = file
        && file.create().map_err(Failure::Data)?
    {
        let name = file.path().display().to_string();
        let text = format!(
            "credentials and secrets of webhooks are sealed with the key in {name}: keep a copy of it, apart from those of the database"
        );
        printer.news("sealing", &text, json!({"file": name}));
    }
    let keys = file.map(SealingKeyFile::read).transpose();
    let keys = keys.map_err(Failure::Data)?;
    let failed = |error: StoreError| Failure::Data(error.to_string());
    if let Some(keys) = &keys {
        let sealed = secrets::seal_plain(store, keys).await.map_err(failed)?;
        if sealed > 0 {
            let text = format!("secrets of webhooks sealed, which were not: {sealed}");
            printer.news("sealed", &text, json!({"webhooks": sealed}));
        }
    }
    let counted = account_credentials::unreadable(store, keys.as_ref()).await;
    let (lost, all) = counted.map_err(failed)?;
    if lost > 0 {
        printer.trouble(&format!(
            "{lost} of {all} credentials cannot be opened: their key is in no line of the file of sealing keys \
             (--sealing-key-file). Put that file back, or give them again; gateways go on with those that they have"
        ));
    }
    let counted = secrets::unreadable(store, keys.as_ref()).await;
    let (lost, all) = counted.map_err(failed)?;
    if lost > 0 {
        printer.trouble(&format!(
            "{lost} of {all} secrets of webhooks cannot be opened: their key is in no line of the file of sealing keys \
             (--sealing-key-file). Put that file back, or remove those webhooks and add them anew; their messages wait for six hours"
        ));
    }
    Ok(())
}

/// Makes the first admin, if nobody is there and a file is named.
async fn admit_first_admin(
    store: &Store,
    file: Option<&Path>,
    printer: EventPrinter,
) -> Result<(), Failure> {
    let failed = |error: trilane_console::store::StoreError| Failure::Data(error.to_string());
    if first_admin::is_anybody_there(store).await.map_err(failed)? {
        return Ok(());
    }
    let Some(file) = file else {
        printer
            .trouble("nobody may do anything yet: --admin-token-file FILE makes the first admin");
        return Ok(());
    };
    let token = NewSecret::token().map_err(Failure::Data)?;
    // Before the token is good: once it is, it must not be lost.
    let delivery = Delivery::new(file, &token).map_err(Failure::Data)?;
    if first_admin::add(store, &token, now())
        .await
        .map_err(failed)?
    {
        delivery.keep();
        let name = file.display().to_string();
        let text = format!("the first admin's token is in {name}");
        printer.news("admin", &text, json!({"file": name}));
    }
    Ok(())
}

async fn maintain(store: Store, retention: Retention, printer: EventPrinter) {
    loop {
        if let Err(error) = maintenance::run(&store, retention).await {
            printer.trouble(&format!("what is old stays for now: {error}"));
        }
        sleep(MAINTAIN).await;
    }
}

async fn roll_up(store: Store, printer: EventPrinter) {
    loop {
        // What is not rolled up is added up by whoever looks at it.
        if let Err(error) = usage_days::roll_up(&store, OffsetDateTime::now_utc()).await {
            printer.trouble(&format!("usage is not rolled up for now: {error}"));
        }
        sleep(ROLL_UP).await;
    }
}

/// A database that does not answer is told elsewhere.
async fn watch_key_changes(store: Store) {
    let mut watch = KeyChangeWatch::default();
    loop {
        let _ = watch.look(&store, now()).await;
        sleep(key_changes::EVERY).await;
    }
}

async fn index_keys(store: Store, printer: EventPrinter) {
    loop {
        let pause = match key_grams::index_all(&store).await {
            Ok(()) => INDEX,
            Err(error) => {
                printer.trouble(&format!("the search of keys is slower for now: {error}"));
                INDEX_LATER
            }
        };
        sleep(pause).await;
    }
}
