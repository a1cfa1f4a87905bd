//! Protocol B: Messages.

use serde_json::{Value, json};

use super::ErrorFacts;

/// The header that carries the key.
pub const KEY_HEADER: &str = "x-api-key";
/// The headers that carry the version: the neutral name and the vendor's.
pub const VERSION_HEADERS: [&str; 2] = ["vb-version", "anthropic-version"];
/// The version header that upstreams read.
pub const UPSTREAM_VERSION_HEADER: &str = "anthropic-version";
/// The version this gateway documents.
pub const VERSION: &str = "2023-06-01";

/// The body of an error:
/// `{"type": "error", "error": {"type", "message", "details"}, "request_id"}`.
pub fn error_body(facts: &ErrorFacts<'_>) -> Value {
    json!({
        "type": "error",
        "error": {
            "type": error_type(facts.status),
            "message": facts.message,
            "details": {"error_code": facts.code},
        },
        "request_id": facts.request_id,
    })
}

/// The `type` of an error.
pub(super) fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
