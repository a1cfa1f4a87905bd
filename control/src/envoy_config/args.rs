//! The options of `trilane envoy-config`.

use std::path::PathBuf;

use super::mesh::{MeshPart, MeshSettings};
use super::mode::Mode;
use super::settings::{
    AccountSource, DocumentSource, EnvoySettings, LedgerPlace, SignInConsole, TlsListener,
};
use super::upstreams::StaticUpstreams;
use crate::console_http::ConsoleUrl;
use crate::data_directory::DataArg;
use crate::failure::Failure;
use crate::host_port::HostPort;
use crate::system_ca;

/// Prints Envoy's configuration for one way of running it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The program carries the annotated envoy.yaml. This reads it as YAML and changes named places: listeners, paths, loggers, \
clusters. The rest is as it stands there; its remarks, and the names that YAML gives to parts, are not in the result. \
`trilane up` makes the same configuration for itself.

With --mode istio and --mode envoy-gateway it prints what their control plane lacks, as a resource for `kubectl apply`: each --part is one of those in envoy/istio and envoy/envoy-gateway.

The clusters of the sample document, which lead to simulators, are left out unless --demo asks for them: upstreams come \
from the document's accounts, by `trilane render`, or by `trilane agent` where --ads-socket names its socket.

Exit codes:
  0  printed, or written
  1  the file named by --original lacks a place, or --out cannot be written
  2  wrong command line, or --original cannot be read

Examples:
  trilane envoy-config --mode sidecar --out /etc/trilane/envoy.yaml
  trilane envoy-config --mode compose --limits-service ratelimit:8081 > envoy-limits.yaml
  trilane envoy-config --mode helm | envoy --mode validate --config-path /dev/stdin
  trilane envoy-config --mode istio --image registry.example/trilane/filter:0.1.0 | kubectl apply --filename=-")]
pub struct EnvoyConfigArgs {
    /// The environment in which Envoy runs
    #[arg(long, value_enum)]
    pub mode: Mode,

    #[command(flatten)]
    pub data: DataArg,

    /// The address that clients connect to
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<HostPort>,

    /// The address that clients connect to over TLS
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_tls")]
    pub tls_listen: Option<HostPort>,

    /// No listener for TLS
    #[arg(long)]
    pub no_tls: bool,

    /// The admin interface: loopback, for whoever reaches it can stop Envoy
    #[arg(long, value_name = "HOST:PORT")]
    pub admin: Option<HostPort>,

    /// The address on which Envoy serves the document to itself: loopback, for it has the keys' digests
    #[arg(long, value_name = "HOST:PORT")]
    pub document_listen: Option<HostPort>,

    /// The filter
    #[arg(long, value_name = "FILE")]
    pub filter: Option<PathBuf>,

    /// The document in force, as `trilane render --publish` writes it, alone in its directory
    #[arg(long, value_name = "FILE")]
    pub document: Option<PathBuf>,

    /// The directory to which `trilane render` writes (its --out)
    #[arg(long, value_name = "DIR")]
    pub upstreams: Option<PathBuf>,

    /// In place of --upstreams and --document: the socket on which `trilane agent` serves clusters and credentials (its
    /// --ads-socket); the document comes from --agent then
    #[arg(long, value_name = "FILE", requires = "agent", conflicts_with_all = ["upstreams", "document", "document_listen"])]
    pub ads_socket: Option<PathBuf>,

    /// The directory of server.crt and server.key
    #[arg(long, value_name = "DIR")]
    pub certs: Option<PathBuf>,

    /// Add the ledger's lines to this file; -: write them to standard output
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,

    /// Add the cluster of the agent (`trilane agent --listen`), which serves the keys of a console
    #[arg(long, value_name = "HOST:PORT")]
    pub agent: Option<HostPort>,

    /// Pass signing in of clients on to the console at this address
    #[arg(long, value_name = "URL")]
    pub console: Option<ConsoleUrl>,

    /// The certificate authorities that the console's certificate is verified with [default: the system's]
    #[arg(long, value_name = "FILE", requires = "console")]
    pub console_ca: Option<PathBuf>,

    /// The number of trusted proxies in front of Envoy: the client's address is the one that so many have noted in x-forwarded-for [default: 0]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=10))]
    pub trusted_hops: Option<u32>,

    /// Ask this rate limit service
    #[arg(long, value_name = "HOST:PORT")]
    pub limits_service: Option<HostPort>,

    /// Keep the clusters of the sample document, which lead to simulators at the host `upstream`
    #[arg(long)]
    pub demo: bool,

    /// With istio and envoy-gateway: which of the resources [default: gateway]
    #[arg(long, value_enum)]
    pub part: Option<MeshPart>,

    /// With istio: the filter's image [default: registry.example/trilane/filter:0.1.0]
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,

    /// Begin with this file instead of the envoy.yaml of this release
    #[arg(long, value_name = "FILE")]
    pub original: Option<PathBuf>,

