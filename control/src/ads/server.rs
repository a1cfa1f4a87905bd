//! Serves the streams.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::acknowledgement::{Acknowledged, Acknowledgements};
use super::discovery::DeltaDiscoveryRequest;
use super::frames::{FrameReader, frame};
use super::session::Session;
use super::snapshot::{ResourceKind, ResourceNames, Resources, Snapshot, SnapshotChanges};
use super::socket::SocketPlace;
use super::version::VersionKey;

/// The path of the service.
const PATH: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// The file of the versions' key, beside the socket.
const KEY: &str = "versions.key";
/// The number of messages that wait for an Envoy that does not read.
const WAITING: usize = 16;
/// The pause after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves clusters and secrets to an Envoy. It ends when this is dropped.
///
/// It listens from the first resources on: what an agent does not have, an Envoy that goes on would give up.
#[derive(Debug)]
pub struct AdsServer {
    shared: Arc<SharedState>,
    socket: SocketPlace,
    key: VersionKey,
    runtime: Handle,
    listener: Mutex<Option<AbortHandle>>,
}

#[derive(Debug)]
struct SharedState {
    snapshot: watch::Sender<Arc<Snapshot>>,
    acknowledgements: Acknowledgements,
    streams: AtomicU64,
}

impl AdsServer {
    /// Makes a server for this socket, in the present runtime. `tell` gets what Envoy rejects, a line each, whenever that is something else.
    ///
    /// # Errors
    /// The key of versions can be neither read nor made.
    pub fn new(
        socket: SocketPlace,
        tell: impl Fn(&[String]) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let key = socket.path().with_file_name(KEY);
        let opened = VersionKey::open(&key);
        let key = opened.map_err(|error| format!("cannot write {}: {error}", key.display()))?;
        Ok(Self {
            shared: Arc::new(SharedState {
                snapshot: watch::Sender::default(),
                acknowledgements: Acknowledgements::new(tell),
                streams: AtomicU64::default(),
            }),
            socket,
            key,
            runtime: Handle::current(),
            listener: Mutex::default(),
        })
    }

    /// The socket.
    pub fn socket(&self) -> &std::path::Path {
        self.socket.path()
    }

    /// Lets Envoy have these resources, and those that it has beside them.
    ///
    /// # Errors
    /// A cluster is none, or the socket cannot be opened.
    pub fn put(&self, resources: Resources) -> Result<SnapshotChanges, String> {
        let present = self.shared.snapshot.borrow().clone();
        let (next, changes) = present.next(resources, &self.key)?;
        self.shared.snapshot.send_replace(Arc::new(next));
        self.listen()?;
        Ok(changes)
    }

    /// Takes all other resources from Envoy than those of these names. Returns how many clusters go.
    pub fn keep_only(&self, names: &ResourceNames) -> usize {
        let present = self.shared.snapshot.borrow().clone();
        let next = present.only(names);
        let number = |of: &Snapshot| of.of(ResourceKind::Cluster).len();
        let gone = number(&present).saturating_sub(number(&next));
        self.shared.snapshot.send_replace(Arc::new(next));
        gone
    }

    /// Waits until Envoy has the clusters, if one is connected. `stop` waits for so long, and says whether to stop.
    pub fn wait(&self, stop: impl Fn(Duration) -> bool) -> Acknowledged {
        let wanted = self.shared.snapshot.borrow().clone();
        self.shared.acknowledgements.wait(&wanted, stop)
    }

    fn listen(&self) -> Result<(), String> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.is_some() {
            return Ok(());
        }
        let _within = self.runtime.enter();
        let socket = self.socket.listen();
        let socket = socket
            .map_err(|error| format!("cannot listen on {}: {error}", self.socket().display()))?;
        let task = self.runtime.spawn(accept(socket, Arc::clone(&self.shared)));
        *listener = Some(task.abort_handle());
        Ok(())
    }
}

impl Drop for AdsServer {
    fn drop(&mut self) {
        let listener = self.listener.get_mut();
        if let Some(task) = listener.unwrap_or_else(PoisonError::into_inner) {
            task.abort();
            let _ = std::fs::remove_file(self.socket.path());
        }
    }
}

async fn accept(listener: UnixListener, shared: Arc<SharedState>) {
    // The connections end with this task.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((connection, _)) => {
                connections.spawn(serve(connection, Arc::clone(&shared)));
            }
            // Such as too many open files.
            Err(_) => sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(connection: UnixStream, shared: Arc<SharedState>) {
    let respond = move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(request, shared)) }
    };
    let http = http2::Builder::new(TokioExecutor::new());
    // An Envoy that has nothing to say stays connected; one that is gone has closed its socket.
    let served = http.serve_connection(TokioIo::new(connection), service_fn(respond));
    let _ = served.await;
}

fn respond(request: Request<Incoming>, shared: Arc<SharedState>) -> Response<MessageBody> {
    let (messages, body) = mpsc::channel(WAITING);
    let is_known = request.method() == Method::POST && request.uri().path() == PATH;
    if is_known {
        tokio::spawn(stream(request.into_body(), messages, shared));
    }
    let mut response = Response::new(MessageBody { messages: body });
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/grpc"));
    if !is_known {
        headers.insert("grpc-status", HeaderValue::from_static("12")); // UNIMPLEMENTED
    }
    response
}

/// Carries one stream until its end.
async fn stream(body: Incoming, messages: mpsc::Sender<Frame<Bytes>>, shared: Arc<SharedState>) {
    let number = shared.streams.fetch_add(1, Ordering::Relaxed);
    let ended = converse(body, &messages, &shared, number).await;
    shared.acknowledgements.forget(number);
    let mut trailers = HeaderMap::new();
    let status = if ended.is_ok() { "0" } else { "3" }; // OK, INVALID_ARGUMENT
    trailers.insert("grpc-status", HeaderValue::from_static(status));
    let _ = messages.send(Frame::trailers(trailers)).await;
}

async fn converse(
    mut body: Incoming,
    messages: &mpsc::Sender<Frame<Bytes>>,
    shared: &SharedState,
    number: u64,
) -> Result<(), String> {
    let mut snapshot = shared.snapshot.subscribe();
    let (mut reader, mut session) = (FrameReader::default(), Session::default());
    loop {
        let mut is_due = false;
        tokio::select! {
            piece = body.frame() => {
                let Some(Ok(piece)) = piece else {
                    return Ok(());
                };
                if let Some(data) = piece.data_ref() {
                    reader.push(data);
                }
                while let Some(request) = reader.next::<DeltaDiscoveryRequest>()? {
                    is_due |= !request.is_acknowledgement();
                    if let Some(word) = session.receive(&request) {
                        shared.acknowledgements.note(number, word);
                    }
                }
            }
            changed = snapshot.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                is_due = true;
            }
        }
        if !is_due {
            continue;
        }
        let present = snapshot.borrow_and_update().clone();
        for message in session.due(&present) {
            if messages.send(Frame::data(frame(&message))).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// A body of messages that come when there is something to say.
struct MessageBody {
    messages: mpsc::Receiver<Frame<Bytes>>,
}

impl Body for MessageBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.messages.poll_recv(context).map(|frame| frame.map(Ok))
    }
}
