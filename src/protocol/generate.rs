//! Protocol C: native generate-content.

use serde_json::{Value, json};

use super::ErrorFacts;
use crate::limits::Window;

/// The headers that carry the key: the neutral name and the vendor's.
pub const KEY_HEADERS: [&str; 2] = ["x-vc-api-key", "x-goog-api-key"];

/// The methods of models that are served: all answer at once, and say what they used or use nothing. Others run a model
/// later or without a word of its usage (`batchGenerateContent`, `predictLongRunning`, `predict`, …).
pub const METHODS: [&str; 5] = [
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
];

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
            "details": error_details(facts),
        }
    })
}

/// The `details` of an error: a `google.rpc.ErrorInfo`, and for a quota that is used up how long to
/// wait (`RetryInfo`); for a budget also which one (`QuotaFailure`).
///
/// Clients take a day's quota for final, and any wait of more than five minutes. Without the time they
/// would ask for a month's budget again and again.
pub(super) fn error_details(facts: &ErrorFacts<'_>) -> Value {
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": facts.code,
        "domain": DOMAIN,
    });
    let failure = facts.quota.and_then(|quota| quota.spent).map(|window| {
        json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": quota_id(window), "description": facts.message}],
        })
    });
    let retry = facts.quota.map(|quota| {
        json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", quota.retry_after_s),
        })
    });
    Value::Array([info].into_iter().chain(failure).chain(retry).collect())
}

/// The id of a budget. Clients of this protocol take one that has `PerDay` in it for final.
fn quota_id(window: Window) -> &'static str {
    match window {
        Window::Day => "BudgetPerDay",
        Window::Month => "BudgetPerMonth",
    }
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
