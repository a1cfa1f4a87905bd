//! The kinds of exchange whose instructions are counted.

use crate::head;
use crate::payloads::{
    CHINESE, ModelPosition, chat_json, chat_json_of, chat_stream, escaped, generate_json,
    generate_prompt, generate_stream, messages_stream, prompt, prompt_of, prompt_with_numbers,
    prompt_with_tools, responses_stream,
};

/// The names of all kinds.
pub const KINDS: [&str; 15] = [
    "chat",
    "chat-first",
    "chat-100k",
    "chat-cjk",
    "chat-escaped",
    "chat-tools",
    "chat-numbers",
    "chat-stream",
    "responses-stream",
    "messages-stream",
    "generate-stream",
    "generate",
    "list",
    "refused",
    "model-not-found",
];

/// A kind of exchange.
#[derive(Debug)]
pub struct ExchangeKind {
    /// The name, one of `KINDS`.
    pub name: &'static str,
    /// The request's head, as [`head::handed_over`] makes it.
    pub head: Vec<u8>,
    /// Empty for none.
    pub body: Vec<u8>,
    /// The source's answer.
    pub answer: Vec<u8>,
    /// The status of our own reply, where the request goes no further.
    pub reply: Option<u16>,
}

const CHAT: &str = "/v1/chat/completions";
const KEY_A: (&str, &str) = ("authorization", "Bearer trilane-demo-a");
const KEY_B: (&str, &str) = ("x-api-key", "trilane-demo-b");
const KEY_C: (&str, &str) = ("x-goog-api-key", "trilane-demo-c");
const KILO: usize = 1024;

/// The kind of this name.
pub fn kind(name: &str) -> Option<ExchangeKind> {
    let name = KINDS.into_iter().find(|known| *known == name)?;
    let chat = |size, place, stream| prompt("gpt-5.1", size, place, stream);
    Some(match name {
        "chat" => passes(
            name,
            CHAT,
            KEY_A,
            chat(KILO, ModelPosition::Last, false),
            chat_json(KILO / 2),
        ),
        "chat-first" => passes(
            name,
            CHAT,
            KEY_A,
            chat(KILO, ModelPosition::First, false),
            chat_json(KILO / 2),
        ),
        "chat-100k" => passes(
            name,
            CHAT,
            KEY_A,
            chat(100 * KILO, ModelPosition::Last, false),
            chat_json(KILO / 2),
        ),
        "chat-cjk" => passes(
            name,
            CHAT,
            KEY_A,
            prompt_of(CHINESE, 100 * KILO),
            chat_json_of(CHINESE, 100 * KILO),
        ),
        "chat-escaped" => passes(
            name,
            CHAT,
            KEY_A,
            prompt_of(&escaped(CHINESE), 100 * KILO),
            chat_json_of(&escaped(CHINESE), 100 * KILO),
        ),
        "chat-tools" => passes(
            name,
            CHAT,
            KEY_A,
            prompt_with_tools(100 * KILO),
            chat_json(KILO / 2),
        ),
        "chat-numbers" => passes(
            name,
            CHAT,
            KEY_A,
            prompt_with_numbers(100 * KILO),
            chat_json(KILO / 2),
        ),
        "chat-stream" => passes(
            name,
            CHAT,
            KEY_A,
            chat(KILO, ModelPosition::Last, true),
            chat_stream(),
        ),
        "responses-stream" => passes(
            name,
            "/v1/responses",
            KEY_A,
            chat(KILO, ModelPosition::Last, true),
            responses_stream(),
        ),
        "messages-stream" => passes(
            name,
            "/v1/messages",
            KEY_B,
            prompt("claude-opus-4.5-20251101", KILO, ModelPosition::Last, true),
            messages_stream(),
        ),
        "generate-stream" => passes(
            name,
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            KEY_C,
            generate_prompt(),
            generate_stream(),
        ),
        "generate" => passes(
            name,
            "/v1beta/models/gemini-2.5-flash:generateContent",
            KEY_C,
            generate_prompt(),
            generate_json(),
        ),
        "list" => ends(name, "/v1/models", KEY_A, Vec::new(), 200),
        "refused" => ends(
            name,
            CHAT,
            ("authorization", "Bearer wrong"),
            chat(KILO, ModelPosition::Last, false),
            401,
        ),
        _ => ends(
            name,
            CHAT,
            KEY_A,
            prompt("gpt-0", KILO, ModelPosition::Last, false),
            404,
        ),
    })
}

/// Builds an exchange that is forwarded, and gets this answer.
fn passes(
    name: &'static str,
    path: &str,
    key: (&str, &str),
    body: Vec<u8>,
    answer: Vec<u8>,
) -> ExchangeKind {
    ExchangeKind {
        name,
        head: head::handed_over("POST", path, key, body.len()),
        body,
        answer,
        reply: None,
    }
}

/// Builds an exchange that the filter answers itself, with this status.
fn ends(
    name: &'static str,
    path: &str,
    key: (&str, &str),
    body: Vec<u8>,
    status: u16,
) -> ExchangeKind {
    let method = if body.is_empty() { "GET" } else { "POST" };
    ExchangeKind {
        name,
        head: head::handed_over(method, path, key, body.len()),
        body,
        answer: Vec::new(),
        reply: Some(status),
    }
}
