//! Errors in the shape of each protocol.

use bytes::Bytes;
use hyper::http::StatusCode;
use serde_json::{Value, json};

use crate::call::Family;

/// The body of an error: what each vendor answers with this status.
pub fn body(family: Family, status: StatusCode, message: &str, id: u64) -> Bytes {
    let value = match family {
        Family::A => shape_a(status.as_u16(), message),
        Family::B => shape_b(status.as_u16(), message, id),
        Family::C => shape_c(status.as_u16(), message),
    };
    Bytes::from(value.to_string())
}

/// Returns a vendor's error text about the account behind the gateway; no client may see any of it.
pub fn leak(family: Family, status: StatusCode) -> String {
    const SECRET: &str = "sk-upstream-secret";
    match (family, status.as_u16()) {
        (Family::A, 401) => format!(
            "Incorrect API key provided: {SECRET}. You can find your API key at https://vendor.example/keys."
        ),
        (Family::B, 401) => format!("invalid x-api-key: {SECRET}"),
        (Family::C, 401) => format!("API key not valid: {SECRET}. Please pass a valid API key."),
        (Family::C, 403) => format!("Consumer 'api_key:{SECRET}' has been suspended."),
        _ => format!("Organization org-{SECRET} does not have access to this."),
    }
}

fn shape_a(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        402 => ("insufficient_quota", Some("insufficient_quota")),
        404 => ("invalid_request_error", Some("not_found")),
        413 => ("invalid_request_error", Some("request_too_large")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        502 => ("server_error", Some("bad_gateway")),
        503 => ("server_error", Some("server_is_overloaded")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn shape_b(status: u16, message: &str, id: u64) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": format!("sim-{id}")})
}

fn shape_c(status: u16, message: &str) -> Value {
    let name = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        501 => "UNIMPLEMENTED",
        504 => "DEADLINE_EXCEEDED",
        502.. => "UNAVAILABLE",
        _ => "INVALID_ARGUMENT",
    };
    let mut error = json!({"code": status, "message": message, "status": name});
    if status == 429 {
        error["details"] =
            json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}]);
    }
    json!({"error": error})
}
