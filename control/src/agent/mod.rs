//! The agent beside an Envoy: it brings document and keys from the console, and sends the console the ledger.
//!
//! Envoy reads files of this machine and the feed that is served here, never the console. An [`identity`] comes from an
//! enrolment. From then on each thing has a thread of its own ([`worker`]): the [`document`], the [`keys`] (in a [`key_copy`]),
//! what is [`spend`] of budgets (in a [`spend_copy`]), the [settings for clients](client_settings), the [`ledger`], and what Envoy has in force ([`envoy_poller`]), and a [`report`] of how the agent [stands](standing), which [`metrics`] say as well. All of them ask the console ([`client`]) again and
//! again. When it is away they wait, and the gateway goes on with what is there.

mod args;
mod backlog;
mod ballast;
mod client;
mod client_settings;
mod contact;
mod credentials;
mod database;
mod document;
mod envoy_poller;
mod feed_reads;
mod identity;
mod key_copy;
mod keys;
mod ledger;
mod ledger_file;
mod ledger_watch;
mod local_spend;
mod lost_lines;
mod metrics;
mod other_files;
mod report;
mod served_keys;
mod settled;
mod spend;
mod spend_copy;
mod standing;
mod unsent_spend;
mod unwritten_keys;
mod worker;
mod writability;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use trilane_console::feed::PageError;
use trilane_console::named_file;

pub use args::AgentArgs;
use ballast::BallastKeeper;
pub use client::AgentCredential;
use client::ConsoleClient;
use client_settings::{ClientSettingsCopy, ServedSettings};
use credentials::CredentialCopy;
use document::DocumentCopy;
use envoy_poller::EnvoyPoller;
pub use identity::AgentIdentity;
use key_copy::KeyCopy;
use keys::KeySync;
pub use ledger::AcknowledgedFiles;
use ledger::LedgerSender;
pub use local_spend::LocalSpend;
use lost_lines::LostLines;
pub use metrics::AgentMetrics;
use report::StandingReport;
use served_keys::ServedKeys;
use spend::SpendFetcher;
use spend_copy::SpendCopy;
use standing::AgentProgress;
use unwritten_keys::UnwrittenKeys;
use worker::{PeriodicTask, RunningTasks};

use crate::ads::{AdsServer, SocketPlace};
use crate::agent_feeds::{DOCUMENT_PATH, FEED_PATH, LEDGER_PATH, SPEND_PATH};
use crate::console_http::ConsoleUrl;
use crate::envoy_admin::AdminPlace;
use crate::event_printer::EventPrinter;
use crate::failure::Failure;
use crate::metrics_listener::MetricsAddress;
use crate::render::{self, Follower, PublishedAs};
use crate::runtime;
use crate::serve::{self, FeedAnswer};
use crate::signals::Signals;

/// The longest time for the first document if there is none from before.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest time to send the rest of the ledger at the end.
const LAST: Duration = Duration::from_secs(3);
/// The default address of the metrics listener.
const METRICS: &str = "127.0.0.1:10095";
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The configuration of an agent: its console, identity, directory, ledger and Envoy.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The base URL of the console.
    pub console: ConsoleUrl,
    /// Authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// A file with an enrolment token or an enrolment secret.
    pub enrolment: Option<PathBuf>,
    /// The id under which it enrols with a secret; its machine's name unless it is given.
    pub envoy_id: Option<String>,
    /// The agent's directory.
    pub place: AgentPlace,
    /// The ledger that Envoy writes.
    pub ledger: PathBuf,
    /// The admin interface of that Envoy, if it can be asked.
    pub admin: Option<AdminPlace>,
    /// The file of the document in force, if it is put there by this process: then it is served too.
    pub published: Option<PathBuf>,
    /// The file of the certificate with which that Envoy ends TLS, if it ends any.
    pub certificate: Option<PathBuf>,
}

/// The directory of an agent: the paths in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlace(PathBuf);

impl AgentPlace {
    /// The one at this path.
    pub const fn new(root: PathBuf) -> Self {
        Self(root)
    }

    /// The document in force.
    pub fn document(&self) -> PathBuf {
        self.0.join("gateway.json")
    }

    /// The agent's credential.
    pub fn identity(&self) -> PathBuf {
        self.0.join("agent.json")
    }

