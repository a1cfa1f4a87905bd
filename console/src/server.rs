//! Serves the API and the pages.

use core::future::Future;
use std::io;
use std::net::SocketAddr;

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use axum::{Router, middleware};

use crate::api::{self, ApiProblem, ConsoleState};
use crate::peer_listener::PeerListener;
use crate::{client_address, metrics, pages};

/// All that the console serves.
pub fn router(state: ConsoleState) -> Router {
    let report = middleware::from_fn_with_state(state.clone(), api::report);
    let pages = pages::router(state.clone()).layer(report);
    let addresses = middleware::from_fn_with_state(state.proxies.clone(), client_address::find);
    api::router(state)
        .reset_fallback()
        .merge(pages)
        .fallback(not_found)
        .layer(middleware::from_fn(metrics::count_requests))
        .layer(addresses)
}

/// What is at no path: told in JSON below `/api`, and as a page elsewhere.
async fn not_found(request: Request) -> Response {
    if request.uri().path().starts_with("/api") {
        ApiProblem::not_found().into_response()
    } else {
        pages::not_found()
    }
}

/// Serves until `stop`, then finishes the responses in progress.
///
/// # Errors
/// The listener fails.
pub async fn serve(
    listener: PeerListener,
    state: ConsoleState,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let live = state.live.clone();
    let stop = async move {
        stop.await;
        live.end();
    };
    let service = router(state).into_make_service_with_connect_info::<SocketAddr>();
    // axum knows the peers' addresses of its own listeners and of those with a tap.
    axum::serve(listener.tap_io(|_| ()), service)
        .with_graceful_shutdown(stop)
        .await
}
