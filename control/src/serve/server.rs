//! The listener and its connections.

use core::convert::Infallible;
use core::future::pending;
use core::pin::pin;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::body::PacedBody;
use super::pulse::{self, Noted, Pulse};
use super::response;
use super::site::ServedPaths;

/// The most connections, including a free one for the next.
const CONNECTIONS: usize = 257;
/// The buffer of a connection, in bytes.
const BUFFER: usize = 64 * 1024;
/// The time for responses in progress when the command stops.
const LAST: Duration = Duration::from_secs(5);
/// The interval between checks of a connection.
const LOOK: Duration = Duration::from_secs(1);
/// The interval between checks of all connections when none could be closed.
const CROWDED: Duration = Duration::from_millis(100);

/// Opens the listener.
///
/// # Errors
/// Why not, and what to do.
pub async fn bind(address: &str) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "stop the process that listens there, or give port 0 to get a free one"
            }
            io::ErrorKind::PermissionDenied => "take a port from 1024 on",
            io::ErrorKind::AddrNotAvailable => "take an address of this machine, such as 127.0.0.1",
            _ => "give it as HOST:PORT, such as 127.0.0.1:10091",
        };
        format!("cannot listen on {address}: {error}; {advice}")
    })
}

/// Serves until `stop`, then finishes the responses in progress.
pub async fn serve(listener: TcpListener, site: Arc<ServedPaths>, mut stop: watch::Receiver<bool>) {
    let stopped = stop.clone();
    let mut connections = Connections::default();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.has_room() => match accepted {
                Ok((stream, _)) => {
                    let pulse = Pulse::new();
                    let conversation = converse(stream, Arc::clone(&site), pulse.clone(), stopped.clone());
                    connections.add(pulse, conversation);
                }
                // Out of file descriptors, or the peer left; the next may succeed.
                Err(_) => sleep(Duration::from_millis(10)).await,
            },
            () = connections.one_ended() => {}
            // All are busy. One that stays busy is closed.
            () = sleep(CROWDED), if !connections.has_room() => {}
            () = ended(&mut stop) => break,
        }
        connections.make_room();
    }
    drop(listener);
    let _ = timeout(LAST, async {
        while connections.tasks.join_next().await.is_some() {}
    })
    .await;
}

/// The open connections.
#[derive(Debug, Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// Those that were not aborted.
    open: HashMap<task::Id, (Pulse, AbortHandle)>,
}

impl Connections {
    /// Whether another fits.
    fn has_room(&self) -> bool {
        self.open.len() < CONNECTIONS
    }

    fn add(&mut self, pulse: Pulse, conversation: impl Future<Output = ()> + Send + 'static) {
        let handle = self.tasks.spawn(conversation);
        self.open.insert(handle.id(), (pulse, handle));
    }

    /// Waits until one ends; forever if there is none.
    async fn one_ended(&mut self) {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
            None => pending().await,
        };
        self.open.remove(&id);
    }

    /// Closes a connection if all places are taken.
    fn make_room(&mut self) {
        if self.has_room() {
            return;
        }
        let all = self.open.iter().map(|(id, (pulse, _))| (*id, pulse));
        let spared = pulse::to_spare(all, Instant::now());
        if let Some((_, handle)) = spared.and_then(|id| self.open.remove(&id)) {
            handle.abort();
        }
    }
}

/// Waits until `stop` says so.
async fn ended(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Serves one connection.
async fn converse(
    stream: TcpStream,
    site: Arc<ServedPaths>,
    pulse: Pulse,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let stream = Noted::new(stream, pulse.clone());
    let service = service_fn(|request: Request<Incoming>| {
        let site = Arc::clone(&site);
        let answering = pulse.answering();
        async move {
            let answer = response::respond(&request, &site).await;
            let body = |bytes| PacedBody::new(bytes, answer.busy, answering);
            Ok::<_, Infallible>(answer.response.map(body))
        }
    });
    let mut http = http1::Builder::new();
    // `pulse` has the timeouts.
    http.header_read_timeout(None).max_buf_size(BUFFER);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = false;
    loop {
        tokio::select! {
            // An error means that the peer left.
            _ = connection.as_mut() => break,
            () = ended(&mut stop), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = look.tick() => if pulse.is_over(Instant::now()) {
                break;
            }
        }
    }
}
