//! Protocol A: Responses and Chat Completions.

use serde_json::{Value, json};

use super::ErrorFacts;

/// The header that carries the key: `Bearer <key>`.
pub const KEY_HEADER: &str = "authorization";

/// The body of an error: `{"error": {"message", "type", "param", "code"}}`.
pub fn error_body(facts: &ErrorFacts<'_>) -> Value {
    json!({
        "error": {
            "message": facts.message,
            "type": error_type(facts),
            "param": facts.param,
            "code": facts.code,
        }
    })
}

/// The `type` of an error.
pub(super) fn error_type(facts: &ErrorFacts<'_>) -> &'static str {
    match (facts.status, facts.code) {
        (404, "images_not_supported" | "count_tokens_not_supported") => "not_found_error",
        (429, "insufficient_quota") => "insufficient_quota",
        (429, _) => "rate_limit_error",
        (500.., _) => "server_error",
        _ => "invalid_request_error",
    }
}
