//! The exchanges: what clients send and what model sources answer.

/// The names of all kinds.
pub const KINDS: [&str; 7] = [
    "chat",
    "chat-100k",
    "chat-stream",
    "messages-stream",
    "generate",
    "list",
    "refused",
];

/// Events of a stream.
const EVENTS: usize = 200;

/// A kind of exchange.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub head: Vec<(String, Vec<u8>)>,
    /// Empty for none.
    pub body: Vec<u8>,
    /// The source's answer.
    pub answer: Vec<u8>,
    /// The status of our own reply, where the request goes no further.
    pub reply: Option<u16>,
}

/// The kind of this name.
pub fn kind(name: &str) -> Option<Kind> {
    let name = KINDS.into_iter().find(|known| *known == name)?;
    let bearer = ("authorization", "Bearer trilane-demo-a");
    let chat = "/v1/chat/completions";
    let (path, key, body, answer, reply) = match name {
        "chat" => (chat, bearer, prompt("gpt-5.1", 1_024, false), chat_json(), None),
        "chat-100k" => (chat, bearer, prompt("gpt-5.1", 102_400, false), chat_json(), None),
        "chat-stream" => (chat, bearer, prompt("gpt-5.1", 1_024, true), chat_stream(), None),
        "messages-stream" => (
            "/v1/messages",
            ("x-api-key", "trilane-demo-b"),
            prompt("claude-opus-4.5-20251101", 1_024, true),
            messages_stream(),
            None,
        ),
        "generate" => (
            "/v1beta/models/gemini-2.5-flash:generateContent",
            ("x-goog-api-key", "trilane-demo-c"),
            br#"{"contents":[{"role":"user","parts":[{"text":"The quick brown fox.\nAgain."}]}]}"#.to_vec(),
            br#"{"candidates":[{"content":{"parts":[{"text":"It jumps."}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3,"totalTokenCount":15},"modelVersion":"gemini-2.5-flash"}"#.to_vec(),
            None,
        ),
        "list" => ("/v1/models", bearer, Vec::new(), Vec::new(), Some(200)),
        _ => (chat, ("authorization", "Bearer wrong"), prompt("gpt-5.1", 1_024, false), Vec::new(), Some(401)),
    };
    let method = if body.is_empty() { "GET" } else { "POST" };
    Some(Kind {
        name,
        head: head(method, path, key, body.len()),
        body,
        answer,
        reply,
    })
}

/// A head as an official SDK sends it and Envoy hands it over.
fn head(method: &str, path: &str, key: (&str, &str), length: usize) -> Vec<(String, Vec<u8>)> {
    let length = length.to_string();
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
    if method == "POST" {
        pairs.push(("content-length", &length));
    }
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .collect()
}

/// A prompt of about so many bytes, the model at its end, where most SDKs put it or nearly so.
fn prompt(model: &str, size: usize, stream: bool) -> Vec<u8> {
    let message = r#"{"role":"user","content":"The quick brown fox jumps over the lazy dog.\nThen \"Again!\", and so on."},"#;
    let messages = message.repeat((size / message.len()).max(1));
    let messages = messages.trim_end_matches(',');
    format!(r#"{{"messages":[{messages}],"max_tokens":1024,"stream":{stream},"model":"{model}"}}"#)
        .into_bytes()
}

fn chat_json() -> Vec<u8> {
    let text = "The quick brown fox jumps over the lazy dog.\\n".repeat(12);
    format!(
        concat!(
            r#"{{"id":"chatcmpl-9k2","object":"chat.completion","created":1763700000,"model":"gpt-5.1-2025-11-13","#,
            r#""choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}","refusal":null}},"#,
            r#""logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":212,"completion_tokens":98,"#,
            r#""total_tokens":310,"prompt_tokens_details":{{"cached_tokens":128}},"#,
            r#""completion_tokens_details":{{"reasoning_tokens":20}}}},"service_tier":"default"}}"#
        ),
        text = text
    )
    .into_bytes()
}

fn chat_stream() -> Vec<u8> {
    let delta = concat!(
        r#"data: {"id":"chatcmpl-9k2","object":"chat.completion.chunk","created":1763700000,"model":"gpt-5.1-2025-11-13","#,
        r#""service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" the quick\n"},"#,
        r#""logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Xk2"}"#,
        "\n\n"
    );
    let end = concat!(
        r#"data: {"id":"chatcmpl-9k2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        "\n\n",
        r#"data: {"id":"chatcmpl-9k2","choices":[],"usage":{"prompt_tokens":212,"completion_tokens":200,"total_tokens":412}}"#,
        "\n\ndata: [DONE]\n\n"
    );
    (delta.repeat(EVENTS) + end).into_bytes()
}

fn messages_stream() -> Vec<u8> {
    let start = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5-20251101","#,
        r#""content":[],"stop_reason":null,"usage":{"input_tokens":25,"cache_read_input_tokens":1024,"output_tokens":1}}}"#,
        "\n\n"
    );
    let delta = concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the quick brown fox"}}"#,
        "\n\n"
    );
    let end = concat!(
        "event: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":200}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n"
    );
    format!("{start}{}{end}", delta.repeat(EVENTS)).into_bytes()
}
