//! Protocol B: Messages.

use serde_json::{Value, json};

use super::ErrorFacts;
use crate::head::{Head, Occurrence};

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

/// Whether the version that a request names is taken: the constant by `strict` groups, any date by current ones, which may also
/// leave it out.
pub fn takes_version(head: &Head, strict: bool) -> bool {
    match version(head) {
        Err(ConflictingVersions) => false,
        Ok(None) => !strict,
        Ok(Some(value)) if strict => value == VERSION.as_bytes(),
        Ok(Some(value)) => is_date(value),
    }
}

/// A version header that is repeated, or two names for it with different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConflictingVersions;

/// The version that a request names, under either name; both must agree.
///
/// # Errors
/// They do not.
pub fn version(head: &Head) -> Result<Option<&[u8]>, ConflictingVersions> {
    let mut named = None;
    for name in VERSION_HEADERS {
        match head.single(name) {
            Occurrence::Absent => {}
            Occurrence::Repeated => return Err(ConflictingVersions),
            Occurrence::Once(value) => {
                if named.is_some_and(|other| other != value) {
                    return Err(ConflictingVersions);
                }
                named = Some(value);
            }
        }
    }
    Ok(named)
}

/// `YYYY-MM-DD`, in digits.
fn is_date(value: &[u8]) -> bool {
    value.len() == 10
        && value.iter().enumerate().all(|(i, b)| match i {
            4 | 7 => *b == b'-',
            _ => b.is_ascii_digit(),
        })
}
