//! The one request that tests a credential: the vendor's list of models.

use std::fmt;
use std::fs;
use std::io;
use std::net::ToSocketAddrs as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use trilane::protocol::Protocol;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy};

use super::credential::VendorCredential;
use super::listed::{self, ListedModel};
use super::vendor::Vendor;

/// How long the vendor may take for a page of its list.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest page, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The most pages. No vendor has so many.
const MAX_PAGES: usize = 20;
/// The version of protocol B, which its vendors require.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListFailure {
    /// The vendor does not take the credential; with its status.
    Refused(u16),
    /// The host's name has no address.
    NotResolved,
    /// No answer came; why.
    NotReached(String),
    /// Its certificate is not trusted, or there is no TLS; why.
    Tls(String),
    /// It answered with another status.
    Status(u16),
    /// It answered with something else than a list.
    NotAList,
    /// The list is empty.
    NoModels,
    /// The file of certificate authorities cannot be used; why.
    Authorities(String),
}

/// A failure at a vendor, in a sentence that says what to do.
#[derive(Debug)]
pub struct ListSentence<'a>(pub &'a Vendor, pub &'a ListFailure);

impl fmt::Display for ListSentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(vendor, failure) = self;
        let (group, host, url) = (&vendor.group, vendor.origin.authority(), vendor.list_url());
        match failure {
            ListFailure::Refused(status) => write!(
                f,
                "{group}: {host} refused the credential ({status}). Is it whole, of this vendor, and not revoked?"
            ),
            ListFailure::NotResolved => write!(
                f,
                "{group}: the name {} does not resolve. Check the address, or this machine's name service",
                vendor.origin.host
            ),
            ListFailure::NotReached(why) => write!(
                f,
                "{group}: {host} is not reachable ({why}). Check the address; behind a proxy, set HTTPS_PROXY"
            ),
            ListFailure::Tls(why) => write!(
                f,
                "{group}: TLS with {host} fails ({why}). Where a proxy or a server of yours has a certificate of its own, \
                 name its authority with --ca FILE"
            ),
            ListFailure::Status(status @ (429 | 500..)) => write!(
                f,
                "{group}: {host} answered {status}, so the credential is not tested. Try again later"
            ),
            ListFailure::Status(status) => write!(
                f,
                "{group}: {url} answered {status}. Is this the base address of a vendor of protocol {}?",
                vendor.protocol
            ),
            ListFailure::NotAList => write!(
                f,
                "{group}: {url} answered with something else than a list of models. Is this the base address of a vendor \
                 of protocol {}?",
                vendor.protocol
            ),
            ListFailure::NoModels => write!(
                f,
                "{group}: {host} took the credential and lists no models. May this account use any?"
            ),
            ListFailure::Authorities(why) => {
                write!(f, "{group}: no certificate can be checked: {why}")
            }
        }
    }
}

/// How the vendor is reached.
#[derive(Debug)]
pub struct Reach<'a> {
    /// The certificate authorities to trust; `None` for those of the system.
    pub ca: Option<&'a Path>,
    /// The system's authorities, as Envoy reads them.
    pub system_ca: &'a Path,
}

/// The proxy that the environment names for a vendor.
pub fn proxy(vendor: &Vendor) -> Option<Proxy> {
    let uri = vendor.list_url().parse().ok()?;
    Proxy::try_from_env().filter(|proxy| !proxy.is_no_proxy(&uri))
}

