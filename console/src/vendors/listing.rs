//! The one request that tests a credential: the vendor's list of models.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::time::Instant;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use trilane::config::account::CredentialHeader;
use trilane::config::origin::Origin;
use trilane::protocol::Protocol;
use ureq::tls::RootCerts;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Proxy, ProxyProtocol};

use super::credential::VendorCredential;
use super::failure::ListFailure;
use super::listed::{self, ListedModel};
use super::vendor::Vendor;
use crate::outgoing::{self, AllowedAddresses, GuardedResolver, NoAddress};

/// The longest list, in bytes, with all of its pages.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The most pages. No vendor has so many.
const MAX_PAGES: usize = 20;
/// The version of protocol B, which its vendors require.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The route to a vendor.
#[derive(Debug)]
pub struct Reach<'a> {
    /// The certificate authorities to trust; `None` for those of the system.
    pub ca: Option<&'a Path>,
    /// The system's authorities, as Envoy reads them.
    pub system_ca: PathBuf,
    /// The proxy on the way.
    pub proxy: Option<Proxy>,
    /// Whether that proxy may be at any address: the machine's operator has named it.
    pub trusts_proxy: bool,
    /// The addresses that may be called.
    pub addresses: AllowedAddresses,
    /// The header that has the credential; `None` for the one that vendors of the protocol expect.
    pub header: Option<CredentialHeader>,
    /// The longest time for all pages together.
    pub patience: Duration,
}

/// The proxy that the environment names for an address.
pub fn proxy_of_environment(url: &str) -> Option<Proxy> {
    let uri = url.parse().ok()?;
    Proxy::try_from_env().filter(|proxy| !proxy.is_no_proxy(&uri))
}

/// The URL of a proxy as an account has it. `None` for a kind that the gateway has no way through.
pub fn proxy_of_account(proxy: &Proxy) -> Option<String> {
    let scheme = match proxy.protocol() {
        ProxyProtocol::Https => "https",
        ProxyProtocol::Http => "http",
        _ => return None,
    };
    let url = format!("{scheme}://{}:{}", proxy.host(), proxy.port());
    Some(Origin::parse(&url).ok()?.site())
}

/// The proxy that the environment names for a vendor, as its account has it.
pub fn environment_proxy(vendor: &Vendor) -> Option<String> {
    proxy_of_account(&proxy_of_environment(&vendor.list_url())?)
}

