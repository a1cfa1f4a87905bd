//! The headers of every page.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// Only what is ours, nothing inline, and in nobody's frame.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds the headers of a page.
pub async fn on_pages(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    add(&mut response);
    response
}

/// Adds the headers of a page.
pub fn add(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (VARY, "cookie"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
