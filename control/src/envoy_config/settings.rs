//! What differs between the places where Envoy runs.

use std::path::PathBuf;
use std::time::Duration;

use super::upstreams::StaticUpstreams;
use crate::host_port::HostPort;

/// The settings of one Envoy. Paths are those that Envoy sees.
#[derive(Debug, Clone)]
pub struct EnvoySettings {
    /// Where clients connect.
    pub gateway: HostPort,
    /// Where they connect over TLS, if they can.
    pub tls: Option<TlsListener>,
    /// The admin interface: loopback, for whoever reaches it can stop Envoy.
    pub admin: HostPort,
    /// Where Envoy serves the document to its own loader: loopback, for it has the keys' digests.
    pub document_listener: HostPort,
    /// The filter.
    pub filter: PathBuf,
    /// The document that is in force, in a directory that has nothing else in it.
    pub document: PathBuf,
    /// The directory to which `trilane render` writes.
    pub upstreams: PathBuf,
    /// Where the ledger goes.
    pub ledger: LedgerPlace,
    /// The clusters for groups that name one; none in production.
    pub static_upstreams: StaticUpstreams,
    /// The agent that serves the keys of a console.
    pub agent: Option<HostPort>,
    /// A rate limit service to ask.
    pub limits_service: Option<HostPort>,
    /// How long a worker may hang until Envoy ends itself, for those who start it again. Without this it never does.
    pub worker_hang: Option<Duration>,
}

/// The listener for TLS.
#[derive(Debug, Clone)]
pub struct TlsListener {
    /// Where it listens.
    pub address: HostPort,
    /// The directory of `server.crt` and `server.key`.
    pub certs: PathBuf,
}

/// Where the ledger goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    /// To Envoy's standard output.
    StandardOutput,
    /// To the end of this file.
    File(PathBuf),
}
