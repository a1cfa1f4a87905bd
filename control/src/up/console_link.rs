//! The way to a console: the agent beside its Envoy, and the console, in this process or elsewhere.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::sleep;
use trilane_console::client_address::TrustedProxies;
use trilane_console::credentials::SealingKeyFile;
use trilane_console::identity_providers::ProviderAccess;
use trilane_console::maintenance::Retention;
use trilane_console::metrics::MetricsSource;
use trilane_console::store::DatabaseAddress;
use trilane_console::vendors::VendorAccess;

use super::console_peer::ConsolePeer;
use super::plan::{ConsolePlan, LocalConsole, Plan};
use super::tell;
use crate::agent::{Agent, AgentSettings};
use crate::console::{AuditOtlpArgs, ConsoleSettings, RunningConsole, admit_local_agent};
use crate::console_http::ConsoleUrl;
use crate::envoy_config::SignInConsole;
use crate::event_printer::EventPrinter;
use crate::failure::Failure;
use crate::host_port::HostPort;
use crate::serve;

/// The interval at which the first document is looked for.
const LOOK: Duration = Duration::from_millis(250);
/// The days for which the console keeps removals of keys, and lines of the ledger.
const RETENTION: Retention = Retention {
    removals: 30,
    requests: 30,
};

/// An agent that runs, and perhaps a console.
#[derive(Debug)]
pub struct ConsoleLink {
    agent: Agent,
    console: Option<RunningConsole>,
    /// The base URL of the console, as people reach it.
    pub url: ConsoleUrl,
    /// The file with the first admin's token, if it is here.
    pub admin_token: Option<PathBuf>,
    /// The link with which the first admin signs in, once, if the console is here and no admin has a password.
    pub sign_in: Option<String>,
    /// The address on which the agent serves the keys.
    pub feed: HostPort,
    /// The console at which clients sign in, as Envoy reaches it.
    pub clients_at: SignInConsole,
}

impl ConsoleLink {
    /// Starts the console, if it is to be here, and the agent of a gateway at this port. Then the document in force is there.
    ///
    /// # Errors
    /// The reason that it cannot start.
    pub async fn begin(plan: &Plan, console: &ConsolePlan, gateway: u16) -> Result<Self, Failure> {
        let printer = plan.printer();
        let place = plan.data.agent();
        let mut here = None;
        let mut admin_token = None;
        let mut sign_in = None;
        let (url, ca, enrolment, envoy_id) = match console {
            ConsolePlan::At {
                url,
                ca,
                enrolment,
                envoy_id,
            } => (url.clone(), ca.clone(), enrolment.clone(), envoy_id.clone()),
            ConsolePlan::Here(console) => {
                let token = plan.data.admin_token();
                let begun = start_console(plan, console, gateway, &token, printer);
                let (running, address) = begun.await?;
                admit_local_agent(running.store(), &place).await?;
                let local: Result<ConsoleUrl, String> = format!("http://{address}").parse();
                let local = local.map_err(Failure::Data)?;
                let people = console.public.as_ref().unwrap_or(&local);
                let path = running.sign_in_path().await?;
                sign_in = path.map(|path| people.join(&path));
                wait_for_document(&running, people, &mut sign_in).await?;
                here = Some(running);
                admin_token = token.exists().then_some(token);
                (local, None, None, None)
            }
        };
        let (listener, feed) = listen(Ipv4Addr::LOCALHOST, 0).await?;
        let clients_at = SignInConsole {
            url: url.clone(),
            ca: ca.clone().unwrap_or_else(|| plan.system_ca.clone()),
        };
        let settings = AgentSettings {
            console: url.clone(),
            ca,
            enrolment,
            envoy_id,
            place,
            ledger: plan.ledger.clone(),
            admin: Some(plan.run.admin()),
            published: Some(plan.run.document()),
            certificate: Some(plan.data.certs().join("server.crt")),
        };
        let told = |line: &str| tell(&format!("agent: {line}"));
        let public = match console {
            ConsolePlan::Here(console) => console.public.clone(),
            ConsolePlan::At { .. } => None,
        };
        Ok(Self {
            agent: Agent::begin(settings, listener, told).await?,
            console: here,
            url: public.unwrap_or(url),
            admin_token,
            sign_in,
            feed,
            clients_at,
        })
    }

