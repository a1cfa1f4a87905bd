//! The listener and its connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;
use trilane_console::connections::{self, ConnectionLimits, ConnectionTimeouts};

/// The connections. A loader sends a head in one piece; the slowest one polls every minute.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 257,
    of_an_address: 257,
    timeouts: ConnectionTimeouts {
        head: Duration::from_secs(5),
        idle: Duration::from_secs(90),
        answer: Duration::from_secs(30),
        renewed: false,
    },
    watch: |_| {},
};

/// Opens a listener. Returns its address as well.
///
/// # Errors
/// The reason that it cannot listen, and the remedy.
pub async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), String> {
    let opened = TcpListener::bind(address).await;
    let opened = opened.and_then(|listener| {
        let at = listener.local_addr()?;
        Ok((listener, at))
    });
    opened.map_err(|error| {
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
pub async fn serve(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    connections::serve_router(listener, LIMITS, None, router, stopped).await;
}