/// Asks a vendor for its models. Nothing is charged for that. It blocks.
///
/// # Errors
/// The failure, if there is no list.
pub fn list(
    vendor: &Vendor,
    credential: &VendorCredential,
    reach: &Reach<'_>,
) -> Result<Vec<ListedModel>, ListFailure> {
    let agent = agent(&vendor.origin, reach)?;
    let mut asking = Asking {
        until: Instant::now().checked_add(reach.patience),
        seconds: reach.patience.as_secs(),
        bytes: MAX_BYTES,
    };
    let mut models = Vec::new();
    let mut next = None;
    for _ in 0..MAX_PAGES {
        let page = asking.page(&agent, vendor, (credential, reach.header), next.as_ref())?;
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

/// Reads what stands at an address, without a credential. Redirects are not followed. It blocks.
///
/// # Errors
/// The reason that it cannot be read, for people.
pub fn download(url: &str, reach: &Reach<'_>) -> Result<Vec<u8>, String> {
    let site = url.split('/').take(3).collect::<Vec<_>>().join("/");
    let origin = Origin::parse(&site).map_err(|why| why.to_string())?;
    let agent = agent(&origin, reach).map_err(|failure| match failure {
        ListFailure::Authorities(why) => why,
        other => other.name().to_owned(),
    })?;
    let mut response = agent.get(url).call().map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(format!("the address answered {status}"));
    }
    let body = response
        .body_mut()
        .with_config()
        .limit(MAX_BYTES)
        .read_to_vec();
    body.map_err(|error| error.to_string())
}

/// The client for an origin.
pub(super) fn agent(origin: &Origin, reach: &Reach<'_>) -> Result<Agent, ListFailure> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(reach.patience))
        .http_status_as_error(false)
        // A credential goes to the named host and to no other.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("trilane/", env!("CARGO_PKG_VERSION")))
        .proxy(reach.proxy.clone());
    if origin.tls {
        config = config.tls_config(outgoing::tls(roots(reach)?));
    }
    // With a proxy its name is the one that is resolved.
    let resolver = GuardedResolver(if reach.trusts_proxy {
        AllowedAddresses::Any
    } else {
        reach.addresses
    });
    let agent = Agent::with_parts(config.build(), DefaultConnector::default(), resolver);
    if reach.proxy.is_some() && reach.addresses != AllowedAddresses::Any {
        ensure_allowed_behind_proxy(origin, reach)?;
    }
    Ok(agent)
}

/// Refuses a vendor behind a proxy whose name means an address that is not allowed. What only the proxy can resolve is left
/// to it.
fn ensure_allowed_behind_proxy(origin: &Origin, reach: &Reach<'_>) -> Result<(), ListFailure> {
    let host = &origin.host;
    let found = (host.as_str(), origin.port);
    let found = std::net::ToSocketAddrs::to_socket_addrs(&found);
    let mut found = found.into_iter().flatten();
    match found.find(|address| !reach.addresses.has(address.ip())) {
        None => Ok(()),
        Some(address) => Err(ListFailure::NoAddress(NoAddress::NotAllowed {
            host: host.clone(),
            address: address.ip(),
        })),
    }
}

/// The authorities that Envoy will trust.
fn roots(reach: &Reach<'_>) -> Result<RootCerts, ListFailure> {
    let file = match reach.ca {
        Some(own) => own,
        None if reach.system_ca.is_file() => &reach.system_ca,
        None => return Ok(RootCerts::PlatformVerifier),
    };
    outgoing::authorities(file).map_err(ListFailure::Authorities)
}

/// The time and bytes that remain for a list.
struct Asking {
    until: Option<Instant>,
    seconds: u64,
    bytes: u64,
}

impl Asking {
    fn page(
        &mut self,
        agent: &Agent,
        vendor: &Vendor,
        (credential, header): (&VendorCredential, Option<CredentialHeader>),
        next: Option<&(&'static str, String)>,
    ) -> Result<listed::ListedPage, ListFailure> {
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ListFailure::Timeout(self.seconds));
        }
        let key = credential.reveal();
        let mut request = agent
            .get(url(vendor, next))
            .header("accept", "application/json");
        request = match header.unwrap_or_else(|| CredentialHeader::of(vendor.protocol)) {
            CredentialHeader::Bearer => request.header("authorization", format!("Bearer {key}")),
            CredentialHeader::XApiKey => request.header("x-api-key", key),
            CredentialHeader::XGoogApiKey => request.header("x-goog-api-key", key),
        };
        if vendor.protocol == Protocol::B {
            request = request.header(VERSION.0, VERSION.1);
        }
        let request = request.config().timeout_global(left).build();
        let failed = |error: ureq::Error| ListFailure::of(&error, self.seconds);
        let mut response = request.call().map_err(failed)?;
        let status = response.status().as_u16();
        let limited = response.body_mut().with_config().limit(self.bytes);
        let body = limited.read_to_vec();
        match status {
            200 => {
                let body = body.map_err(failed)?;
                let read = u64::try_from(body.len()).unwrap_or(u64::MAX);
                self.bytes = self.bytes.saturating_sub(read);
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
}

fn url(vendor: &Vendor, next: Option<&(&'static str, String)>) -> String {
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
    format!("{}{mark}{}", vendor.list_url(), query.join("&"))
}

fn is_wrong_key(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"API_KEY_INVALID").is_some()
        || memchr::memmem::find(body, b"API key not valid").is_some()
}
