//! The currency of a page: of amounts that name none, such as budgets and what is not spent yet.

use core::future::Future;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::cases::{ConsoleState, documents};

tokio::task_local! {
    static CURRENCY: String;
}

/// Makes the page in the currency of the document in force.
pub async fn of_document(
    State(state): State<ConsoleState>,
    request: Request,
    next: Next,
) -> Response {
    // Where the database is away, the page itself says so.
    let currency = documents::currency(&state).await.unwrap_or_default();
    scope(currency, next.run(request)).await
}

/// Makes a part of a page in this currency.
pub async fn scope<F: Future>(currency: String, making: F) -> F::Output {
    CURRENCY.scope(currency, making).await
}

/// The currency of the page that is being made; empty where no document in force has one.
pub fn current() -> String {
    CURRENCY.try_with(String::clone).unwrap_or_default()
}
