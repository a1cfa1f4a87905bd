//! The listener and its connections.

use core::convert::Infallible;
use core::pin::pin;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::answer;
use super::body::Held;
use super::pulse::Pulse;
use super::site::Site;

/// How many connections there may be. Further ones wait.
const CONNECTIONS: usize = 256;
/// What a connection holds of requests and answers, in bytes.
const BUFFER: usize = 64 * 1024;
/// How long answers may take that are on their way when the command ends.
const LAST: Duration = Duration::from_secs(5);
/// How often a connection is looked at.
const LOOK: Duration = Duration::from_secs(5);

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

/// Answers requests until `stop` says so, then finishes those that are on their way.
pub async fn serve(listener: TcpListener, site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let stopped = stop.clone();
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            (place, accepted) = next => match accepted {
                Ok((stream, _)) => {
                    let conversation = converse(stream, Arc::clone(&site), stopped.clone());
                    connections.spawn(async move {
                        conversation.await;
                        drop(place);
                    });
                }
                // Out of file descriptors, or the peer was too quick; the next one may do.
                Err(_) => sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
            () = ended(&mut stop) => break,
        }
    }
    drop(listener);
    let _ = timeout(LAST, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
}

/// Waits until `stop` says so.
async fn ended(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Serves one connection.
async fn converse(stream: TcpStream, site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let pulse = Pulse::new();
    let service = service_fn(|request: Request<Incoming>| {
        let site = Arc::clone(&site);
        let answering = pulse.answering();
        async move {
            let answer = answer::answer(&request, &site).await;
            let body = |bytes| Held::new(bytes, answer.busy, answering);
            Ok::<_, Infallible>(answer.response.map(body))
        }
    });
    let mut http = http1::Builder::new();
    // Nothing waits for long: see `pulse`.
    http.header_read_timeout(None).max_buf_size(BUFFER);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = false;
    loop {
        tokio::select! {
            // An error is a peer that left.
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
