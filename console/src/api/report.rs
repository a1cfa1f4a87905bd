//! Reports of failures that the request did not cause, to the operator of the console.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::cases::{ConsoleState, FailureReason};

/// Reports the reason that a response has.
pub async fn report(State(state): State<ConsoleState>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if let Some(FailureReason(reason)) = response.extensions().get() {
        (state.reporter.0)(reason);
    }
    response
}