    /// The agent.
    pub const fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The metrics of both. `warnings`: how many accounts have no credential.
    pub fn metrics(&self, warnings: Arc<AtomicU64>) -> Vec<Box<dyn MetricsSource>> {
        let agent = self.agent.metrics().clone().with_accounts(Some(warnings));
        let mut sources: Vec<Box<dyn MetricsSource>> = vec![Box::new(agent)];
        if let Some(console) = &self.console {
            sources.push(Box::new(console.metrics()));
        }
        sources
    }

    /// Ends both, when what Envoy has written of the ledger is sent, or soon.
    pub async fn end(self) {
        self.agent.end().await;
        if let Some(console) = self.console {
            console.end().await;
        }
    }
}

/// Waits until a document is in force. Where there is none, somebody signs in and adds vendors first.
async fn wait_for_document(
    console: &RunningConsole,
    people: &ConsoleUrl,
    sign_in: &mut Option<String>,
) -> Result<(), Failure> {
    if console.has_document().await? {
        return Ok(());
    }
    tell(
        "nothing is served yet. The console adds vendors, models and a key; the gateway starts then:",
    );
    tell(&format!("  console    {people}"));
    // It is good once.
    if let Some(link) = sign_in.take() {
        tell(&format!("  sign in    {link} (once, within an hour)"));
    }
    tell("Ctrl-C ends it.");
    while !console.has_document().await? {
        sleep(LOOK).await;
    }
    Ok(())
}

async fn start_console(
    plan: &Plan,
    console: &LocalConsole,
    gateway_port: u16,
    token: &std::path::Path,
    printer: EventPrinter,
) -> Result<(RunningConsole, HostPort), Failure> {
    // Before it listens on all addresses.
    let peers = console.peer.map(ConsolePeer::addresses).transpose()?;
    let host = match console.peer {
        None => Ipv4Addr::LOCALHOST,
        Some(_) => Ipv4Addr::UNSPECIFIED,
    };
    let (listener, address) = listen(host, console.port).await?;
    plan.data.create_console()?;
    let directory = plan.data.console();
    let database = directory.to_string_lossy();
    let local: ConsoleUrl = format!("http://{address}").parse().map_err(Failure::Data)?;
    // Whoever reaches it is on this machine, and could call its network without it.
    let is_own_machine = console.public.is_none() && console.tls.is_none() && peers.is_none();
    let settings = ConsoleSettings {
        database: DatabaseAddress::parse(&database),
        admin_token_file: (!token.exists()).then(|| token.to_owned()),
        import_document: plan.imported.clone().filter(|file| file.exists()),
        prices: plan.data.prices(),
        retention: RETENTION,
        https: console.public.as_ref().is_some_and(ConsoleUrl::is_tls),
        tls: console.tls.clone(),
        proxies: proxies(),
        gateway: Some(console.gateway.clone().unwrap_or_else(|| {
            let here = plan.reached_at(gateway_port);
            format!("http://{here}")
        })),
        address: Some(console.public.clone().unwrap_or(local)),
        sealing_keys: Some(SealingKeyFile::new(plan.data.sealing_keys())),
        private_webhooks: false,
        audit_otlp: AuditOtlpArgs::default(),
        status_page: console.status_page,
        mail: console.mail.as_deref().cloned(),
        peers,
        vendors: VendorAccess::new(console.private_accounts, plan.system_ca.clone())
            .on_own_machine(is_own_machine),
        providers: ProviderAccess::new(console.private_accounts, plan.system_ca.clone()),
        user_header: None,
    };
    let console = RunningConsole::begin(&settings, listener, printer).await?;
    Ok((console, address))
}

/// The proxies that tell from where a request comes: Envoy and others on this machine, for nobody else can connect.
fn proxies() -> TrustedProxies {
    let networks = ["127.0.0.0/8", "::1"].into_iter();
    TrustedProxies::new(
        networks
            .filter_map(|network| network.parse().ok())
            .collect(),
    )
}

/// Opens a listener. Returns the address by which this machine reaches it.
async fn listen(host: Ipv4Addr, port: u16) -> Result<(TcpListener, HostPort), Failure> {
    let address = HostPort::new(&host.to_string(), port).to_string();
    match serve::bind(&address).await {
        Ok((listener, at)) => Ok((listener, HostPort::loopback(at.port()))),
        Err(why) if port == 0 => Err(Failure::Data(why)),
        Err(why) => Err(Failure::Data(format!(
            "{why}. Choose another with --console-port PORT"
        ))),
    }
}
