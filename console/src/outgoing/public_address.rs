//! Addresses of the internet, and those of one's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedAddresses {
    /// Those of the internet.
    Public,
    /// Those of one's own network and machine, too. What only the machine's own network segment knows stays out: there clouds
    /// tell a machine its secrets, and no vendor is.
    Private,
    /// All: whoever asks could call them without us.
    Any,
}

impl AllowedAddresses {
    /// Whether an address is one of these.
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Public => is_public(address),
            Self::Private => is_public(address) || is_of_a_network(address),
            Self::Any => true,
        }
    }
}

/// The addresses of cloud metadata services, apart from link-local ones.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
];

/// Whether an address is one of a machine in one's own network, or this one.
fn is_of_a_network(address: IpAddr) -> bool {
    let address = address.to_canonical();
    if METADATA.contains(&address) {
        return false;
    }
    match address {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            let carrier = a == 100 && (64..128).contains(&b);
            address.is_loopback() || address.is_private() || carrier
        }
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

/// Whether an address is one of the internet.
fn is_public(address: IpAddr) -> bool {
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

    #[test]
    fn what_is_of_ones_own_network() {
        let own = [
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "192.168.1.1",
            "::1",
            "fd12::1",
            "::ffff:10.0.0.1",
        ];
        let never = [
            "0.0.0.0",
            "169.254.169.254",
            "100.100.100.200",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "ff02::1",
        ];
        for (list, want) in [(&own[..], true), (&never[..], false)] {
            for text in list {
                let allowed = AllowedAddresses::Private.has(text.parse().unwrap());
                assert_eq!(allowed, want, "{text}");
            }
        }
    }
}