    /// The keys.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys.db")
    }

    /// The credentials that the console has given.
    pub fn given(&self) -> PathBuf {
        self.0.join("given")
    }

    /// The settings for clients.
    pub fn client_settings(&self) -> PathBuf {
        self.0.join("client-settings.json")
    }

    /// The database of the spend of budgets.
    pub fn spend(&self) -> PathBuf {
        self.0.join("spend.db")
    }

    /// Makes it, where it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(&self) -> Result<(), Failure> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.0);
        let what = format!("make the directory {}", self.0.display());
        made.map_err(|error| Failure::at_place(&what, &error, "--data DIR"))
    }
}

/// An agent that runs. It ends when this is dropped: a request that is under way ends with its time, and whatever it does is done
/// again.
#[derive(Debug)]
pub struct Agent {
    _tasks: RunningTasks,
    /// Ends the listener of the feeds.
    _listens: watch::Sender<bool>,
    acknowledged: AcknowledgedFiles,
    standing: Arc<AgentProgress>,
    metrics: AgentMetrics,
    published_as: Arc<PublishedAs>,
}

impl Agent {
    /// Begins: enrols if it has to, brings the document, and serves the keys at `listener`.
    ///
    /// # Errors
    /// It has no credential and cannot enrol, its files cannot be used, or there is no document, neither here nor at the
    /// console.
    pub async fn begin(
        settings: AgentSettings,
        listener: TcpListener,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        settings.place.create()?;
        let opened = tokio::task::spawn_blocking(move || prepare(&settings, tell));
        let prepared = opened
            .await
            .unwrap_or_else(|error| Err(Failure::Data(error.to_string())))?;
        let PreparedAgent {
            agent,
            feeds,
            client_settings,
            stopped,
        } = prepared;
        let router = serve::of_feeds(feeds).merge(client_settings::router(client_settings));
        tokio::spawn(serve::serve(listener, router, stopped));
        Ok(agent)
    }

    /// The source of its Prometheus metrics.
    pub const fn metrics(&self) -> &AgentMetrics {
        &self.metrics
    }

    /// Gets what Envoy rejects of clusters and secrets: the operator is told, and the console.
    pub fn rejections(&self) -> impl Fn(&[String]) + Send + Sync + 'static {
        let standing = Arc::clone(&self.standing);
        move |all| {
            let trouble = all.join("; ");
            standing.note("clusters", (!all.is_empty()).then_some(&trouble));
        }
    }

    /// The table of published documents and their sources, which the publisher fills.
    pub fn published_as(&self) -> Arc<PublishedAs> {
        Arc::clone(&self.published_as)
    }

    /// The ledger's files that may be removed.
    pub fn acknowledged(&self) -> &AcknowledgedFiles {
        &self.acknowledged
    }
}

