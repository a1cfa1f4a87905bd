//! A request's head as Envoy hands it over: one buffer, by the proxy-wasm ABI.

use trilane::head::header_block;

/// The head of a request as an official SDK sends it, in that buffer. `key` is the header with the account key; a body
/// of no bytes is none.
pub fn handed_over(method: &str, path: &str, key: (&str, &str), body: usize) -> Vec<u8> {
    let length = body.to_string();
    let mut pairs = vec![
        (":authority", "gateway.example"),
        (":path", path),
        (":method", method),
        (":scheme", "https"),
        key,
        ("accept", "application/json"),
        ("content-type", "application/json"),
        ("user-agent", "OpenAI/Python 2.8.1"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("anthropic-version", "2023-06-01"),
        ("x-stainless-lang", "python"),
        ("x-stainless-package-version", "2.8.1"),
        ("x-stainless-os", "Linux"),
        ("x-stainless-arch", "x64"),
        ("x-stainless-runtime", "CPython"),
        ("x-stainless-runtime-version", "3.13.1"),
        ("x-stainless-retry-count", "0"),
        ("x-stainless-read-timeout", "600"),
        ("x-forwarded-proto", "https"),
        ("x-request-id", "5d4a3c2b-0f1e-4a5b-8c7d-9e8f7a6b5c4d"),
    ];
    if body > 0 {
        pairs.push(("content-length", &length));
    }
    header_block(&pairs)
}
