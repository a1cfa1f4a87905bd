//! The ways of running Envoy, and the settings of each.

use std::path::Path;

use clap::ValueEnum;

use super::settings::{AccountSource, DocumentSource, EnvoySettings, LedgerPlace, TlsListener};
use super::upstreams::StaticUpstreams;
use crate::data_directory::DataDirectory;
use crate::host_port::HostPort;
use crate::render::ControlPlane;
use crate::run_directory::RunDirectory;

/// The environment in which Envoy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// On one's own machine, in a data directory: loopback, the ledger a file
    Laptop,
    /// On an application's host: loopback, no TLS, paths in /etc/trilane, the ledger on standard output
    Sidecar,
    /// In a container: every address, TLS, paths in /etc/trilane, the ledger on standard output
    Compose,
    /// In the chart's pods: as in a container
    Helm,
    /// A gateway of Istio: a resource for `kubectl apply`, see --part
    Istio,
    /// A Gateway of Envoy Gateway: the same
    EnvoyGateway,
}

/// The ports of the original.
const PORT: u16 = 10000;
const TLS_PORT: u16 = 10443;
const ADMIN_PORT: u16 = 9901;
const DOCUMENT_PORT: u16 = 10090;

impl Mode {
    /// The control plane that generates Envoy's configuration in this mode.
    pub const fn control_plane(self) -> Option<ControlPlane> {
        match self {
            Self::Istio => Some(ControlPlane::Istio),
            Self::EnvoyGateway => Some(ControlPlane::EnvoyGateway),
            Self::Laptop | Self::Sidecar | Self::Compose | Self::Helm => None,
        }
    }

    /// Returns the settings of a mode in which the whole configuration is ours. `data` is called in the modes that have a data directory.
    ///
    /// # Errors
    /// Those of `data`.
    pub fn settings<E>(
        self,
        data: impl FnOnce() -> Result<DataDirectory, E>,
    ) -> Result<EnvoySettings, E> {
        let loopback = HostPort::loopback;
        let installed = Path::new("/etc/trilane");
        let host = match self {
            Self::Laptop | Self::Sidecar => "127.0.0.1",
            Self::Compose | Self::Helm | Self::Istio | Self::EnvoyGateway => "0.0.0.0",
        };
        let mut settings = EnvoySettings {
            gateway: HostPort::new(host, PORT),
            tls: Some(TlsListener {
                address: HostPort::new(host, TLS_PORT),
                certs: installed.join("certs"),
            }),
            admin: loopback(ADMIN_PORT),
            filter: installed.join("filter").join("trilane.wasm"),
            document: DocumentSource::File {
                file: installed.join("document").join("gateway.json"),
                listener: loopback(DOCUMENT_PORT),
            },
            upstreams: AccountSource::Files(installed.join("upstreams")),
            ledger: LedgerPlace::StandardOutput,
            static_upstreams: StaticUpstreams::None,
            agent: None,
            sign_in: None,
            limits_service: None,
            trusted_hops: 0,
            worker_hang: None,
        };
        match self {
            Self::Laptop => {
                let data = data()?;
                let run = RunDirectory::of(&data);
                settings.tls = None;
                settings.filter = run.filter();
                settings.document = DocumentSource::File {
                    file: run.document(),
                    listener: loopback(DOCUMENT_PORT),
                };
                settings.upstreams = AccountSource::Files(run.upstreams());
                settings.ledger = LedgerPlace::File(data.ledger());
            }
            Self::Sidecar => settings.tls = None,
            Self::Compose | Self::Helm | Self::Istio | Self::EnvoyGateway => {}
        }
        Ok(settings)
    }
}
