//! The settings that differ between the environments in which Envoy runs.

use std::path::PathBuf;
use std::time::Duration;

use super::upstreams::StaticUpstreams;
use crate::console_http::ConsoleUrl;
use crate::host_port::HostPort;

/// The settings of one Envoy. Paths are those that Envoy sees.
#[derive(Debug, Clone)]
pub struct EnvoySettings {
    /// The address that clients connect to.
    pub gateway: HostPort,
    /// The listener that clients connect to over TLS, if there is one.
    pub tls: Option<TlsListener>,
    /// The admin interface: loopback, for whoever reaches it can stop Envoy.
    pub admin: HostPort,
    /// The filter.
    pub filter: PathBuf,
    /// The source of the document in force.
    pub document: DocumentSource,
    /// The source of the accounts' clusters and secrets.
    pub upstreams: AccountSource,
    /// The destination of the ledger.
    pub ledger: LedgerPlace,
    /// The clusters for groups that name one; none in production.
    pub static_upstreams: StaticUpstreams,
    /// The agent that serves the keys of a console, and perhaps the document.
    pub agent: Option<HostPort>,
    /// The console at which clients sign in by way of this Envoy.
    pub sign_in: Option<SignInConsole>,
    /// A rate limit service to ask.
    pub limits_service: Option<HostPort>,
    /// The number of trusted proxies in front of this Envoy, whose word is taken for the client's address.
    pub trusted_hops: u32,
    /// The time for which a worker may hang until Envoy ends itself, to be started again. Without this Envoy never does.
    pub worker_hang: Option<Duration>,
}

/// The source of the document in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentSource {
    /// A file, in a directory that has nothing else in it, which Envoy serves to its own loader.
    File {
        /// The file.
        file: PathBuf,
        /// The address on which it is served: loopback, for it has the keys' digests.
        listener: HostPort,
    },
    /// The agent.
    Agent,
}

/// The source of the accounts' clusters and secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountSource {
    /// The directory to which `trilane render` writes.
    Files(PathBuf),
    /// The socket on which `trilane up` or `trilane agent` serves them.
    Ads(PathBuf),
}

/// A console at which clients sign in.
#[derive(Debug, Clone)]
pub struct SignInConsole {
    /// The address of the console, as Envoy reaches it.
    pub url: ConsoleUrl,
    /// The file of the certificate authorities that its certificate is verified with.
    pub ca: PathBuf,
}

/// The listener for TLS.
#[derive(Debug, Clone)]
pub struct TlsListener {
    /// The address that it listens on.
    pub address: HostPort,
    /// The directory of `server.crt` and `server.key`.
    pub certs: PathBuf,
}

/// The destination of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    /// To Envoy's standard output.
    StandardOutput,
    /// To the end of this file.
    File(PathBuf),
}
