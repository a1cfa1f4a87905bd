//! The addresses from which a key may be used.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

/// The length of the part of an IPv6 address that says that it is an IPv4 address.
const MAPPED: u8 = 96;

/// The addresses that begin with the same bits, such as `10.0.0.0/8`. Those of IPv4 are as IPv6 maps them, `::ffff:10.0.0.0/104`: so an
/// address is the same in both forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    first: u128,
    prefix: u8,
}

impl AddressRange {
    /// The length of its bytes.
    pub const LEN: usize = 17;

    /// The bits that are free.
    fn free(self) -> u128 {
        u128::MAX.checked_shr(self.prefix.into()).unwrap_or(0)
    }

    /// Whether it has an address. Ranges of IPv6 have none of IPv4.
    fn contains(self, address: u128) -> bool {
        let is_v4 = address.checked_shr(32) == Some(0xffff);
        (address ^ self.first) & !self.free() == 0 && (self.prefix >= MAPPED || !is_v4)
    }

    /// Whether it has all of another one.
    fn includes(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.first)
    }

    /// Its bytes.
    pub fn write(self, bytes: &mut Vec<u8>) {
        bytes.push(self.prefix);
        bytes.extend_from_slice(&self.first.to_le_bytes());
    }

    /// Reads its bytes.
    pub fn read(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (&prefix, first) = bytes.split_first()?;
        let first = u128::from_le_bytes(first.try_into().ok()?);
        let range = Self { first, prefix };
        (prefix <= 128 && first & range.free() == 0).then_some(range)
    }
}

/// Reads `10.0.0.0/8`, `2001:db8::/32` or a single address.
impl FromStr for AddressRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const FORM: &str =
            "must be an address or a range, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32";
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| FORM)?;
        let (most, behind) = if address.is_ipv4() {
            (32, MAPPED)
        } else {
            (128, 0)
        };
        let prefix = match prefix {
            Some(prefix) if prefix.starts_with('+') => return Err(FORM),
            Some(prefix) => prefix.parse::<u8>().map_err(|_| FORM)?,
            None => most,
        };
        if prefix > most {
            return Err(FORM);
        }
        let range = Self {
            first: bits(address),
            prefix: prefix.saturating_add(behind),
        };
        if range.first & range.free() != 0 {
            return Err(
                "must begin with the first address of its range: 10.1.2.0/24, not 10.1.2.3/24",
            );
        }
        Ok(range)
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from_bits(self.first);
        match address.to_ipv4_mapped().filter(|_| self.prefix >= MAPPED) {
            Some(address) => write!(f, "{address}/{}", self.prefix.saturating_sub(MAPPED)),
            None => write!(f, "{address}/{}", self.prefix),
        }
    }
}

/// An address as a number, one of IPv4 as IPv6 maps it.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The ranges from which a key may be used. None: from nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressList(Box<[AddressRange]>);

impl AddressList {
    /// The most ranges: as many as two lists of half of them have together.
    pub const MAX: usize = 128;

    /// A list of these ranges. None are kept that others include.
    pub fn new(ranges: impl IntoIterator<Item = AddressRange>) -> Self {
        let mut kept: Vec<AddressRange> = Vec::new();
        for range in ranges {
            if !kept.iter().any(|other| other.includes(range)) {
                kept.retain(|other| !range.includes(*other));
                kept.push(range);
            }
        }
        Self(kept.into())
    }

    /// The ranges.
    pub fn ranges(&self) -> &[AddressRange] {
        &self.0
    }

    /// Whether the list has an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = bits(address);
        self.0.iter().any(|range| range.contains(address))
    }

    /// The addresses that both lists have.
    pub fn and(&self, other: &Self) -> Self {
        let within =
            |range: &&AddressRange, list: &Self| list.0.iter().any(|other| other.includes(**range));
        let own = self.0.iter().filter(|range| within(range, other));
        let others = other.0.iter().filter(|range| within(range, self));
        Self::new(own.chain(others).copied())
    }
}

