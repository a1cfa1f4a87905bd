//! A listener that takes the connections of some addresses alone.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

use crate::cases::Reporter;

/// The interval between two reports of connections that were closed: whoever connects must not fill the log.
const REPORTS: Duration = Duration::from_secs(60);

/// Closes connections from other addresses before anything is read of them.
#[derive(Debug)]
pub struct PeerListener {
    listener: TcpListener,
    /// Those that may connect; `None`: everybody.
    peers: Option<Vec<IpAddr>>,
    reporter: Reporter,
    reported: Option<Instant>,
}

impl PeerListener {
    /// Listens for these addresses, or for everybody. What it closes is reported, at most once a minute.
    pub fn new(listener: TcpListener, peers: Option<Vec<IpAddr>>, reporter: Reporter) -> Self {
        Self {
            listener,
            peers,
            reporter,
            reported: None,
        }
    }

    fn takes(&self, peer: IpAddr) -> bool {
        let peers = self.peers.as_ref();
        peers.is_none_or(|peers| peers.contains(&peer.to_canonical()))
    }

    fn report(&mut self, peer: IpAddr) {
        if self.reported.is_some_and(|at| at.elapsed() < REPORTS) {
            return;
        }
        self.reported = Some(Instant::now());
        let peers = self.peers.iter().flatten().map(IpAddr::to_string);
        let peers: Vec<String> = peers.collect();
        (self.reporter.0)(&format!(
            "a connection from {} was closed: only {} may connect",
            peer.to_canonical(),
            peers.join(", ")
        ));
    }
}

impl Listener for PeerListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            if self.takes(address.ip()) {
                return (stream, address);
            }
            drop(stream);
            self.report(address.ip());
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpSocket;

    use super::*;

    async fn connect(from: &str, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        socket.connect(to).await.unwrap()
    }

    #[tokio::test]
    async fn others_are_closed_and_reported_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let reporter = Reporter(Arc::new(move |text: &str| {
            kept.lock().unwrap().push(text.to_owned());
        }));
        let peers = vec!["127.0.0.1".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let mut listener = PeerListener::new(listener, Some(peers), reporter);
        let mut others = [
            connect("127.0.0.2", address).await,
            connect("127.0.0.4", address).await,
        ];
        for peer in ["127.0.0.1", "127.0.0.3"] {
            let _own = connect(peer, address).await;
            let (_, from) = listener.accept().await;
            assert_eq!(from.ip().to_string(), peer);
        }
        for other in &mut others {
            let read = other.read(&mut [0]).await;
            assert!(matches!(read, Ok(0) | Err(_)), "it is closed: {read:?}");
        }
        let want = "a connection from 127.0.0.2 was closed: only 127.0.0.1, 127.0.0.3 may connect";
        assert_eq!(*said.lock().unwrap(), [want]);
    }

    #[tokio::test]
    async fn without_addresses_everybody_may_connect() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut listener = PeerListener::new(listener, None, Reporter(Arc::new(|_: &str| {})));
        let _other = connect("127.0.0.2", address).await;
        let (_, from) = listener.accept().await;
        assert_eq!(from.ip().to_string(), "127.0.0.2");
    }
}
