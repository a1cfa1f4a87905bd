//! Requests to the gateway's health check and to Envoy's admin interface.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use tokio::task::spawn_blocking;
use trilane::config::document_hash;
use trilane::metrics::PROBES;
use ureq::Agent;
use ureq::http::Method;

use crate::host_port::HostPort;

/// The longest time for a response.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most that is read of one, in bytes.
const MOST: u64 = 32 << 20;
/// The path of Envoy's metrics for Prometheus.
pub const METRICS: &str = "/stats/prometheus";
/// The counter of requests in flight in the listeners for clients.
const ACTIVE: &str = "http.gateway.downstream_rq_active";
/// The counter of requests that have begun there.
const BEGUN: &str = "http.gateway.downstream_rq_total";
/// The statistic of the process's uptime, in seconds.
const UPTIME: &str = "server.uptime";
/// The epoch of the process in a series of hot restarts.
const EPOCH: &str = "server.hot_restart_epoch";
/// The counter of lines that could not be written to a file.
const WRITE_FAILED: &str = "filesystem.write_failed";

/// The counter of files of clusters that were refused, whole or in part.
const CLUSTERS_REFUSED: &str = "cluster_manager.cds.update_rejected";
/// The number of clusters that wait for what they need.
const CLUSTERS_WARMING: &str = "cluster_manager.warming_clusters";
/// The admin path of the clusters that take requests, with the name and metadata that tell them apart.
const ACTIVE_CLUSTERS: &str =
    "/config_dump?resource=dynamic_active_clusters&mask=cluster.name,cluster.metadata";

/// The place of an Envoy's admin interface: on this machine, for access to it is full control of that Envoy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminPlace {
    /// At this address.
    At(HostPort),
    /// At the one that Envoy writes to this file when it starts.
    ToldIn(PathBuf),
}

impl AdminPlace {
    /// The interface, as it is now.
    ///
    /// # Errors
    /// There is no address yet.
    pub fn find(&self) -> io::Result<Admin> {
        match self {
            Self::At(address) => Ok(Admin(address.clone())),
            Self::ToldIn(file) => {
                let text = std::fs::read_to_string(file)?;
                text.trim().parse().map(Admin).map_err(io::Error::other)
            }
        }
    }

    /// Asks the interface as it is now, beside the threads of the runtime.
    ///
    /// # Errors
    /// There is no address yet, or Envoy does not answer.
    pub async fn ask<T: Send + 'static>(
        self,
        what: impl FnOnce(&Admin) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let asked = spawn_blocking(move || what(&self.find()?)).await;
        asked.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
    }
}

impl FromStr for AdminPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address: HostPort = text.parse()?;
        let is_loopback = match address.host().parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => address.host().eq_ignore_ascii_case("localhost"),
        };
        if !is_loopback {
            return Err(format!(
                "{address} is not this machine: Envoy's admin interface is to be reached from its own machine or pod alone, \
                 as 127.0.0.1:9901"
            ));
        }
        Ok(Self::At(address))
    }
}

/// The counts of its clients' requests that a process of Envoy gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestCounts {
    /// The uptime of the process, in seconds.
    pub uptime: u64,
    /// The epoch of the process in a series of hot restarts.
    pub epoch: u64,
    /// The number of requests that have begun.
    pub begun: u64,
    /// The number of those requests that have not ended.
    pub active: u64,
    /// The number of those requests that were probes, which have no line in the ledger.
    pub probes: u64,
}

impl RequestCounts {
    /// Whether these may be later counts of the process with those; else they are another one's.
    pub const fn is_later_of(&self, before: &Self) -> bool {
        self.uptime >= before.uptime && self.epoch == before.epoch && self.begun >= before.begun
    }

    /// The number of those requests that have a line in the ledger, or will have one when they end.
    pub const fn lines(&self) -> u64 {
        self.begun.saturating_sub(self.probes)
    }
}

/// The admin interface of a running Envoy.
#[derive(Debug, Clone)]
pub struct Admin(HostPort);

impl Admin {
    /// Returns the address of the interface.
    pub const fn address(&self) -> &HostPort {
        &self.0
    }

