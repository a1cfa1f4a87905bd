//! Serves the API and the pages.

use core::future::Future;
use core::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::{Router, middleware};

use crate::api;
use crate::cases::{ApiProblem, ConsoleState};
use crate::connections::{self, ConnectionLimits, ConnectionTimeouts, ServerCertificate};
use crate::peer_listener::PeerListener;
use crate::store::Workload;
use crate::{client_address, counted, metrics, pages};

/// All that the console serves.
pub fn router(state: ConsoleState) -> Router {
    let report = middleware::from_fn_with_state(state.clone(), api::report);
    let pages = pages::router(state.clone()).layer(report);
    let addresses = middleware::from_fn_with_state(state.proxies.clone(), client_address::find);
    api::router(state)
        .reset_fallback()
        .merge(pages)
        .fallback(not_found)
        .layer(middleware::from_fn(as_workload))
        .layer(middleware::from_fn(metrics::count_requests))
        .layer(addresses)
}

/// Handles a request with the connections of its workload.
async fn as_workload(request: Request, next: Next) -> Response {
    let workload = Workload::of_request(request.method(), request.uri().path());
    workload.scope(next.run(request)).await
}

/// Makes the response at a path that no route has: JSON below `/api`, a page elsewhere.
async fn not_found(request: Request) -> Response {
    if request.uri().path().starts_with("/api") {
        ApiProblem::not_found().into_response()
    } else {
        pages::not_found(request.headers())
    }
}

/// The connections: agents ask every second or two, and a part of a page that somebody looks at is sent every five. A proxy in front has
/// one address, and a connection for each of what it passes on.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 1024,
    of_an_address: 512,
    timeouts: ConnectionTimeouts {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        answer: Duration::from_secs(60),
        renewed: true,
    },
    watch: |event| counted::counted().connection(event),
};

/// Serves until `stop`, then finishes the responses in progress; over TLS where there is a certificate.
pub async fn serve(
    listener: PeerListener,
    certificate: Option<ServerCertificate>,
    state: ConsoleState,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let live = state.live.clone();
    let stop = async move {
        stop.await;
        live.end();
    };
    connections::serve_router(listener, LIMITS, certificate.as_ref(), router(state), stop).await;
}