impl Agent {
    /// Ends when the ledger is sent, or soon.
    pub async fn end(self) {
        let begun = std::time::Instant::now();
        // Time to notice what Envoy has written at last.
        tokio::time::sleep(PAUSE.saturating_mul(2)).await;
        while self.standing.report().ledger_waiting > 0 && begun.elapsed() < LAST {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// An agent before it listens.
struct PreparedAgent {
    agent: Agent,
    feeds: Vec<(&'static str, FeedAnswer)>,
    client_settings: ServedSettings,
    stopped: watch::Receiver<bool>,
}

fn prepare(
    settings: &AgentSettings,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<PreparedAgent, Failure> {
    let place = &settings.place;
    let console = ConsoleClient::new(settings.console.clone(), settings.ca.as_deref());
    let console = console.map_err(Failure::Data)?;
    let standing = Arc::new(AgentProgress::new(tell));
    let noting = || Arc::clone(&standing);
    let identity = identify(settings, &console, &standing)?;
    let console = console.with(identity.credential.clone());
    let file = place.keys();
    let of_keys = |why: String| Failure::Data(format!("the keys in {}: {why}", file.display()));
    let copy = KeyCopy::open(&file).map_err(of_keys)?;
    let unwritten = Arc::<UnwrittenKeys>::default();
    let served = ServedKeys::open(&file, Arc::clone(&unwritten)).map_err(of_keys)?;
    let mut document = DocumentCopy::new(console.clone(), place.document(), noting());
    first_document(&mut document, &place.document(), &standing)?;
    let mut credentials = CredentialCopy::new(console.clone(), &identity, place.given(), noting());
    // So that an Envoy which starts has them; if not, they come later.
    standing.note(CredentialCopy::NAME, credentials.read().err().as_deref());
    let acknowledged = AcknowledgedFiles::default();
    let published_as = Arc::<PublishedAs>::default();
    let file = place.spend();
    let spent = SpendCopy::open(&file).map_err(String::from);
    let spent = spent.and_then(|copy| copy.with_ledger(settings.ledger.clone()));
    let of_spend =
        |why: String| Failure::Data(format!("what is spent, in {}: {why}", file.display()));
    let spent = Arc::new(spent.map_err(of_spend)?);
    let metrics = AgentMetrics {
        standing: noting(),
        contact: console.contact(),
        spent: Arc::clone(&spent),
        keys_read: served.reads(),
        spend_read: Arc::default(),
        without_credential: None,
    };
    let (ledger, envoy) = (&settings.ledger, &identity.envoy);
    let mut feeds = vec![
        (FEED_PATH, key_feed(served, noting())),
        (SPEND_PATH, spend_feed(&metrics)),
        (LEDGER_PATH, writability::answer(ledger, noting())),
    ];
    let published = settings.published.clone();
    feeds.extend(published.map(|file| (DOCUMENT_PATH, serve::of_published(file))));
    let sender = LedgerSender::new(
        console.clone(),
        envoy,
        ledger.clone(),
        acknowledged.clone(),
        Arc::clone(&spent),
        noting(),
    );
    let keys = KeySync::new(console.clone(), copy, unwritten, noting());
    let report = StandingReport::new(
        console.clone(),
        envoy,
        noting(),
        Arc::clone(&metrics.keys_read),
        settings.certificate.clone(),
    );
    let clients = ClientSettingsCopy::new(console.clone(), place.client_settings());
    let client_settings = clients.served();
    let mut tasks = RunningTasks::default();
    tasks.begin(credentials, &standing)?;
    tasks.begin(document, &standing)?;
    tasks.begin(keys, &standing)?;
    tasks.begin(SpendFetcher::new(console, spent), &standing)?;
    tasks.begin(sender, &standing)?;
    tasks.begin(clients, &standing)?;
    tasks.begin(BallastKeeper::new(ledger, noting()), &standing)?;
    tasks.begin(report, &standing)?;
    if let Some(admin) = settings.admin.clone() {
        let poller = EnvoyPoller::new(admin.clone(), noting(), Arc::clone(&published_as));
        tasks.begin(poller, &standing)?;
        tasks.begin(LostLines::new(admin, ledger.clone(), noting()), &standing)?;
    }
    let (listens, stopped) = watch::channel(false);
    let agent = Agent {
        _tasks: tasks,
        _listens: listens,
        acknowledged,
        standing,
        metrics,
        published_as,
    };
    Ok(PreparedAgent {
        agent,
        feeds,
        client_settings,
        stopped,
    })
}

/// Answers gateways that ask for keys. What is in the way of an answer is noted.
fn key_feed(served: ServedKeys, standing: Arc<AgentProgress>) -> FeedAnswer {
    Arc::new(move |query| {
        let page = served.page(query);
        let trouble = match &page {
            Err(PageError::Unready(why)) => Some(why.as_str()),
            _ => None,
        };
        standing.note("the feed of keys", trouble);
        page
    })
}

/// Answers gateways that ask for what is spent.
fn spend_feed(metrics: &AgentMetrics) -> FeedAnswer {
    let (spent, reads) = (Arc::clone(&metrics.spent), Arc::clone(&metrics.spend_read));
    Arc::new(move |query| {
        reads.note(None);
        spent.page(query)
    })
}

/// The identity from before, or that of an enrolment.
fn identify(
    settings: &AgentSettings,
    console: &ConsoleClient,
    standing: &AgentProgress,
) -> Result<AgentIdentity, Failure> {
    let file = settings.place.identity();
    if let Some(identity) = AgentIdentity::read(&file).map_err(Failure::Data)? {
        return Ok(identity);
    }
    let Some(enrolment) = &settings.enrolment else {
        return Err(Failure::Data(format!(
            "this agent has not enrolled: an admin of {} adds its Envoy (POST /api/v1/envoys), and the token goes into a file: \
             --enrolment-token-file FILE",
            settings.console
        )));
    };
    let token = named_file::read_text(enrolment, named_file::SECRET).map_err(|error| {
        Failure::Unreadable(format!("cannot read {}: {error}", enrolment.display()))
    })?;
    let enrolled = AgentIdentity::enrol(console, &token, settings.envoy_id.as_deref(), &file);
    let identity = enrolled.map_err(Failure::Data)?;
    standing.tell(&format!(
        "enrolled as {}; fingerprint {}",
        identity.envoy,
        identity.fingerprint()
    ));
    Ok(identity)
}

/// Waits for a document if there is none from before.
fn first_document(
    document: &mut DocumentCopy,
    file: &Path,
    standing: &AgentProgress,
) -> Result<(), Failure> {
    let begun = std::time::Instant::now();
    loop {
        match document.read() {
            Ok(()) => return Ok(()),
            Err(why) if file.exists() => {
                standing.note(DocumentCopy::NAME, Some(&why));
                return Ok(());
            }
            Err(why) if begun.elapsed() > PATIENCE => {
                return Err(Failure::Data(format!("there is no document: {why}")));
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// `trilane agent`: runs until SIGTERM or SIGINT.
///
/// # Errors
/// It cannot start.
pub fn run(args: AgentArgs) -> Result<(), Failure> {
    runtime::run(1, serve_until_signal(args))
}

async fn serve_until_signal(args: AgentArgs) -> Result<(), Failure> {
    let printer = EventPrinter::new(args.json);
    let mut signals = Signals::catch()?;
    let (listener, address) = serve::bind(&args.listen).await.map_err(Failure::Data)?;
    let place = AgentPlace::new(args.data.clone());
    let settings = AgentSettings {
        console: args.console.clone(),
        ca: args.ca.clone(),
        enrolment: args.enrolment_token_file.clone(),
        envoy_id: args.envoy_id.clone(),
        place: place.clone(),
        ledger: args.ledger.clone(),
        admin: args.admin.clone(),
        published: args.publish.clone(),
        certificate: None,
    };
    let tell = move |line: &str| printer.news("agent", line, json!({"text": line}));
    let agent = tokio::select! {
        agent = Agent::begin(settings, listener, tell) => agent?,
        _ = signals.received() => return Ok(()),
    };
    let follower = publish(&args, &place, &agent, printer)?;
    let warnings = follower.as_ref().map(Follower::warnings);
    let metrics = agent.metrics().clone().with_accounts(warnings);
    let served = MetricsAddress::new(args.metrics_listen.as_deref(), METRICS);
    let served = served.serve(vec![Box::new(metrics)], None, "--metrics-listen", printer);
    let served = served.await?;
    printer.listening(address);
    signals.received().await;
    drop((agent, follower, served));
    printer.news("stopped", "stopped", json!({}));
    Ok(())
}

/// Puts documents in force, if that is wanted.
fn publish(
    args: &AgentArgs,
    place: &AgentPlace,
    agent: &Agent,
    printer: EventPrinter,
) -> Result<Option<Follower>, Failure> {
    let (Some(publish), Some(socket)) = (&args.publish, &args.ads_socket) else {
        return Ok(None);
    };
    let of_socket = |why: String| Failure::Data(format!("--ads-socket: {why}"));
    let socket = std::path::absolute(socket).map_err(|error| of_socket(error.to_string()))?;
    let socket = SocketPlace::at(socket).map_err(of_socket)?;
    let ads = AdsServer::new(socket, agent.rejections()).map_err(of_socket)?;
    let credentials = args.credentials.clone();
    let mut render = render::Args::new(place.document());
    render.system_ca = args.system_ca.clone();
    render.ads = Some(Arc::new(ads));
    render.publish = Some(publish.clone());
    render.filter = args.filter.clone();
    render.given = Some(place.given());
    render.published_as = Some(agent.published_as());
    render.credentials = Some(credentials.unwrap_or_else(|| args.data.join("credentials")));
    let tell = move |line: &str| printer.news("document", line, json!({"text": line}));
    Follower::begin(render, tell).map(Some)
}
