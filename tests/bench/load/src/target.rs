//! The address of the gateway, which may change while it is under load.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The address for new connections.
#[derive(Debug, Clone)]
pub enum Target {
    /// A fixed address.
    At(SocketAddr),
    /// The address in this file, read for each connection: as a load balancer does that is told of another gateway.
    Told(PathBuf),
}

impl Target {
    /// `IP:PORT`, or `@FILE` with that in it.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some(file) => Ok(Self::Told(file.into())),
            None => Ok(Self::At(address(text)?)),
        }
    }

    /// Returns the address for the next connection.
    ///
    /// # Errors
    /// The file cannot be read, or has no address in it.
    pub fn address(&self) -> Result<SocketAddr, String> {
        match self {
            Self::At(address) => Ok(*address),
            Self::Told(file) => {
                let text = fs::read_to_string(file)
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                address(text.trim())
            }
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.is_ipv4() && address.port() != 0 => Ok(address),
        _ => Err(format!("{text:?} is not IPv4:PORT")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_can_be_connected_to_are_taken() {
        for (text, good) in [
            ("127.0.0.1:80", true),
            ("@some/file", true),
            ("127.0.0.1:0", false),
            ("[::1]:80", false),
            ("", false),
        ] {
            assert_eq!(Target::parse(text).is_ok(), good, "{text:?}");
        }
    }
}
