//! Addresses of the internet, and those of one's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Resolves names to addresses of the internet only: a connection goes to what was checked, whatever the name means a
/// moment later.
#[derive(Debug)]
pub struct PublicResolver;

impl Resolver for PublicResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let all = DefaultResolver::default().resolve(uri, config, timeout)?;
        let mut public = self.empty();
        for address in all.iter().filter(|address| is_public(address.ip())) {
            public.push(*address);
        }
        if public.is_empty() {
            let why = "its address is a private one (--allow-private-webhooks allows them)";
            return Err(ureq::Error::Other(why.into()));
        }
        Ok(public)
    }
}

/// Whether an address is one of the internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation();
    // This network, carrier's addresses, protocols, benchmarks, and what is reserved.
    let special = special
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An address of the other kind within this one is what is called in the end.
    if let Some(within) = address.to_ipv4_mapped() {
        return is_public_v4(within);
    }
    let [first, second, ..] = address.segments();
    // 2000::/3 is the internet; in it documentation, Teredo and other tunnels.
    let global = first & 0xe000 == 0x2000;
    let tunnels = first == 0x2002 || (first == 0x2001 && (second == 0 || second == 0xdb8));
    global && !tunnels && first != 0x3fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_internet() {
        let public = [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ];
        let own = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::a00:1",
            "2001:db8::1",
            "2002:a00:1::",
            "::ffff:127.0.0.1",
            "::7f00:1",
        ];
        for (list, want) in [(&public[..], true), (&own[..], false)] {
            for text in list {
                assert_eq!(is_public(text.parse().unwrap()), want, "{text}");
            }
        }
    }
}
