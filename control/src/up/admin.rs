//! Requests to the gateway's health check and to Envoy's admin interface.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::host_port::HostPort;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most that is read of one, in bytes.
const MOST: usize = 1 << 20;
/// The counter of requests in flight in the listeners for clients.
const ACTIVE: &str = "http.gateway.downstream_rq_active";
/// The counter of lines that could not be written to a file.
const WRITE_FAILED: &str = "filesystem.write_failed";

/// The admin interface of a running Envoy.
#[derive(Debug, Clone)]
pub struct Admin(HostPort);

impl Admin {
    /// That of the Envoy that wrote its address to this file.
    ///
    /// # Errors
    /// There is no address yet.
    pub fn at(file: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(file)?;
        text.trim().parse().map(Self).map_err(io::Error::other)
    }

    /// Its address.
    pub const fn address(&self) -> &HostPort {
        &self.0
    }

    /// Ends each connection with its next answer. Listeners go on for a while: the ways between accounts are listeners too.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub async fn drain(&self) -> io::Result<()> {
        self.post("/healthcheck/fail").await?;
        self.post("/drain_listeners?graceful&skip_exit").await
    }

    /// Opens the ledger's file again, after the lines that are due went to the one before.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub async fn reopen_logs(&self) -> io::Result<()> {
        self.post("/reopen_logs").await
    }

    /// Whether Envoy's main thread does its work.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub async fn answers(&self) -> io::Result<()> {
        request(Method::GET, &self.0, "/ready").await.map(drop)
    }

    /// How many requests are in flight.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub async fn active_requests(&self) -> io::Result<u64> {
        self.counter(ACTIVE).await
    }

    /// How many lines of the ledger were lost since Envoy started.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub async fn lost_lines(&self) -> io::Result<u64> {
        self.counter(WRITE_FAILED).await
    }

    async fn counter(&self, name: &str) -> io::Result<u64> {
        let path = format!("/stats?filter=^{name}$");
        let (_, text) = request(Method::GET, &self.0, &path).await?;
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok();
        let found = text.lines().find_map(value);
        found.ok_or_else(|| io::Error::other(format!("no counter {name}")))
    }

    async fn post(&self, path: &str) -> io::Result<()> {
        match request(Method::POST, &self.0, path).await? {
            (200, _) => Ok(()),
            (status, _) => Err(io::Error::other(format!("{path}: status {status}"))),
        }
    }
}

/// Whether the gateway has a document in force.
///
/// # Errors
/// What it says instead.
pub async fn ready(gateway: &HostPort) -> Result<(), String> {
    match request(Method::GET, gateway, "/healthz").await {
        Ok((200, _)) => Ok(()),
        Ok((status, _)) => Err(format!("status {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Sends a request and returns status and body.
async fn request(method: Method, to: &HostPort, path: &str) -> io::Result<(u16, String)> {
    let exchange = async {
        let stream = TcpStream::connect((to.host(), to.port())).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let connection = tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", to.to_string())
            .header("connection", "close")
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        let response = sender
            .send_request(request)
            .await
            .map_err(io::Error::other)?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MOST).collect().await;
        let body = body.map_err(io::Error::other)?.to_bytes();
        connection.abort();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    timeout(PATIENCE, exchange)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