    /// Ends each connection with its next answer. Listeners go on for a while: the ways between accounts are listeners too.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn drain(&self) -> io::Result<()> {
        self.post("/healthcheck/fail")?;
        self.post("/drain_listeners?graceful&skip_exit")
    }

    /// Opens the ledger's file again, after the lines that are due went to the one before.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn reopen_logs(&self) -> io::Result<()> {
        self.post("/reopen_logs")
    }

    /// Whether the gateway at this address, which is none of an admin interface, has a document in force.
    ///
    /// # Errors
    /// The status of another answer, or the reason that there is none.
    pub fn is_ready(&self) -> io::Result<()> {
        match request(Method::GET, &self.0, "/healthz")? {
            (200, _) => Ok(()),
            (status, _) => Err(io::Error::other(format!("status {status}"))),
        }
    }

    /// Whether Envoy's main thread does its work.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn answers(&self) -> io::Result<()> {
        request(Method::GET, &self.0, "/ready").map(drop)
    }

    /// Reads the number of requests in flight.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn active_requests(&self) -> io::Result<u64> {
        self.counter(ACTIVE)
    }

    /// Reads the counts of its clients' requests.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn request_counts(&self) -> io::Result<RequestCounts> {
        let probes = format!("wasmcustom.{PROBES}");
        let path = format!("/stats?filter=^({BEGUN}|{ACTIVE}|{UPTIME}|{EPOCH}|{probes})$");
        let (_, text) = request(Method::GET, &self.0, &path)?;
        Ok(RequestCounts {
            uptime: value_in(&text, UPTIME)?,
            epoch: value_in(&text, EPOCH)?,
            begun: value_in(&text, BEGUN)?,
            active: value_in(&text, ACTIVE)?,
            // There is no counter before the first one.
            probes: value_in(&text, &probes).unwrap_or_default(),
        })
    }

    /// Reads the number of ledger lines that were lost since Envoy started.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn lost_lines(&self) -> io::Result<u64> {
        self.counter(WRITE_FAILED)
    }

    /// Reads the number of times that Envoy has rejected clusters since it started.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn refused_clusters(&self) -> io::Result<u64> {
        self.counter(CLUSTERS_REFUSED)
    }

    /// Reads the number of clusters that are warming: not there yet, or not as they were offered last.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn warming_clusters(&self) -> io::Result<u64> {
        self.counter(CLUSTERS_WARMING)
    }

    /// The digests of the clusters that take requests, by their names; of those that have one.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn active_clusters(&self) -> io::Result<BTreeMap<String, String>> {
        let (_, text) = request(Method::GET, &self.0, ACTIVE_CLUSTERS)?;
        // Where there are none the mask fits nothing, and a sentence says so.
        let dump: ClusterDump = serde_json::from_str(&text).unwrap_or_default();
        let all = dump.configs.into_iter().map(|config| config.cluster);
        let signed = all.filter_map(|cluster| {
            let digest = cluster.metadata.filter_metadata.trilane.digest?;
            Some((cluster.name, digest))
        });
        Ok(signed.collect())
    }

    /// Reads the metrics of Envoy and of the filter, in Prometheus' text format.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn metrics(&self) -> io::Result<String> {
        match request(Method::GET, &self.0, METRICS)? {
            (200, text) => Ok(text),
            (status, _) => Err(io::Error::other(format!("{METRICS}: status {status}"))),
        }
    }

    /// Reads the number of the document that the gateway has in force; 0: none yet.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub fn document_hash(&self) -> io::Result<u64> {
        self.counter(&format!("wasmcustom.{}", document_hash::GAUGE))
    }

    fn counter(&self, name: &str) -> io::Result<u64> {
        let path = format!("/stats?filter=^{name}$");
        let (_, text) = request(Method::GET, &self.0, &path)?;
        value_in(&text, name)
    }

    fn post(&self, path: &str) -> io::Result<()> {
        match request(Method::POST, &self.0, path)? {
            (200, _) => Ok(()),
            (status, _) => Err(io::Error::other(format!("{path}: status {status}"))),
        }
    }
}

/// The value of a counter in a page of them.
fn value_in(page: &str, name: &str) -> io::Result<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok();
    let found = page.lines().find_map(value);
    found.ok_or_else(|| io::Error::other(format!("no counter {name}")))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterDump {
    configs: Vec<DumpedConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DumpedConfig {
    cluster: DumpedCluster,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DumpedCluster {
    name: String,
    metadata: DumpedMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DumpedMetadata {
    filter_metadata: DumpedNamespaces,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DumpedNamespaces {
    trilane: DumpedDigest,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DumpedDigest {
    digest: Option<String>,
}

/// Sends a request and returns status and body.
fn request(method: Method, to: &HostPort, path: &str) -> io::Result<(u16, String)> {
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None);
    // Its connection ends with it.
    let agent: Agent = config.build().into();
    let failed = |error| match error {
        ureq::Error::Timeout(_) => io::ErrorKind::TimedOut.into(),
        error => error.into_io(),
    };
    let url = format!("http://{to}{path}");
    let sent = match method {
        Method::POST => agent.post(url).send_empty(),
        _ => agent.get(url).call(),
    };
    let mut response = sent.map_err(failed)?;
    let body = response.body_mut().with_config().limit(MOST).read_to_vec();
    let body = body.map_err(failed)?;
    let status = response.status().as_u16();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_may_be() {
        for (text, want) in [
            ("127.0.0.1:9901", true),
            ("[::1]:9901", true),
            ("localhost:9901", true),
            ("10.0.0.1:9901", false),
            ("envoy:9901", false),
            ("127.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<AdminPlace>().is_ok(), want, "{text}");
        }
    }
}
