//! `trilane explain`: the decision on a request, each step of it, and no key anywhere.

mod decisions;
mod found;
mod inputs;
mod own_access;
mod past;
mod sources;

/// Bodies of requests.
const CHAT: &str = r#"{"model":"gpt-5.1-2025-11-13","stream":true,"messages":[]}"#;
const OPUS: &str = r#"{"model":"claude-opus-4.5","max_tokens":1}"#;
/// The header without which protocol B refuses.
const VERSION: [&str; 2] = ["-H", "anthropic-version: 2023-06-01"];