    /// Write to this file, whole, by a rename
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// The filter's image where none is named: to be replaced by one's own.
const IMAGE: &str = concat!(
    "registry.example/trilane/filter:",
    env!("CARGO_PKG_VERSION")
);

impl EnvoyConfigArgs {
    /// The settings of the resource for a control plane, in the modes that have one.
    ///
    /// # Errors
    /// An option that has no meaning in the mode.
    pub fn mesh(&self) -> Result<Option<MeshSettings>, Failure> {
        let Some(control_plane) = self.mode.control_plane() else {
            let of_a_mesh = [
                ("--part", self.part.is_some()),
                ("--image", self.image.is_some()),
            ];
            return self.without(&of_a_mesh).map(|()| None);
        };
        let image_is_named_elsewhere = self.mode != Mode::Istio || self.part() != MeshPart::Gateway;
        self.without(&[
            ("--listen", self.listen.is_some()),
            ("--tls-listen", self.tls_listen.is_some()),
            ("--no-tls", self.no_tls),
            ("--admin", self.admin.is_some()),
            ("--document-listen", self.document_listen.is_some()),
            ("--document", self.document.is_some()),
            ("--upstreams", self.upstreams.is_some()),
            ("--ads-socket", self.ads_socket.is_some()),
            ("--certs", self.certs.is_some()),
            ("--ledger", self.ledger.is_some()),
            ("--agent", self.agent.is_some()),
            ("--console", self.console.is_some()),
            ("--limits-service", self.limits_service.is_some()),
            ("--trusted-hops", self.trusted_hops.is_some()),
            ("--demo", self.demo),
            ("--image", self.image.is_some() && image_is_named_elsewhere),
        ])?;
        Ok(Some(MeshSettings {
            control_plane,
            part: self.part(),
            image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()),
            filter: self.filter.clone(),
        }))
    }

    fn part(&self) -> MeshPart {
        self.part.unwrap_or(MeshPart::Gateway)
    }

    /// Refuses options that have no meaning in the mode: their names, and whether they are given.
    fn without(&self, options: &[(&str, bool)]) -> Result<(), Failure> {
        let Some((name, _)) = options.iter().find(|(_, given)| *given) else {
            return Ok(());
        };
        let mode = clap::ValueEnum::to_possible_value(&self.mode);
        let mode = mode.as_ref().map_or("this", |mode| mode.get_name());
        Err(Failure::Usage(format!(
            "{name} has no effect on what --mode {mode} prints here. Leave it out"
        )))
    }

    /// The settings of the mode, with what the command line says instead.
    ///
    /// # Errors
    /// There is no data directory where the mode needs one.
    pub fn settings(&self) -> Result<EnvoySettings, Failure> {
        let mut settings = self.mode.settings(|| self.data.directory())?;
        let replace = |place: &mut PathBuf, named: &Option<PathBuf>| {
            if let Some(path) = named {
                place.clone_from(path);
            }
        };
        replace(&mut settings.filter, &self.filter);
        if let Some(directory) = &self.upstreams {
            settings.upstreams = AccountSource::Files(directory.clone());
        }
        if let Some(socket) = &self.ads_socket {
            settings.upstreams = AccountSource::Ads(socket.clone());
            settings.document = DocumentSource::Agent;
        }
        if let DocumentSource::File { file, listener } = &mut settings.document {
            replace(file, &self.document);
            *listener = self.document_listen.clone().unwrap_or(listener.clone());
        }
        settings.gateway = self.listen.clone().unwrap_or(settings.gateway);
        settings.admin = self.admin.clone().unwrap_or(settings.admin);
        settings.tls = self.tls(settings.tls)?;
        match &self.ledger {
            None => {}
            Some(file) if file.as_os_str() == "-" => settings.ledger = LedgerPlace::StandardOutput,
            Some(file) => settings.ledger = LedgerPlace::File(file.clone()),
        }
        if self.demo {
            settings.static_upstreams = StaticUpstreams::Simulators;
        }
        settings.agent = self.agent.clone();
        settings.sign_in = self.console.clone().map(|url| SignInConsole {
            url,
            ca: system_ca::named_or_found(self.console_ca.clone()),
        });
        settings.trusted_hops = self.trusted_hops.unwrap_or_default();
        settings.limits_service = self.limits_service.clone();
        Ok(settings)
    }

    fn tls(&self, of_mode: Option<TlsListener>) -> Result<Option<TlsListener>, Failure> {
        if self.no_tls {
            return Ok(None);
        }
        let address = self.tls_listen.clone();
        let Some(mut tls) = of_mode else {
            let Some(address) = address else {
                return Ok(None);
            };
            let certs = match &self.certs {
                Some(certs) => certs.clone(),
                None => self.data.directory()?.certs(),
            };
            return Ok(Some(TlsListener { address, certs }));
        };
        tls.address = address.unwrap_or(tls.address);
        tls.certs = self.certs.clone().unwrap_or(tls.certs);
        Ok(Some(tls))
    }
}