/// Asks a vendor for its models. Nothing is charged for that.
///
/// # Errors
/// What came back instead.
pub fn list(
    vendor: &Vendor,
    credential: &VendorCredential,
    reach: &Reach<'_>,
) -> Result<Vec<ListedModel>, ListFailure> {
    let proxy = proxy(vendor);
    let origin = &vendor.origin;
    if proxy.is_none() {
        let addresses = (origin.host.as_str(), origin.port).to_socket_addrs();
        if addresses.is_ok_and(|mut found| found.next().is_some()) {
        } else {
            return Err(ListFailure::NotResolved);
        }
    }
    let agent = agent(vendor, proxy, reach)?;
    let mut models = Vec::new();
    let mut next = None;
    for _ in 0..MAX_PAGES {
        let page = page(&agent, vendor, credential, next.as_ref())?;
        models.extend(page.models);
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    if models.is_empty() {
        return Err(ListFailure::NoModels);
    }
    Ok(models)
}

fn agent(vendor: &Vendor, proxy: Option<Proxy>, reach: &Reach<'_>) -> Result<Agent, ListFailure> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        // A credential goes to the named host and to no other.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("trilane/", env!("CARGO_PKG_VERSION")))
        .proxy(proxy);
    if vendor.origin.tls {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(roots(reach)?)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        config = config.tls_config(tls);
    }
    Ok(config.build().into())
}

/// The authorities that Envoy will trust.
fn roots(reach: &Reach<'_>) -> Result<RootCerts, ListFailure> {
    let file = match reach.ca {
        Some(own) => own,
        None if reach.system_ca.is_file() => reach.system_ca,
        None => return Ok(RootCerts::PlatformVerifier),
    };
    let failed = |why: String| ListFailure::Authorities(format!("{} {why}", file.display()));
    let text = fs::read(file).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let items = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = items.collect();
    if certificates.is_empty() {
        return Err(failed("has no certificate".to_owned()));
    }
    Ok(certificates.into())
}

fn page(
    agent: &Agent,
    vendor: &Vendor,
    credential: &VendorCredential,
    next: Option<&(&'static str, String)>,
) -> Result<listed::ListedPage, ListFailure> {
    let mut query = match vendor.protocol {
        Protocol::A => Vec::new(),
        Protocol::B => vec!["limit=1000".to_owned()],
        Protocol::C => vec!["pageSize=1000".to_owned()],
    };
    if let Some((name, value)) = next {
        query.push(format!(
            "{name}={}",
            utf8_percent_encode(value, NON_ALPHANUMERIC)
        ));
    }
    let mark = if query.is_empty() { "" } else { "?" };
    let url = format!("{}{mark}{}", vendor.list_url(), query.join("&"));
    let key = credential.reveal();
    let mut request = agent.get(url).header("accept", "application/json");
    request = match vendor.protocol {
        Protocol::A => request.header("authorization", format!("Bearer {key}")),
        Protocol::B => request
            .header("x-api-key", key)
            .header(VERSION.0, VERSION.1),
        Protocol::C => request.header("x-goog-api-key", key),
    };
    let mut response = request.call().map_err(|error| failure(&error))?;
    let status = response.status().as_u16();
    let limited = response.body_mut().with_config().limit(MAX_BYTES);
    let body = limited.read_to_vec();
    match status {
        200 => {
            let body = body.map_err(|error| failure(&error))?;
            listed::page(vendor.protocol, &body).ok_or(ListFailure::NotAList)
        }
        401 | 403 => Err(ListFailure::Refused(status)),
        // Protocol C's vendor refuses a wrong key with 400.
        400 if vendor.protocol == Protocol::C && is_wrong_key(&body.unwrap_or_default()) => {
            Err(ListFailure::Refused(status))
        }
        other => Err(ListFailure::Status(other)),
    }
}

fn is_wrong_key(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"API_KEY_INVALID").is_some()
        || memchr::memmem::find(body, b"API key not valid").is_some()
}

/// What an error of the client means. None of its texts has the credential: they are about connections.
fn failure(error: &ureq::Error) -> ListFailure {
    match error {
        ureq::Error::HostNotFound => ListFailure::NotResolved,
        ureq::Error::Tls(why) => ListFailure::Tls((*why).to_owned()),
        ureq::Error::Rustls(why) => ListFailure::Tls(why.to_string()),
        ureq::Error::Io(error) => of_connection(error),
        ureq::Error::Timeout(_) => {
            let seconds = PATIENCE.as_secs();
            ListFailure::NotReached(format!("no answer within {seconds} seconds"))
        }
        other => ListFailure::NotReached(other.to_string()),
    }
}

fn of_connection(error: &io::Error) -> ListFailure {
    let inner = error.get_ref();
    let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let tls = tls.or_else(|| inner?.source()?.downcast_ref());
    match tls {
        Some(why) => ListFailure::Tls(why.to_string()),
        None => ListFailure::NotReached(error.to_string()),
    }
}