/// The address in a text of Envoy's, `192.0.2.7:4711` or `[2001:db8::1]:4711`.
pub fn address_of_peer(text: &[u8]) -> Option<IpAddr> {
    let peer: SocketAddr = core::str::from_utf8(text).ok()?.parse().ok()?;
    Some(peer.ip().to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(texts: &[&str]) -> AddressList {
        AddressList::new(
            texts
                .iter()
                .map(|text| text.parse::<AddressRange>().unwrap()),
        )
    }

    fn texts(list: &AddressList) -> Vec<String> {
        list.ranges().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_are_read() {
        for (text, want) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("192.0.2.7", Some("192.0.2.7/32")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("2001:db8::/32", Some("2001:db8::/32")),
            ("::1", Some("::1/128")),
            ("::/0", Some("::/0")),
            ("::ffff:10.0.0.0/104", Some("10.0.0.0/8")),
            ("::ffff:10.1.2.3", Some("10.1.2.3/32")),
            ("10.1.2.3/8", None),
            ("2001:db8::1/64", None),
            ("10.0.0.0/33", None),
            ("::/129", None),
            ("10.0.0.0/", None),
            ("10.0.0.0/+8", None),
            ("10.0.0/8", None),
            ("fe80::1%1", None),
            ("[::1]", None),
            ("10.0.0.1:80", None),
            (" 10.0.0.1", None),
            ("example.com", None),
            ("", None),
        ] {
            let read = text
                .parse::<AddressRange>()
                .ok()
                .map(|range| range.to_string());
            assert_eq!(read.as_deref(), want, "{text}");
        }
    }

    #[test]
    fn which_addresses_a_list_has() {
        for (ranges, address, want) in [
            (&["10.0.0.0/8"][..], "10.255.0.1", true),
            (&["10.0.0.0/8"], "11.0.0.0", false),
            (&["10.0.0.0/8"], "::ffff:10.1.1.1", true),
            (&["10.0.0.0/8"], "::10.1.1.1", false),
            (&["10.0.0.0/8", "2001:db8::/32"], "2001:db8:1::1", true),
            (&["10.0.0.0/8", "2001:db8::/32"], "2001:db9::1", false),
            (&["0.0.0.0/0"], "192.0.2.1", true),
            (&["0.0.0.0/0"], "2001:db8::1", false),
            (&["::/0"], "2001:db8::1", true),
            (&["::/0"], "192.0.2.1", false),
            (&["192.0.2.1"], "192.0.2.1", true),
            (&["192.0.2.1"], "192.0.2.2", false),
            (&[], "192.0.2.1", false),
        ] {
            let found = list(ranges).contains(address.parse().unwrap());
            assert_eq!(found, want, "{ranges:?} and {address}");
        }
    }

    #[test]
    fn both_lists_hold() {
        for (one, other, want) in [
            (
                &["10.0.0.0/8"][..],
                &["10.1.0.0/16", "192.0.2.0/24"][..],
                &["10.1.0.0/16"][..],
            ),
            (&["10.1.2.3"], &["10.0.0.0/8"], &["10.1.2.3/32"]),
            (&["10.0.0.0/8"], &["10.0.0.0/8"], &["10.0.0.0/8"]),
            (&["10.0.0.0/8"], &["192.0.2.0/24"], &[]),
            (&["::/0"], &["10.0.0.0/8"], &[]),
            (
                &["10.0.0.0/8", "10.1.0.0/16"],
                &["10.1.0.0/16", "10.0.0.0/9"],
                &["10.0.0.0/9"],
            ),
        ] {
            assert_eq!(
                texts(&list(one).and(&list(other))),
                want,
                "{one:?} and {other:?}"
            );
            assert_eq!(
                texts(&list(other).and(&list(one))),
                want,
                "{other:?} and {one:?}"
            );
        }
    }

    #[test]
    fn peers_of_envoy() {
        for (text, want) in [
            ("192.0.2.7:4711", Some("192.0.2.7")),
            ("[2001:db8::1]:80", Some("2001:db8::1")),
            ("[::ffff:192.0.2.7]:80", Some("192.0.2.7")),
            ("192.0.2.7", None),
            ("/tmp/socket", None),
            ("envoy://internal/", None),
            ("", None),
        ] {
            let want = want.map(|text| text.parse().unwrap());
            assert_eq!(address_of_peer(text.as_bytes()), want, "{text}");
        }
    }

    prop_compose! {
        fn any_range()(first in any::<u128>(), prefix in 0u8..=128) -> AddressRange {
            let range = AddressRange { first, prefix };
            AddressRange { first: first & !range.free(), prefix }
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn what_is_written_is_read(range in any_range()) {
            let mut bytes = Vec::new();
            range.write(&mut bytes);
            let bytes: &[u8; AddressRange::LEN] = bytes.as_slice().try_into().unwrap();
            prop_assert_eq!(AddressRange::read(bytes), Some(range));
            prop_assert_eq!(range.to_string().parse(), Ok(range));
        }

        #[test]
        fn an_address_of_both_is_in_each(one in proptest::collection::vec(any_range(), 0..5), other in proptest::collection::vec(any_range(), 0..5), address: u128) {
            let (one, other) = (AddressList::new(one), AddressList::new(other));
            let places = one.ranges().iter().chain(other.ranges()).map(|range| range.first | (address & range.free()));
            for place in places.chain([address]) {
                let address = IpAddr::V6(Ipv6Addr::from_bits(place));
                prop_assert_eq!(one.and(&other).contains(address), one.contains(address) && other.contains(address));
            }
        }
    }
}
