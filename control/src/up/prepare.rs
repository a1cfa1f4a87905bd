//! Everything before Envoy is started.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use trilane_console::credentials::{CredentialDestination, CredentialDestinations};

use super::console_link::ConsoleLink;
use super::demo::{self, Simulators};
use super::ledger::LedgerFile;
use super::lock::DirectoryLock;
use super::news::News;
use super::plan::Plan;
use super::port::{self, HeldPort};
use super::{orphan, readable, sample, tell};
use crate::ads::{AdsServer, SocketPlace};
use crate::agent::LocalSpend;
use crate::carried_filter::{carried_filter, carried_judge, other_judge};
use crate::envoy_config::{
    self, AccountSource, DocumentSource, EnvoySettings, LedgerPlace, StaticUpstreams, TlsListener,
};
use crate::failure::Failure;
use crate::host_port::HostPort;
use crate::{document, files, render, serve};

/// The certificate of the listener for TLS.
const CERTIFICATE: [&str; 2] = ["server.crt", "server.key"];

/// A gateway whose files are there and whose ports are held.
#[derive(Debug)]
pub struct PreparedGateway {
    /// The plan.
    pub plan: Plan,
    /// The port for clients.
    pub port: HeldPort,
    /// The port over TLS, if there is a certificate.
    pub tls_port: Option<HeldPort>,
    /// The ledger's file.
    pub ledger: LedgerFile,
    simulators: Option<Simulators>,
    /// Serves clusters and secrets to Envoy.
    ads: Arc<AdsServer>,
    /// The source of document and keys, if it is not the document's file.
    pub console: Option<ConsoleLink>,
    /// The feed that tells Envoy the spend of its ledger, without a console, and the address of that and of the document.
    spend: Option<(LocalSpend, HostPort)>,
    _lock: DirectoryLock,
}

impl PreparedGateway {
    /// Does all of it. Ends an Envoy that an earlier run left over.
    ///
    /// # Errors
    /// The obstacle, and the remedy.
    pub async fn new(plan: Plan) -> Result<Self, Failure> {
        plan.data.create()?;
        let lock = DirectoryLock::take(&plan.data)?;
        for pid in orphan::end(&plan.run.envoy_yaml()) {
            tell(&format!(
                "ended an Envoy that was left over (process {pid})"
            ));
        }
        let any = plan.check; // then Envoy opens no port
        let wanted = |port: u16| if any { 0 } else { port };
        let port = HeldPort::take(&plan.host, wanted(plan.port), "--port")?;
        if plan.admin_port != 0 && !any {
            port::check("127.0.0.1", plan.admin_port, "--admin-port")?;
        }
        if plan.demo {
            demo::certificate(&plan.data.certs())?;
        }
        let has_certificate = CERTIFICATE
            .iter()
            .all(|name| plan.data.certs().join(name).exists());
        let tls_port = has_certificate
            .then(|| HeldPort::take(&plan.host, wanted(plan.tls_port), "--tls-port"))
            .transpose()?;
        let ledger = LedgerFile::new(plan.ledger.clone(), plan.rotation);
        ledger
            .check()
            .map_err(|error| cannot("write the ledger", &plan.ledger, &error, "--ledger FILE"))?;
        write_sample(&plan)?;
        let simulators = match (plan.demo, &plan.upstream) {
            (true, None) => Some(Simulators::start().await?),
            _ => None,
        };
        let link = match &plan.console {
            Some(console) => Some(ConsoleLink::begin(&plan, console, port.number).await?),
            None => None,
        };
        let spend = match link {
            None if !plan.check => Some(local_spend(&plan).await?),
            _ => None,
        };
        let ads = Arc::new(ads(&plan, link.as_ref())?);
        let prepared = Self {
            plan,
            ads,
            port,
            tls_port,
            ledger,
            simulators,
            console: link,
            spend,
            _lock: lock,
        };
        prepared.write_filter()?;
        prepared.publish()?;
        prepared.write_configuration()?;
        Ok(prepared)
    }

