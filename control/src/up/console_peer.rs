//! The addresses that may connect to a console in a container.
//!
//! A published port of a container leads to its own address, not to its loopback, and other containers reach that address too. The
//! container's host comes from the gateway of the container's network. So the console listens on all addresses there and takes
//! connections of that one address, and of the container itself. Whatever else reaches the port, such as a client of a port that
//! was published to others by mistake, comes from another address.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::Deserialize;

use crate::failure::Failure;

/// The word that stands for the host of a container.
const GATEWAY: &str = "gateway";
/// The routes of this container.
const ROUTES: &str = "/proc/net/route";
/// The flag of a route that leads to a gateway.
const LEADS_TO_GATEWAY: u32 = 2;

/// An address that may connect, beside loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ConsolePeer {
    /// The address of the default gateway.
    Gateway,
    /// This one.
    At(IpAddr),
}

impl ConsolePeer {
    /// The addresses that may connect.
    ///
    /// # Errors
    /// There is no default gateway.
    pub fn addresses(self) -> Result<Vec<IpAddr>, Failure> {
        let peer = match self {
            Self::At(address) => address,
            Self::Gateway => {
                let routes = fs::read_to_string(ROUTES).unwrap_or_default();
                let gateway = default_gateway(&routes).map(IpAddr::V4);
                gateway.ok_or_else(|| {
                    let text = "--console-peer: this machine has no default gateway. Name the address that may connect, or leave \
                                --console-peer out: the console then listens on loopback";
                    Failure::Data(text.to_owned())
                })?
            }
        };
        Ok(vec![
            Ipv4Addr::LOCALHOST.into(),
            Ipv6Addr::LOCALHOST.into(),
            peer,
        ])
    }
}

impl FromStr for ConsolePeer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == GATEWAY {
            return Ok(Self::Gateway);
        }
        match text.parse::<IpAddr>() {
            Ok(address) if !address.is_unspecified() && !address.is_multicast() => {
                Ok(Self::At(address.to_canonical()))
            }
            _ => Err(format!(
                "{text:?} is no address of one machine: write it as 172.18.0.1, or {GATEWAY} for the host of this container"
            )),
        }
    }
}

impl TryFrom<String> for ConsolePeer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The default gateway in a table of routes, as Linux writes it: numbers in hexadecimal, addresses in the order of the machine.
fn default_gateway(routes: &str) -> Option<Ipv4Addr> {
    routes.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, destination, gateway, flags, _, _, _, mask, ..] = columns[..] else {
            return None;
        };
        let number = |text| u32::from_str_radix(text, 16).ok();
        let leads = number(flags)? & LEADS_TO_GATEWAY != 0;
        let is_default = number(destination)? == 0 && number(mask)? == 0;
        let gateway = number(gateway)?.to_ne_bytes();
        (leads && is_default).then(|| Ipv4Addr::from(gateway))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

    #[test]
    fn the_default_gateway() {
        let gateway = u32::from_ne_bytes([172, 18, 0, 1]);
        let route = |destination: u32, flags: u32, mask: u32| {
            format!(
                "eth0\t{destination:08X}\t{gateway:08X}\t{flags:04X}\t0\t0\t0\t{mask:08X}\t0\t0\t0\n"
            )
        };
        let network = route(
            u32::from_ne_bytes([172, 18, 0, 0]),
            1,
            u32::from_ne_bytes([255, 255, 0, 0]),
        );
        for (case, routes, want) in [
            ("a bridge", format!("{}{network}", route(0, 3, 0)), true),
            (
                "the network first",
                format!("{network}{}", route(0, 3, 0)),
                true,
            ),
            ("a network alone", network.clone(), false),
            ("half of the internet", route(0, 3, 0x80), false),
            ("without a gateway", route(0, 1, 0), false),
            ("another form", "eth0 0 0\n".to_owned(), false),
            ("none", String::new(), false),
        ] {
            let found = default_gateway(&format!("{HEAD}{routes}"));
            let want = want.then_some(Ipv4Addr::new(172, 18, 0, 1));
            assert_eq!(found, want, "{case}");
        }
        assert_eq!(default_gateway(""), None);
    }

    #[test]
    fn who_is_meant() {
        assert_eq!("gateway".parse(), Ok(ConsolePeer::Gateway));
        let one: ConsolePeer = "::ffff:10.0.0.1".parse().unwrap();
        let Ok(addresses) = one.addresses() else {
            panic!("it is named");
        };
        let texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
        assert_eq!(texts, ["127.0.0.1", "::1", "10.0.0.1"]);
        for text in ["", "0.0.0.0", "::", "224.0.0.1", "host", "10.0.0.0/8"] {
            let why = text.parse::<ConsolePeer>().unwrap_err();
            assert!(why.contains("no address of one machine"), "{why}");
        }
    }
}
