//! Listeners and connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::http::HeaderValue;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::exchange::{self, Listener};
use crate::journal::Journal;
use crate::socket::Socket;
use crate::tls::{Acceptor, Handshake, Tls};

/// A listener to open: its name and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Names the simulated upstream.
    pub name: String,
    /// `host:port`.
    pub address: String,
    /// The TLS of the listener; without it the listener is plain.
    pub tls: Option<Tls>,
}

/// Bound listeners that share one journal.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Door>,
}

/// A bound listener.
#[derive(Debug)]
struct Door {
    socket: TcpListener,
    listener: Arc<Listener>,
    tls: Option<Acceptor>,
}

impl Server {
    /// Binds all addresses. The error says which could not be bound, or has no certificate, and what to do.
    pub async fn bind(addresses: &[Address], journal: bool) -> Result<Self, String> {
        let names: Vec<Arc<str>> = addresses
            .iter()
            .map(|address| address.name.as_str().into())
            .collect();
        let journal = Arc::new(Journal::new(journal, names.iter().cloned()));
        let mut listeners = Vec::new();
        for (index, (Address { address, tls, .. }, name)) in addresses.iter().zip(names).enumerate()
        {
            let tls = tls.as_ref().map(Acceptor::new).transpose()?;
            let socket = TcpListener::bind(address)
                .await
                .map_err(|error| cannot_bind(&name, address, &error))?;
            let label = HeaderValue::from_str(&name)
                .map_err(|_| format!("{name}: not a name for a header"))?;
            let journal = Arc::clone(&journal);
            let listener = Arc::new(Listener {
                name,
                label,
                index,
                journal,
            });
            listeners.push(Door {
                socket,
                listener,
                tls,
            });
        }
        Ok(Self { listeners })
    }

    /// Names and bound addresses, in the order given.
    pub fn addresses(&self) -> std::io::Result<Vec<(Arc<str>, SocketAddr)>> {
        let address =
            |door: &Door| Ok((Arc::clone(&door.listener.name), door.socket.local_addr()?));
        self.listeners.iter().map(address).collect()
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        let mut listeners = JoinSet::new();
        for door in self.listeners {
            listeners.spawn(accept(door));
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

async fn accept(door: Door) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = door.socket.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, Arc::clone(&door.listener), door.tls.clone()));
                }
                // Out of file descriptors, or the peer was too quick; the next one may do.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection.
async fn converse(stream: TcpStream, listener: Arc<Listener>, tls: Option<Acceptor>) {
    let _ = stream.set_nodelay(true);
    let reset = Arc::new(AtomicBool::new(false));
    let socket = Socket::new(stream, Arc::clone(&reset));
    match tls {
        None => speak(socket, listener, reset, None).await,
        // A failed handshake is the peer's affair.
        Some(tls) => {
            if let Ok((stream, handshake)) = tls.accept(socket).await {
                speak(stream, listener, reset, Some(Arc::new(handshake))).await;
            }
        }
    }
}

/// Speaks HTTP/1.1 or HTTP/2: the negotiated one, or as the first bytes say.
async fn speak<IO: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: IO,
    listener: Arc<Listener>,
    reset: Arc<AtomicBool>,
    tls: Option<Arc<Handshake>>,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    if tls.as_ref().is_some_and(|tls| tls.is_h1()) {
        builder = builder.http1_only();
    } else if tls.as_ref().is_some_and(|tls| tls.is_h2()) {
        builder = builder.http2_only();
    }
    let service = service_fn(|mut request: Request<Incoming>| {
        if let Some(tls) = &tls {
            request.extensions_mut().insert(Arc::clone(tls));
        }
        exchange::answer(request, Arc::clone(&listener), Arc::clone(&reset))
    });
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
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
