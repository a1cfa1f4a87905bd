//! Listeners and connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hyper::http::HeaderValue;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::exchange::{self, Listener};
use crate::journal::Journal;
use crate::socket::Socket;

/// A listener to open: its name and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Names the simulated upstream.
    pub name: String,
    /// `host:port`.
    pub address: String,
}

/// Bound listeners that share one journal.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<(TcpListener, Arc<Listener>)>,
}

impl Server {
    /// Binds all addresses. The error says which could not be bound and what to do.
    pub async fn bind(addresses: &[Address], journal: bool) -> Result<Self, String> {
        let names: Vec<Arc<str>> = addresses
            .iter()
            .map(|address| address.name.as_str().into())
            .collect();
        let journal = Arc::new(Journal::new(journal, names.iter().cloned()));
        let mut listeners = Vec::new();
        for (index, (Address { address, .. }, name)) in addresses.iter().zip(names).enumerate() {
            let socket = TcpListener::bind(address)
                .await
                .map_err(|error| cannot_bind(&name, address, &error))?;
            let label = HeaderValue::from_str(&name)
                .map_err(|_| format!("{name}: not a name for a header"))?;
            let journal = Arc::clone(&journal);
            listeners.push((
                socket,
                Arc::new(Listener {
                    name,
                    label,
                    index,
                    journal,
                }),
            ));
        }
        Ok(Self { listeners })
    }

    /// Names and bound addresses, in the order given.
    pub fn addresses(&self) -> std::io::Result<Vec<(Arc<str>, SocketAddr)>> {
        let address = |(socket, listener): &(TcpListener, Arc<Listener>)| {
            Ok((Arc::clone(&listener.name), socket.local_addr()?))
        };
        self.listeners.iter().map(address).collect()
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        let mut listeners = JoinSet::new();
        for (socket, listener) in self.listeners {
            listeners.spawn(accept(socket, listener));
        }
        while listeners.join_next().await.is_some() {}
    }
}

fn cannot_bind(name: &str, address: &str, error: &std::io::Error) -> String {
    let advice = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "stop the process that listens there, or give port 0 to get a free one"
        }
        std::io::ErrorKind::PermissionDenied => "take a port from 1024 on",
        std::io::ErrorKind::AddrNotAvailable => {
            "take an address of this machine, such as 127.0.0.1"
        }
        _ => "give it as IP:PORT, such as 127.0.0.1:9101",
    };
    format!("cannot listen on {address} for {name}: {error}; {advice}")
}

async fn accept(socket: TcpListener, listener: Arc<Listener>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(converse(stream, Arc::clone(&listener)))),
                // Out of file descriptors, or the peer was too quick; the next one may do.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection, HTTP/1.1 or HTTP/2 as its first bytes say.
async fn converse(stream: TcpStream, listener: Arc<Listener>) {
    let _ = stream.set_nodelay(true);
    let reset = Arc::new(AtomicBool::new(false));
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(&reset)));
    let service =
        service_fn(|request| exchange::answer(request, Arc::clone(&listener), Arc::clone(&reset)));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        // The gateway adds some to what a client sends; a limit here would only confuse.
        .max_headers(256);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(10_000)
        .initial_stream_window_size(1 << 20)
        // One slow stream shall not stop its neighbours.
        .initial_connection_window_size(64 << 20)
        .max_header_list_size(256 << 10)
        // Every cut is a reset, so many of them are no attack.
        .max_local_error_reset_streams(None)
        .max_pending_accept_reset_streams(None);
    // An error is a peer that left, or a cut: both stand in the journal.
    let _ = builder.serve_connection(socket, service).await;
}
