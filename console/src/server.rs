//! Serves the API.

use core::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::api::{ConsoleState, router};

/// Serves until `stop`, then finishes the responses in progress.
///
/// # Errors
/// The listener fails.
pub async fn serve(
    listener: TcpListener,
    state: ConsoleState,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let service = router(state).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service)
        .with_graceful_shutdown(stop)
        .await
}
