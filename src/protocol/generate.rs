//! Protocol C: native generate-content.

use serde_json::{Value, json};

use super::ErrorFacts;

/// The headers that carry the key: the neutral name and the vendor's.
pub const KEY_HEADERS: [&str; 2] = ["x-vc-api-key", "x-goog-api-key"];

/// The domain of this gateway's reasons in `google.rpc.ErrorInfo`.
const DOMAIN: &str = "trilane";

/// The body of an error: `{"error": {"code", "message", "status", "details"}}` (`google.rpc.Status`
/// as JSON), the gateway's code being the reason of an `ErrorInfo`.
pub fn error_body(facts: &ErrorFacts<'_>) -> Value {
    json!({
        "error": {
            "code": facts.status,
            "message": facts.message,
            "status": error_status(facts.status),
            "details": error_details(facts.code),
        }
    })
}

/// The `details` of an error: one `google.rpc.ErrorInfo`.
pub(super) fn error_details(code: &str) -> Value {
    json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": code,
        "domain": DOMAIN,
    }])
}

/// The `status` of an error (`google.rpc.Code`).
pub(super) fn error_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        405 | 426 => "UNIMPLEMENTED",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        501.. => "UNAVAILABLE",
        _ => "INVALID_ARGUMENT",
    }
}
