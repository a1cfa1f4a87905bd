//! Simulators of the vendors, in this process.

use crate::failure::Failure;
use crate::host_port::HostPort;

/// Simulators that run. They end with this process.
#[derive(Debug)]
pub struct Simulators {
    /// The location of each simulator: the cluster, its address, and the `host` header of requests to the cluster.
    pub addresses: Vec<(&'static str, HostPort, String)>,
}

/// The host of simulators where there are containers, which the sample's clusters name.
#[cfg(feature = "demo")]
const HOST: &str = "upstream";

impl Simulators {
    /// Starts them at free ports of this machine.
    ///
    /// # Errors
    /// This program was built without them, or they cannot listen.
    #[cfg(feature = "demo")]
    pub async fn start() -> Result<Self, Failure> {
        use super::sample::SOURCES;
        use trilane_upstream::server::{Address, Server};

        let listeners = SOURCES.map(|(name, _)| Address {
            name: name.to_owned(),
            address: "127.0.0.1:0".to_owned(),
            tls: None,
        });
        let cannot = |why: String| Failure::Data(format!("the simulators cannot start: {why}"));
        let server = Server::bind(&listeners, true).await.map_err(cannot)?;
        let bound = server
            .addresses()
            .map_err(|error| cannot(error.to_string()))?;
        let addresses = SOURCES.iter().zip(bound).map(|((name, _), (_, address))| {
            (*name, HostPort::loopback(address.port()), HOST.to_owned())
        });
        let addresses = addresses.collect();
        tokio::spawn(server.serve());
        Ok(Self { addresses })
    }

    /// Says that there are none.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "demo"))]
    pub async fn start() -> Result<Self, Failure> {
        Err(Failure::Usage(
            "--demo: this program was built without simulators (its feature `demo`)".to_owned(),
        ))
    }
}

/// Makes a certificate for this machine in a directory, unless a valid one is there.
///
/// # Errors
/// It cannot be written.
#[cfg(feature = "demo")]
pub fn certificate(directory: &std::path::Path) -> Result<(), Failure> {
    use trilane_upstream::certificate::{CertificateKind, write};
    write(directory, &[], CertificateKind::Good)
        .map(drop)
        .map_err(Failure::Data)
}

/// Makes none.
///
/// # Errors
/// Never: the listener for TLS is left out.
#[cfg(not(feature = "demo"))]
pub fn certificate(_: &std::path::Path) -> Result<(), Failure> {
    Ok(())
}
