//! The vendors' rate limit headers, and what only a gateway may say.

use hyper::http::{HeaderMap, HeaderName, HeaderValue};

use crate::call::Family;

const A: [(&str, &str); 10] = [
    ("x-ratelimit-limit-requests", "500"),
    ("x-ratelimit-limit-tokens", "200000"),
    ("x-ratelimit-remaining-requests", "499"),
    ("x-ratelimit-remaining-tokens", "198766"),
    ("x-ratelimit-reset-requests", "120ms"),
    ("x-ratelimit-reset-tokens", "370ms"),
    ("x-ratelimit-limit-project-tokens", "1000000"),
    ("x-ms-ratelimit-remaining-tokens", "9999"),
    ("ratelimit-policy", "\"burst\";q=100;w=60"),
    ("ratelimit", "\"burst\";r=50;t=30"),
];
const B: [(&str, &str); 8] = [
    ("anthropic-ratelimit-requests-limit", "50"),
    ("anthropic-ratelimit-requests-remaining", "49"),
    ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:00Z"),
    ("anthropic-ratelimit-tokens-limit", "80000"),
    ("anthropic-ratelimit-tokens-remaining", "78000"),
    ("anthropic-ratelimit-tokens-reset", "2026-01-01T00:00:00Z"),
    ("anthropic-ratelimit-unified-status", "allowed"),
    ("anthropic-priority-input-tokens-limit", "5000"),
];

/// The gateway's own budget headers: a source that sends them must not be believed.
const FORGED: [(&str, &str); 2] = [
    ("x-trilane-budget-limit-month", "999999 XXX"),
    ("x-trilane-budget-remaining-month", "999999 XXX"),
];

/// Adds the headers that this family's vendor sends (that of protocol C sends none), and forged ones.
pub fn add(headers: &mut HeaderMap, family: Family) {
    let pairs: &[(&'static str, &'static str)] = match family {
        Family::A => &A,
        Family::B => &B,
        Family::C => &[],
    };
    for (name, value) in pairs.iter().chain(&FORGED) {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
}
