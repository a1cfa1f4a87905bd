//! Counts requests.

use std::time::Instant;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use crate::counted::counted;

/// Counts a request and how long it took.
pub async fn count_requests(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let class = class(request.uri().path());
    let response = next.run(request).await;
    counted().request(class, response.status().as_u16(), begun.elapsed());
    response
}

/// The class of a route, whatever the rest of its path is.
fn class(path: &str) -> &'static str {
    let under = |prefix: &str| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if under("/api/v1/feed") {
        "feed"
    } else if under("/api/v1/ledger") {
        "ledger"
    } else if under("/api/v1/envoys") && path.ends_with("/report") {
        "report"
    } else if under("/api") {
        "api"
    } else if path == "/healthz" {
        "health"
    } else if under("/assets") {
        "asset"
    } else {
        "page"
    }
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn classes() {
        for (path, want) in [
            ("/", "page"),
            ("/keys/k", "page"),
            ("/apis", "page"),
            ("/api/v1/keys", "api"),
            ("/api/v1/nothing", "api"),
            ("/api/v1/feed/keys", "feed"),
            ("/api/v1/ledger/e/f", "ledger"),
            ("/api/v1/envoys/e/report", "report"),
            ("/api/v1/envoys/e", "api"),
            ("/healthz", "health"),
            ("/assets/console.css", "asset"),
        ] {
            assert_eq!(class(path), want, "{path}");
        }
    }
}
