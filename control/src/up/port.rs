//! Ports that Envoy listens on, held meanwhile.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use crate::failure::Failure;

/// The time for which a process that is ending may still have a port.
const ENDING: Duration = Duration::from_secs(1);
/// The interval at which that is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// A port that is held: no other process is given it.
///
/// Envoy listens with `SO_REUSEPORT`, so it can share the port with the socket held here, which never listens. But two Envoys could
/// share it too, without an error, and would take each other's requests. Hence first a check that no process has the port.
#[derive(Debug)]
pub struct HeldPort {
    _socket: TcpSocket,
    /// The port number.
    pub number: u16,
}

impl HeldPort {
    /// Takes a port (0: any free one) of an address.
    ///
    /// # Errors
    /// It is taken, and `option` chooses another.
    pub fn take(host: &str, port: u16, option: &str) -> Result<Self, Failure> {
        let taken = |error| taken(host, port, option, &error);
        let address = SocketAddr::new(address(host)?, port);
        if port != 0 {
            require_free(address).map_err(taken)?;
        }
        let socket = socket(address).map_err(taken)?;
        socket.set_reuseport(true).map_err(taken)?;
        socket.bind(address).map_err(taken)?;
        let number = socket.local_addr().map_err(taken)?.port();
        Ok(Self {
            _socket: socket,
            number,
        })
    }
}

/// Checks that a port that Envoy takes by itself can be taken.
///
/// # Errors
/// As [`HeldPort::take`].
pub fn check(host: &str, port: u16, option: &str) -> Result<(), Failure> {
    // It is not held: Envoy's admin interface does not share its port, and connections that have ended do not matter to it.
    let address = SocketAddr::new(address(host)?, port);
    require_free(address).map_err(|error| taken(host, port, option, &error))
}

fn address(host: &str) -> Result<IpAddr, Failure> {
    host.parse()
        .map_err(|_| Failure::Usage(format!("{host} is no address of this machine")))
}

/// Describes the reason that a port cannot be used, and the remedy.
fn taken(host: &str, port: u16, option: &str, error: &io::Error) -> Failure {
    Failure::Data(match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "this machine has no address {host}. Name one that it has with --host ADDRESS, such as 0.0.0.0 for all"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!(
                "port {port} of {host} cannot be used: {error}. Choose one above 1023 with {option} PORT"
            )
        }
        _ => format!(
            "port {port} of {host} cannot be used: {error}. Choose another with {option} PORT, or end who has it"
        ),
    })
}

fn require_free(address: SocketAddr) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match probe(address) {
            // An Envoy that is ending has its ports for a moment longer than it can be seen.
            Err(_) if begun.elapsed() < ENDING => thread::sleep(EVERY),
            done => return done,
        }
    }
}

fn probe(address: SocketAddr) -> io::Result<()> {
    let probe = socket(address)?;
    // Not the connections of a process that has ended, only a listener is in the way.
    probe.set_reuseaddr(true)?;
    probe.bind(address)
}

fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn ports() {
        let any = HeldPort::take("127.0.0.1", 0, "--port").unwrap();
        assert_ne!(any.number, 0);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let Err(Failure::Data(text)) = HeldPort::take("127.0.0.1", port, "--port") else {
            panic!("it is taken");
        };
        assert!(
            text.contains(&format!("port {port} of 127.0.0.1 cannot be used")),
            "{text}"
        );
        assert!(text.contains("--port PORT"), "{text}");
        drop(listener);
        check("127.0.0.1", port, "--port").unwrap();
    }
}
