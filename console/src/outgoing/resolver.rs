//! The resolver that checks addresses.

use core::fmt;
use std::net::{IpAddr, ToSocketAddrs as _};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::AllowedAddresses;

/// Resolves names, of the target or of a proxy on the way, to allowed addresses only.
#[derive(Debug)]
pub struct GuardedResolver(pub AllowedAddresses);

/// The reason that a name has no address to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAddress {
    /// It does not resolve.
    NotFound {
        /// The name.
        host: String,
    },
    /// None of its addresses is allowed.
    NotAllowed {
        /// The name.
        host: String,
        /// One of them.
        address: IpAddr,
    },
}

impl NoAddress {
    /// Finds this error inside an error of the client.
    pub fn of(error: &ureq::Error) -> Option<&Self> {
        match error {
            ureq::Error::Other(inner) => inner.downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { host } => write!(f, "the name {host} does not resolve"),
            Self::NotAllowed { host, address } => {
                write!(
                    f,
                    "{host} is at {address}, which is no address of the internet"
                )
            }
        }
    }
}

impl core::error::Error for NoAddress {}

impl AllowedAddresses {
    /// Resolves a host, to say whether it is at one of these addresses.
    ///
    /// # Errors
    /// It does not resolve, or is elsewhere.
    pub fn check(self, host: &str) -> Result<(), NoAddress> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found = (host, 0).to_socket_addrs();
        let found: Vec<IpAddr> = found.into_iter().flatten().map(|at| at.ip()).collect();
        let host = host.to_owned();
        match found.first() {
            None => Err(NoAddress::NotFound { host }),
            Some(_) if found.iter().any(|address| self.has(*address)) => Ok(()),
            Some(address) => Err(NoAddress::NotAllowed {
                host,
                address: *address,
            }),
        }
    }
}

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let not_found = || {
            let host = host.to_owned();
            ureq::Error::Other(Box::new(NoAddress::NotFound { host }))
        };
        let all = match DefaultResolver::default().resolve(uri, config, timeout) {
            Ok(all) => all,
            Err(error @ ureq::Error::Timeout(_)) => return Err(error),
            Err(_) => return Err(not_found()),
        };
        let mut allowed = self.empty();
        for address in all.iter().filter(|address| self.0.has(address.ip())) {
            allowed.push(*address);
        }
        match (allowed.is_empty(), all.first()) {
            (false, _) => Ok(allowed),
            (true, None) => Err(not_found()),
            (true, Some(refused)) => Err(ureq::Error::Other(Box::new(NoAddress::NotAllowed {
                host: host.to_owned(),
                address: refused.ip(),
            }))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use ureq::Agent;
    use ureq::unversioned::transport::DefaultConnector;

    use super::*;

    fn call(allowed: AllowedAddresses, url: &str) -> Result<u16, ureq::Error> {
        let config = Agent::config_builder().proxy(None).build();
        let agent = Agent::with_parts(
            config,
            DefaultConnector::default(),
            GuardedResolver(allowed),
        );
        agent
            .get(url)
            .call()
            .map(|response| response.status().as_u16())
    }

    #[test]
    fn nobody_is_called_at_an_address_that_is_not_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        // What a parser of addresses takes for the same machine, and a name of it.
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "2130706433",
            "0x7f.1",
            "127.1",
        ] {
            let error =
                call(AllowedAddresses::Public, &format!("http://{host}:{port}/")).unwrap_err();
            let refused = NoAddress::of(&error);
            assert!(refused.is_some(), "{host}: {error}");
        }
        for host in [
            "169.254.169.254",
            "[fe80::1]",
            "[fd00:ec2::254]",
            "[::ffff:169.254.169.254]",
            "0.0.0.0",
        ] {
            let error = call(AllowedAddresses::Private, &format!("http://{host}/")).unwrap_err();
            let refused = NoAddress::of(&error);
            assert!(
                matches!(refused, Some(NoAddress::NotAllowed { .. })),
                "{host}: {error}"
            );
        }
        assert!(listener.accept().is_err(), "somebody was called");
    }

    #[test]
    fn a_name_that_does_not_resolve() {
        let error = call(AllowedAddresses::Any, "http://no-such-host.invalid/").unwrap_err();
        let host = "no-such-host.invalid".to_owned();
        assert_eq!(NoAddress::of(&error), Some(&NoAddress::NotFound { host }));
    }
}
