//! Connections of a server: how many there are, of one address and of all, and how long each may do nothing.
//!
//! A connection that says nothing, or says it slowly, is closed in time (`activity`). Where all places are taken, whoever has waited longest
//! for nothing makes room (`open`): so a crowd of connections keeps out nobody who has something to say, not even from the same address.

mod certificate;
mod connection_activity;
mod guarded;
mod open;

use core::convert::Infallible;
use core::error::Error;
use core::pin::pin;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::serve::Listener;
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

pub use certificate::{CertificateFiles, ServerCertificate, certificate_end};
pub use connection_activity::ConnectionTimeouts;
use connection_activity::{ActivityStream, ConnectionActivity};
use guarded::GuardedBody;
pub use guarded::ReceivedBody;
use open::ClientConnections;

/// The buffer of a connection, in bytes: the longest head of a request.
const BUFFER: usize = 64 * 1024;
/// The time for responses in progress when the server stops.
const LAST: Duration = Duration::from_secs(5);
/// The interval between checks of a connection.
const LOOK: Duration = Duration::from_secs(1);
/// The interval between checks of all connections when none could be closed.
const CROWDED: Duration = Duration::from_millis(100);

/// The limits of a server's connections: their number, and their timeouts.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// The most, including a free place for the next.
    pub most: usize,
    /// The most of one address.
    pub of_an_address: usize,
    /// The timeouts of each connection.
    pub timeouts: ConnectionTimeouts,
    /// Receives what becomes of them.
    pub watch: fn(ConnectionEvent),
}

/// An event in the life of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It is there.
    Opened,
    /// It is over, whatever ended it.
    Ended,
    /// It did nothing for too long, and is closed.
    TimedOut,
    /// It makes room for another one of its address.
    AddressCrowded,
    /// It makes room for another one.
    Crowded,
}

/// Serves until `stop`, then finishes the responses in progress; over TLS where there is a certificate.
pub async fn serve<L, H, F, B>(
    mut listener: L,
    limits: ConnectionLimits,
    certificate: Option<&ServerCertificate>,
    handler: H,
    stop: impl Future<Output = ()>,
) where
    L: Listener<Io = TcpStream, Addr = SocketAddr>,
    H: Fn(Request<ReceivedBody>, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut stop = pin!(stop);
    let (ending, ended) = watch::channel(false);
    let mut open = ClientConnections::new(limits);
    loop {
        tokio::select! {
            (stream, peer) = listener.accept(), if open.has_room() => {
                let activity = ConnectionActivity::new();
                let tls = certificate.map(ServerCertificate::acceptor);
                let conversation = begin((stream, peer), tls, handler.clone(), activity.clone(), limits, ended.clone());
                open.add(peer.ip(), activity, conversation);
            }
            () = open.one_ended() => {}
            // All are busy. One that stays busy is closed.
            () = sleep(CROWDED), if !open.has_room() => {}
            () = stop.as_mut() => break,
        }
        open.make_room();
    }
    drop(listener);
    let _ = ending.send(true);
    let _ = timeout(LAST, open.all_ended()).await;
}

/// Serves a router until `stop`, then finishes the responses in progress; over TLS where there is a certificate. A request has its peer's
/// address as [`ConnectInfo`].
pub async fn serve_router<L>(
    listener: L,
    limits: ConnectionLimits,
    certificate: Option<&ServerCertificate>,
    router: Router,
    stop: impl Future<Output = ()>,
) where
    L: Listener<Io = TcpStream, Addr = SocketAddr>,
{
    let handler = move |mut request: Request<ReceivedBody>, peer: SocketAddr| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let mut router = router.clone();
        async move {
            let Ok(response) = router.call(request).await;
            response
        }
    };
    serve(listener, limits, certificate, handler, stop).await;
}

/// Serves one connection, after its handshake if there is to be one.
async fn begin<H, F, B>(
    (stream, peer): (TcpStream, SocketAddr),
    tls: Option<TlsAcceptor>,
    handler: H,
    activity: ConnectionActivity,
    limits: ConnectionLimits,
    stop: watch::Receiver<bool>,
) where
    H: Fn(Request<ReceivedBody>, SocketAddr) -> F + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let _ = stream.set_nodelay(true);
    let stream = ActivityStream::new(stream, activity.clone());
    let Some(tls) = tls else {
        return converse(stream, peer, handler, activity, limits, stop).await;
    };
    match timeout(limits.timeouts.head, tls.accept(stream)).await {
        Ok(Ok(stream)) => converse(stream, peer, handler, activity, limits, stop).await,
        // It speaks no TLS, or trusts another authority.
        Ok(Err(_)) => {}
        Err(_) => (limits.watch)(ConnectionEvent::TimedOut),
    }
}

/// Serves one connection.
async fn converse<S, H, F, B>(
    stream: S,
    peer: SocketAddr,
    handler: H,
    activity: ConnectionActivity,
    limits: ConnectionLimits,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    H: Fn(Request<ReceivedBody>, SocketAddr) -> F + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let noted = activity.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let answering = noted.answering(request.body().is_end_stream());
        let request = request.map(|body| ReceivedBody::new(body, noted.clone()));
        let response = handler(request, peer);
        async move {
            let response = response.await;
            Ok::<_, Infallible>(response.map(|body| GuardedBody::new(body, answering)))
        }
    });
    let mut http = http1::Builder::new();
    // `activity` has the timeouts.
    http.header_read_timeout(None).max_buf_size(BUFFER);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = false;
    loop {
        tokio::select! {
            // An error means that the peer left.
            _ = connection.as_mut() => break,
            _ = stop.wait_for(|stop| *stop), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = look.tick() => if activity.is_over(limits.timeouts, Instant::now()) {
                (limits.watch)(ConnectionEvent::TimedOut);
                break;
            }
        }
    }
}
