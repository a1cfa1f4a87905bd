//! From which address a request comes: that of its connection, or behind proxies that are trusted the one that they tell.

use core::convert::Infallible;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;
use http::request::Parts;
use trilane::keys::{AddressList, AddressRange};

/// The header in which each proxy notes from where it was asked, behind what others have noted.
const FORWARDED: &str = "x-forwarded-for";

/// The proxies whose word is taken for where a request comes from.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<AddressList>);

impl TrustedProxies {
    /// Those in these networks.
    pub fn new(networks: Vec<AddressRange>) -> Self {
        Self(Arc::new(AddressList::new(networks)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.ranges().is_empty()
    }

    /// Whether an address is one of theirs.
    fn has(&self, address: IpAddr) -> bool {
        self.0.contains(address)
    }

    /// The address that a request comes from. Each proxy adds the address that it was asked from at the end; so they are read from there, as
    /// long as it is a trusted proxy that says so. What stands before is whatever a client has written.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let lines: Vec<&str> = headers
            .get_all(FORWARDED)
            .into_iter()
            .map(|value| value.to_str().unwrap_or_default())
            .collect();
        for told in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
            if !self.has(client) {
                break;
            }
            let Some(address) = address_of(told.trim()) else {
                break;
            };
            client = address;
        }
        client
    }
}

/// An address, which some proxies write with a port.
fn address_of(text: &str) -> Option<IpAddr> {
    let plain = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|it| it.ip());
    let in_brackets = || {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<IpAddr>().ok()
    };
    let address = plain.or_else(with_port).or_else(in_brackets)?;
    Some(address.to_canonical())
}

/// The address that a request comes from, as the other layers and the handlers find it in its extensions.
#[derive(Debug, Clone)]
pub struct ClientAddress(pub String);

/// Whether the connection of a request is that of a trusted proxy, in its extensions.
#[derive(Debug, Clone, Copy)]
pub struct FromTrustedProxy(pub bool);

/// Finds out from where a request comes.
pub async fn find(
    State(proxies): State<TrustedProxies>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    if let Some(ConnectInfo(peer)) = peer {
        let client = proxies.client(peer.ip(), request.headers());
        let trusted = FromTrustedProxy(proxies.has(peer.ip().to_canonical()));
        request.extensions_mut().insert(trusted);
        request
            .extensions_mut()
            .insert(ClientAddress(client.to_string()));
    }
    next.run(request).await
}

/// The name under which attempts of an address are counted: a host with an address of IPv6 has a whole network of them.
pub fn counted(address: &str) -> String {
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => {
            let network = address.to_bits() >> 64 << 64;
            format!("{}/64", core::net::Ipv6Addr::from_bits(network))
        }
        _ => address.to_owned(),
    }
}

/// The address that a request comes from, as [`find`] has noted it.
pub fn address(request: &Parts) -> String {
    let address = request.extensions.get::<ClientAddress>();
    address.map_or_else(String::new, |ClientAddress(address)| address.clone())
}

/// The address that a request comes from.
#[derive(Debug)]
pub struct RemoteAddress(pub String);

impl<S: Sync> FromRequestParts<S> for RemoteAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(address(parts)))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn proxies(texts: &[&str]) -> TrustedProxies {
        let networks = texts.iter().map(|text| text.parse().unwrap());
        TrustedProxies::new(networks.collect())
    }

    #[test]
    fn where_a_request_comes_from() {
        let ours: &[&str] = &["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"];
        for (case, trusted, peer, told, want) in [
            (
                "nobody is trusted",
                &[][..],
                "127.0.0.1",
                &["192.0.2.9"][..],
                "127.0.0.1",
            ),
            ("no proxy", ours, "192.0.2.1", &["192.0.2.9"], "192.0.2.1"),
            ("a proxy", ours, "127.0.0.1", &["192.0.2.9"], "192.0.2.9"),
            (
                "a client that makes one up",
                ours,
                "127.0.0.1",
                &["198.51.100.1, 192.0.2.9"],
                "192.0.2.9",
            ),
            (
                "one that names a proxy of ours",
                ours,
                "127.0.0.1",
                &["10.0.0.1, 192.0.2.9"],
                "192.0.2.9",
            ),
            (
                "two proxies",
                ours,
                "127.0.0.1",
                &["198.51.100.1, 192.0.2.9, 10.1.2.3"],
                "192.0.2.9",
            ),
            (
                "two headers",
                ours,
                "127.0.0.1",
                &["198.51.100.1", "192.0.2.9, 10.1.2.3"],
                "192.0.2.9",
            ),
            (
                "only proxies",
                ours,
                "127.0.0.1",
                &["10.0.0.7, 10.0.0.8"],
                "10.0.0.7",
            ),
            ("nothing", ours, "127.0.0.1", &[], "127.0.0.1"),
            (
                "no address",
                ours,
                "127.0.0.1",
                &["192.0.2.9, unknown"],
                "127.0.0.1",
            ),
            (
                "no address farther on",
                ours,
                "127.0.0.1",
                &["unknown, 10.0.0.8"],
                "10.0.0.8",
            ),
            (
                "with a port",
                ours,
                "127.0.0.1",
                &["192.0.2.9:4711"],
                "192.0.2.9",
            ),
            (
                "IPv6 with a port",
                ours,
                "127.0.0.1",
                &["[2001:db8::9]:4711"],
                "2001:db8::9",
            ),
            (
                "IPv6 in brackets",
                ours,
                "127.0.0.1",
                &["[2001:db8::9]"],
                "2001:db8::9",
            ),
            (
                "a proxy of IPv6",
                ours,
                "2001:db8:1:2::3",
                &["192.0.2.9"],
                "192.0.2.9",
            ),
            (
                "mapped to IPv6",
                ours,
                "::ffff:127.0.0.1",
                &["::ffff:192.0.2.9"],
                "192.0.2.9",
            ),
            (
                "everything is trusted",
                &["0.0.0.0/0"],
                "192.0.2.1",
                &["192.0.2.9"],
                "192.0.2.9",
            ),
        ] {
            let mut headers = HeaderMap::new();
            for line in told {
                headers.append(FORWARDED, HeaderValue::from_static(line));
            }
            let client = proxies(trusted).client(peer.parse().unwrap(), &headers);
            assert_eq!(client.to_string(), want, "{case}");
        }
    }

    #[test]
    fn what_attempts_are_counted_under() {
        for (address, want) in [
            ("192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("", ""),
        ] {
            assert_eq!(counted(address), want, "{address}");
        }
    }
}
