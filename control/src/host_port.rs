//! Addresses as people write them: `host:port`.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// A host, by name or address, and a port. An IPv6 address stands in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// The address of this host and port.
    pub fn new(host: &str, port: u16) -> Self {
        let host = host.to_owned();
        Self { host, port }
    }

    /// A port of this machine.
    pub fn loopback(port: u16) -> Self {
        Self::new("127.0.0.1", port)
    }

    /// The host, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not of the form host:port");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_good = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
                !host.is_empty() && host.bytes().all(allowed)
            }
        };
        let port = port.parse().map_err(|_| wrong())?;
        if !is_good {
            return Err(wrong());
        }
        Ok(Self::new(bare.unwrap_or(host), port))
    }
}

impl TryFrom<String> for HostPort {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, host, port) in [
            ("localhost:80", "localhost", 80),
            ("127.0.0.1:0", "127.0.0.1", 0),
            ("[::1]:65535", "::1", 65535),
        ] {
            let address: HostPort = text.parse().unwrap();
            assert_eq!((address.host(), address.port()), (host, port), "{text}");
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "",
            "a",
            ":1",
            "a:",
            "a:b",
            "a:65536",
            "a/b:1",
            "::1:80",
            "[a]:1",
            "http://a:1",
        ] {
            text.parse::<HostPort>().unwrap_err();
        }
    }
}
