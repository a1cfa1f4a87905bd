//! Connections to the console that end when nobody is there any more.
//!
//! If a machine, a route or a firewall is gone, nobody says so: a request would wait for its whole time. The kernel asks the
//! other side whether it is there, also while an answer is waited for, and ends the connection when it says nothing for
//! [`SILENT`]. A console that takes its time is there.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout,
    RustlsConnector, Transport,
};

/// The time after which a connection whose peer sends nothing, not even keepalive acknowledgements, ends.
pub const SILENT: Duration = Duration::from_secs(5);
/// The idle time before the first keepalive probe, and the interval between probes.
const ASKED: Duration = Duration::from_secs(1);
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// The way to a console: through a proxy where the environment names one, by TLS where the URL says so.
pub fn connector() -> impl Connector<()> {
    ().chain(ConnectProxyConnector::default())
        .chain(WatchedTcp)
        .chain(RustlsConnector::default())
}

/// Opens connections.
#[derive(Debug)]
struct WatchedTcp;

impl<In: Transport> Connector<In> for WatchedTcp {
    type Out = Either<In, WatchedConnection>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if let Some(chained) = chained {
            return Ok(Some(Either::A(chained)));
        }
        let mut last = None;
        for address in &details.addrs {
            match TcpStream::connect_timeout(address, SILENT).and_then(watched) {
                Ok(stream) => {
                    let config = details.config;
                    let sizes = (config.input_buffer_size(), config.output_buffer_size());
                    return Ok(Some(Either::B(WatchedConnection {
                        stream,
                        buffers: LazyBuffers::new(sizes.0, sizes.1),
                    })));
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or(Error::HostNotFound, Error::Io))
    }
}

/// Lets the kernel watch a connection.
fn watched(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, ASKED)?;
    sockopt::set_tcp_keepintvl(&stream, ASKED_AGAIN)?;
    sockopt::set_tcp_keepcnt(&stream, 4)?;
    // What was sent is answered for, too.
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(&stream, 5000)?;
    Ok(stream)
}

/// A connection.
struct WatchedConnection {
    stream: TcpStream,
    buffers: LazyBuffers,
}

impl Transport for WatchedConnection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        self.stream.set_write_timeout(left(&timeout))?;
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        let written = self.stream.write_all(output);
        written.map_err(|error| failed(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        self.stream.set_read_timeout(left(&timeout))?;
        let read = self.stream.read(self.buffers.input_append_buf());
        let read = read.map_err(|error| failed(error, &timeout))?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        let nothing = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let is_quiet = self.stream.set_nonblocking(true).is_ok()
            && self.stream.peek(&mut [0]).as_ref().is_err_and(nothing);
        self.stream.set_nonblocking(false).is_ok() && is_quiet
    }
}

fn left(timeout: &NextTimeout) -> Option<Duration> {
    timeout.not_zero().map(|left| *left)
}

/// A time that is over is told as one; that of the kernel says that nobody is there.
fn failed(error: io::Error, timeout: &NextTimeout) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}

impl fmt::Debug for WatchedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = self.stream.peer_addr().ok();
        f.debug_struct("WatchedConnection")
            .field("peer", &peer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn connections_are_watched() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = watched(TcpStream::connect(listener.local_addr().unwrap()).unwrap()).unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), ASKED);
        assert_eq!(sockopt::tcp_keepintvl(&stream).unwrap(), ASKED_AGAIN);
        #[cfg(target_os = "linux")]
        assert_eq!(
            u128::from(sockopt::tcp_user_timeout(&stream).unwrap()),
            SILENT.as_millis()
        );
    }

    #[test]
    fn whether_a_connection_is_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = WatchedConnection {
            stream: TcpStream::connect(listener.local_addr().unwrap()).unwrap(),
            buffers: LazyBuffers::new(16, 16),
        };
        let (mut other, _) = listener.accept().unwrap();
        assert!(connection.is_open());
        other.write_all(b"x").unwrap();
        let mut seen = [0];
        connection.stream.peek(&mut seen).unwrap();
        assert!(!connection.is_open(), "nobody has asked for that");
        connection.stream.read_exact(&mut seen).unwrap();
        drop(other);
        connection.stream.peek(&mut seen).unwrap();
        assert!(!connection.is_open(), "it has ended");
    }
}
