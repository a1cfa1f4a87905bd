//! Requests to identity providers: bounded, and at allowed addresses only.

use core::future::Future;
use core::pin::Pin;
use core::time::Duration;
use std::collections::HashMap;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use ureq::Agent;
use ureq::tls::RootCerts;
use ureq::unversioned::transport::DefaultConnector;

use super::fault::ProviderFault;
use super::known::KnownProvider;
use crate::outgoing::{self, AllowedAddresses, GuardedResolver};
use crate::vendors::proxy_of_environment;

/// The longest time for one request.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest response, in bytes.
const MAX_BYTES: u64 = 64 * 1024;
/// The number of requests at a time. Further ones wait.
const AT_ONCE: usize = 16;

/// The access to identity providers. Clones share permits, and what discovery said.
#[derive(Debug, Clone)]
pub struct ProviderAccess {
    addresses: AllowedAddresses,
    system_ca: PathBuf,
    turns: Arc<Semaphore>,
    pub(super) known: Arc<Mutex<HashMap<String, KnownProvider>>>,
}

impl ProviderAccess {
    /// At addresses of the internet, or of one's own network, too; with the system's authorities in this file.
    pub fn new(allow_private: bool, system_ca: PathBuf) -> Self {
        Self {
            addresses: if allow_private {
                AllowedAddresses::Private
            } else {
                AllowedAddresses::Public
            },
            system_ca,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            known: Arc::default(),
        }
    }

    /// Whether a provider may be in one's own network, where it may do without TLS.
    pub fn allows_private(&self) -> bool {
        self.addresses != AllowedAddresses::Public
    }
}

impl AsyncHttpClient<'_> for ProviderAccess {
    type Error = ProviderFault;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, ProviderFault>> + Send>>;

    /// Sends a request. Redirects are not followed. The provider is away without a connection, without a response in time, with one
    /// that is too long, or a 429 or 5xx.
    fn call(&self, request: HttpRequest) -> Self::Future {
        let ends = || ProviderFault::Away("the console ends".to_owned());
        let (addresses, system_ca) = (self.addresses, self.system_ca.clone());
        let turns = Arc::clone(&self.turns);
        Box::pin(async move {
            let turn = turns.acquire_owned().await.map_err(|_| ends())?;
            let sent = spawn_blocking(move || {
                // Held until the request is over, also where nobody waits for it any more.
                let _turn = turn;
                send(request, addresses, system_ca)
            });
            sent.await.unwrap_or_else(|_| Err(ends()))
        })
    }
}

fn send(
    request: HttpRequest,
    addresses: AllowedAddresses,
    system_ca: PathBuf,
) -> Result<HttpResponse, ProviderFault> {
    let away = |why: String| ProviderFault::Away(why);
    let uri = request.uri().clone();
    let proxy = proxy_of_environment(&uri.to_string());
    let is_tls = uri.scheme_str() == Some("https");
    let mut config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("trilane/", env!("CARGO_PKG_VERSION")))
        .proxy(proxy.clone());
    if is_tls {
        let roots = if system_ca.is_file() {
            outgoing::authorities(&system_ca).map_err(away)?
        } else {
            RootCerts::PlatformVerifier
        };
        config = config.tls_config(outgoing::tls(roots));
    }
    // With a proxy its name is the one that is resolved, and the machine's operator has named it.
    let resolver = GuardedResolver(match proxy {
        Some(_) => AllowedAddresses::Any,
        None => addresses,
    });
    if proxy.is_some() {
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let host = uri.host().unwrap_or_default();
        let found = (host.trim_matches(['[', ']']), port).to_socket_addrs();
        if let Some(other) = found
            .into_iter()
            .flatten()
            .find(|at| !addresses.has(at.ip()))
        {
            return Err(away(format!(
                "{host} is at {}, which is not allowed",
                other.ip()
            )));
        }
    }
    let agent = Agent::with_parts(config.build(), DefaultConnector::default(), resolver);
    let (parts, body) = request.into_parts();
    let sent = if body.is_empty() {
        agent.run(http::Request::from_parts(parts, ()))
    } else {
        agent.run(http::Request::from_parts(parts, body))
    };
    let mut response = sent.map_err(|error| away(error.to_string()))?;
    let status = response.status();
    if status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS {
        return Err(away(format!("it answered {}", status.as_u16())));
    }
    let limited = response.body_mut().with_config().limit(MAX_BYTES);
    let body = limited
        .read_to_vec()
        .map_err(|error| away(error.to_string()))?;
    let (parts, _) = response.into_parts();
    Ok(http::Response::from_parts(parts, body))
}