    /// The simulators that run.
    pub fn simulators(&self) -> &[(&'static str, HostPort, String)] {
        self.simulators.as_ref().map_or(&[], |all| &all.addresses)
    }

    /// Returns the arguments with which the document is put in force.
    pub fn render_args(&self) -> render::Args {
        let plan = &self.plan;
        let mut args = render::Args::new(plan.document.clone());
        args.ads = Some(Arc::clone(&self.ads));
        args.credentials = Some(plan.credentials.clone());
        args.system_ca.system_ca = Some(plan.system_ca.clone());
        args.given = plan.console.as_ref().map(|_| plan.data.agent().given());
        args.bound = plan.imported.as_deref().map(bound).unwrap_or_default();
        args.publish = Some(plan.run.document());
        args.filter = Some(plan.run.filter());
        let link = self.console.as_ref();
        args.spend_feed = self.spend.is_some();
        args.published_as = link.map(|link| link.agent().published_as());
        args.aliases = sample::aliases(&self.stand_ins());
        args
    }

    /// Lists the stand-ins for the vendors of the sample document: cluster, address, and `host` header.
    fn stand_ins(&self) -> Vec<(&'static str, HostPort, String)> {
        match &self.plan.upstream {
            Some(upstream) => {
                let each = |(name, _): &(&'static str, u16)| {
                    (*name, upstream.clone(), upstream.to_string())
                };
                sample::SOURCES.iter().map(each).collect()
            }
            None => self.simulators().to_vec(),
        }
    }

    /// Writes the filter, and the judge beside it.
    fn write_filter(&self) -> Result<(), Failure> {
        let own = self.plan.filter.as_deref();
        let judge = own.and_then(other_judge);
        let run = &self.plan.run;
        self.write_module("filter", own, carried_filter(), &run.filter())?;
        self.write_module("judge", judge.as_deref(), carried_judge(), &run.judge())
    }

    /// Writes a module that Envoy loads: the operator's own, or the one in this program.
    fn write_module(
        &self,
        what: &str,
        own: Option<&Path>,
        carried: Option<&[u8]>,
        file: &Path,
    ) -> Result<(), Failure> {
        let read;
        let module = match own {
            Some(from) => {
                read = fs::read(from).map_err(|error| {
                    cannot(&format!("read the {what}"), from, &error, "--filter FILE")
                })?;
                &read
            }
            None => carried.ok_or_else(|| {
                let text = format!(
                    "this program was built without the {what}: name the filter with --filter FILE (`make build` writes \
                     target/wasm32-wasip1/release/trilane.wasm, and the judge beside it), or build with `make programs`"
                );
                Failure::Data(text)
            })?,
        };
        if !module.starts_with(b"\0asm") {
            return Err(Failure::Data(format!(
                "--filter: this is no WebAssembly module: {}. Choose another with --filter FILE",
                own.unwrap_or(file).display()
            )));
        }
        self.put(file, module)
    }

    /// Puts the document in force, before Envoy reads it. With a fault in it the last good one stays, if there is one.
    fn publish(&self) -> Result<(), Failure> {
        let plan = &self.plan;
        let document = plan.document.display();
        let source = plan.document.to_string_lossy().into_owned();
        match render::publish(&self.render_args()) {
            Ok(findings) => {
                findings
                    .iter()
                    .for_each(|line| tell(&format!("document: {line}")));
                // Those of a demonstration are placeholders, which everybody has.
                if !plan.demo {
                    readable::warnings(&plan.document, &plan.credentials)
                        .iter()
                        .for_each(|line| tell(line));
                }
                self.put(&plan.run.published_from(), source.as_bytes())
            }
            Err(problems) => {
                problems
                    .iter()
                    .for_each(|line| tell(&format!("document: {line}")));
                let before = fs::read_to_string(plan.run.published_from()).unwrap_or_default();
                // The addresses of simulators are others each time.
                if before == source && plan.run.document().exists() && !plan.demo && !plan.check {
                    tell(&format!(
                        "document: {document} is refused for this; the last good one stays in force"
                    ));
                    return Ok(());
                }
                Err(Failure::Data(format!(
                    "the document {document} cannot be put in force. Mend what stands above; `trilane check --document \
                     {document}` says whether that is all"
                )))
            }
        }
    }

    fn write_configuration(&self) -> Result<(), Failure> {
        let plan = &self.plan;
        if let Some(link) = &self.console {
            let url = link.url.to_string();
            self.put(&plan.run.console_address(), url.as_bytes())?;
        }
        let address = |port: u16| HostPort::new(&plan.host, port);
        let stand_ins = self.stand_ins();
        let feeds = match (&self.console, &self.spend) {
            (Some(link), _) => Some(link.feed.clone()),
            (None, spend) => spend.as_ref().map(|(_, feed)| feed.clone()),
        };
        let settings = EnvoySettings {
            gateway: address(self.port.number),
            tls: self.tls_port.as_ref().map(|port| TlsListener {
                address: address(port.number),
                certs: plan.data.certs(),
            }),
            admin: HostPort::loopback(if plan.check { 0 } else { plan.admin_port }),
            filter: plan.run.filter(),
            document: match feeds {
                Some(_) => DocumentSource::Agent,
                // A check opens no port.
                None => DocumentSource::File {
                    file: plan.run.document(),
                    listener: HostPort::loopback(0),
                },
            },
            upstreams: AccountSource::Ads(self.ads.socket().to_owned()),
            ledger: LedgerPlace::File(plan.ledger.clone()),
            static_upstreams: match stand_ins.is_empty() {
                true => StaticUpstreams::None,
                false => StaticUpstreams::At(stand_ins),
            },
            agent: feeds,
            sign_in: self.console.as_ref().map(|link| link.clients_at.clone()),
            limits_service: plan.limits_service.clone(),
            trusted_hops: plan.trusted_hops,
            worker_hang: Some(plan.unresponsive_after),
        };
        let text = envoy_config::text(None, &settings)?;
        self.put(&plan.run.envoy_yaml(), text.as_bytes())
    }

    fn put(&self, file: &Path, content: &[u8]) -> Result<(), Failure> {
        let directory = file.parent().unwrap_or(Path::new("/"));
        let put = fs::create_dir_all(directory).and_then(|()| files::put(file, content));
        put.map(drop)
            .map_err(|error| cannot("write", file, &error, "--data DIR"))
    }
}

/// Begins to serve clusters and secrets. What Envoy does not take is told, with a console to that too.
fn ads(plan: &Plan, link: Option<&ConsoleLink>) -> Result<AdsServer, Failure> {
    let place = SocketPlace::near(plan.run.ads_socket()).map_err(Failure::Data)?;
    let server = match link {
        Some(link) => AdsServer::new(place, link.agent().rejections()),
        None => {
            let news = News::default();
            AdsServer::new(place, move |all: &[String]| {
                news.of(all).iter().for_each(|line| tell(line))
            })
        }
    };
    server.map_err(Failure::Data)
}

/// Begins to tell what the ledger has spent. It listens on a port of its own.
async fn local_spend(plan: &Plan) -> Result<(LocalSpend, HostPort), Failure> {
    let listener = serve::bind(&HostPort::loopback(0).to_string()).await;
    let (listener, address) = listener.map_err(Failure::Data)?;
    let (checkpoint, ledger, document) =
        (plan.run.spend(), plan.ledger.clone(), plan.run.document());
    // It may have much to read.
    let runtime = tokio::runtime::Handle::current();
    let begun = spawn_blocking(move || {
        let _entered = runtime.enter();
        LocalSpend::begin(&checkpoint, ledger, document, listener, tell)
    });
    let begun = begun
        .await
        .map_err(|error| Failure::Data(error.to_string()))?;
    Ok((begun?, HostPort::loopback(address.port())))
}

/// Writes the sample document, if a demonstration has none of its own.
fn write_sample(plan: &Plan) -> Result<(), Failure> {
    let own = match (&plan.imported, &plan.console) {
        (Some(imported), _) => imported,
        (None, None) => &plan.document,
        // It comes from a console elsewhere.
        (None, Some(_)) => return Ok(()),
    };
    // From then on the console has it.
    if own.exists() || plan.document.exists() {
        return Ok(());
    }
    let document = own.display();
    let is_usual = *own == plan.data.document();
    if !plan.demo && !plan.check && is_usual && plan.imported.is_some() {
        // It is made in the console.
        return Ok(());
    }
    if !plan.demo || !is_usual {
        return Err(Failure::Data(format!(
            "there is no document {document}. `trilane init` writes one, --document FILE names another, and `trilane up --demo` \
             tries the gateway out without any"
        )));
    }
    sample::write(&plan.data).map_err(|error| {
        cannot(
            "write the sample into",
            plan.data.root(),
            &error,
            "--data DIR",
        )
    })
}

/// The destinations of credentials by the document that this machine's operator has written: nobody changes it in the
/// console. A document that is not there, or has mistakes, binds none.
fn bound(own: &Path) -> CredentialDestinations {
    let text = fs::read(own).unwrap_or_default();
    let compiled = document::resolve_and_judge(&text, &document::prices_of(own));
    compiled.map_or_else(
        |_| CredentialDestinations::new(),
        |own| CredentialDestination::of_policy(&own.compiled.policy),
    )
}

/// A failure of the system, with the way out.
fn cannot(what: &str, path: &Path, error: &io::Error, option: &str) -> Failure {
    Failure::at_place(&format!("{what} {}", path.display()), error, option)
}
