//! The mock's JSON answer: a chat completion with usage.

/// The JSON before and behind the text of the message.
const BODY: (&str, &str) = (
    concat!(
        r#"{"id":"chatcmpl-9k2","object":"chat.completion","created":1763700000,"model":"gpt-5.1-2025-11-13","#,
        r#""choices":[{"index":0,"message":{"role":"assistant","content":""#
    ),
    concat!(
        r#"","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":212,"completion_tokens":98,"total_tokens":310,"#,
        r#""prompt_tokens_details":{"cached_tokens":128,"audio_tokens":0},"#,
        r#""completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},"#,
        r#""service_tier":"default","system_fingerprint":null}"#
    ),
);
const TEXT: &str = "The quick brown fox jumps over the lazy dog. ";

/// The headers that a vendor behind a content delivery network sends beside those of every answer.
const VENDORS_HEADERS: &str = "date: Mon, 23 Nov 2026 12:00:00 GMT\r\n\
access-control-expose-headers: X-Request-ID\r\n\
openai-organization: org-of-the-operator\r\n\
openai-processing-ms: 412\r\n\
openai-project: proj_of_the_operator\r\n\
openai-version: 2020-10-01\r\n\
x-envoy-upstream-service-time: 431\r\n\
x-ratelimit-limit-requests: 10000\r\n\
x-ratelimit-limit-tokens: 30000000\r\n\
x-ratelimit-remaining-requests: 9999\r\n\
x-ratelimit-remaining-tokens: 29999310\r\n\
x-ratelimit-reset-requests: 6ms\r\n\
x-ratelimit-reset-tokens: 1ms\r\n\
cf-cache-status: DYNAMIC\r\n\
set-cookie: __cf_bm=JQhB7sZkq0v1; path=/; expires=Mon, 23-Nov-26 12:30:00 GMT; domain=.api.example; HttpOnly; Secure\r\n\
set-cookie: _cfuvid=7hYq2mK9pD4t; path=/; domain=.api.example; HttpOnly; Secure; SameSite=None\r\n\
strict-transport-security: max-age=31536000; includeSubDomains; preload\r\n\
x-content-type-options: nosniff\r\n\
server: cloudflare\r\n\
cf-ray: 9a2f1c3d4e5f6071-FRA\r\n\
alt-svc: h3=\":443\"; ma=86400\r\n";

/// The size and the headers of the requested answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonAnswer {
    /// Of its body. Less than the body has without any text counts as that.
    pub bytes: usize,
    /// Whether it has all the headers that a vendor sends.
    pub vendors_headers: bool,
}

impl JsonAnswer {
    /// Bytes of the usual one.
    pub const BYTES: usize = 1024;
}

impl Default for JsonAnswer {
    fn default() -> Self {
        Self {
            bytes: Self::BYTES,
            vendors_headers: false,
        }
    }
}

/// The answer with its head.
pub fn json_answer(asked: JsonAnswer) -> Vec<u8> {
    let (before, after) = BODY;
    let room = asked.bytes.saturating_sub(before.len() + after.len());
    let content = &TEXT.repeat(room / TEXT.len() + 1)[..room];
    let more = if asked.vendors_headers {
        VENDORS_HEADERS
    } else {
        ""
    };
    let length = before.len() + content.len() + after.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_mock";
    format!("{head}\r\n{more}content-length: {length}\r\n\r\n{before}{content}{after}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_json_of_so_many_bytes() {
        for bytes in [800, 1024, 100_000] {
            for vendors_headers in [false, true] {
                let answer = json_answer(JsonAnswer {
                    bytes,
                    vendors_headers,
                });
                let mut headers = [httparse::EMPTY_HEADER; 64];
                let mut response = httparse::Response::new(&mut headers);
                let head = response.parse(&answer).unwrap().unwrap();
                assert_eq!(answer.len() - head, bytes);
                let value: serde_json::Value = serde_json::from_slice(&answer[head..]).unwrap();
                assert_eq!(value["usage"]["total_tokens"], 310);
                let limits = response
                    .headers
                    .iter()
                    .filter(|header| header.name.starts_with("x-ratelimit-"));
                assert_eq!(limits.count(), if vendors_headers { 6 } else { 0 });
            }
        }
    }
}
