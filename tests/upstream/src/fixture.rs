//! The answers of the three protocols as templates, read from `fixtures/` at build time.

use std::sync::LazyLock;

use crate::template::Template;

/// The fixtures, cut once.
pub static FIXTURES: LazyLock<Fixtures> = LazyLock::new(Fixtures::load);

/// The events of one stream, each with the blank line that ends it, and other endings of it.
#[derive(Debug)]
pub struct Script {
    /// From the first to the last.
    pub events: Vec<Template>,
    /// An error in the middle.
    pub error: Template,
    /// Responses: the last event of one that failed.
    pub failed: Option<Template>,
    /// Responses: the last event of one that was stopped.
    pub incomplete: Option<Template>,
    /// Messages: the event with the last usage, with all usage so far.
    pub running: Option<Template>,
    /// The last event is an image.
    pub makes_images: bool,
}

impl Script {
    fn new(text: &str, error: &str) -> Self {
        Self {
            events: text.split_inclusive("\n\n").map(Template::new).collect(),
            error: Template::new(error),
            failed: None,
            incomplete: None,
            running: None,
            makes_images: false,
        }
    }

    /// The same with CRLF, which is what protocol C writes.
    fn crlf(text: &str, error: &str) -> Self {
        let crlf = |text: &str| Template::new(&text.replace('\n', "\r\n"));
        Self {
            events: text.split_inclusive("\n\n").map(crlf).collect(),
            ..Self::new("", &error.replace('\n', "\r\n"))
        }
    }

    /// The bare JSON of each event.
    fn json(text: &str, error: &str) -> Self {
        fn bare(event: &str) -> &str {
            event.trim_end().trim_start_matches("data: ")
        }
        let events = text.split_inclusive("\n\n").map(bare);
        Self {
            events: events.map(Template::new).collect(),
            ..Self::new("", bare(error))
        }
    }

    fn images(text: &str) -> Self {
        Self {
            makes_images: true,
            ..Self::new(text, include_str!("../fixtures/images-error.sse"))
        }
    }

    fn responses(text: &str) -> Self {
        let last = event_named(text, "response.completed");
        let renamed = |name| reworded(last, &[("response.completed", name)]);
        Self {
            failed: Some(Template::new(&failed(&renamed("response.failed")))),
            incomplete: Some(Template::new(&incomplete(&renamed("response.incomplete")))),
            ..Self::new(text, include_str!("../fixtures/responses-error.sse"))
        }
    }

    fn messages(text: &str) -> Self {
        let delta = event_named(text, "message_delta");
        let running = reworded(delta, &[("$ended", "$sofar")]);
        Self {
            running: Some(Template::new(&running)),
            ..Self::new(text, include_str!("../fixtures/messages-error.sse"))
        }
    }
}

fn event_named<'a>(text: &'a str, name: &str) -> &'a str {
    let name = format!("event: {name}\n");
    let mut events = text.split_inclusive("\n\n");
    events
        .find(|event| event.starts_with(&name))
        .unwrap_or_else(|| panic!("the fixture has no {name}"))
}

/// A response, or its last event, that failed.
fn failed(text: &str) -> String {
    const ERROR: &str = r#""error":{"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 1.5s."}"#;
    reworded(
        text,
        &[
            (COMPLETED, r#""status":"failed","background""#),
            (r#""error":null"#, ERROR),
            (r#""$usage""#, "null"),
        ],
    )
}

/// A response, or its last event, that was stopped.
fn incomplete(text: &str) -> String {
    reworded(
        text,
        &[
            (COMPLETED, r#""status":"incomplete","background""#),
            (
                r#""incomplete_details":null"#,
                r#""incomplete_details":{"reason":"max_output_tokens"}"#,
            ),
        ],
    )
}

/// The status of the response; its parts have one too.
const COMPLETED: &str = r#""status":"completed","background""#;

fn reworded(text: &str, words: &[(&str, &str)]) -> String {
    words.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "the fixture has no {old}");
        text.replace(old, new)
    })
}

/// One template per kind of answer.
#[derive(Debug)]
pub struct Fixtures {
    pub chat: Template,
    pub chat_stream: Script,
    pub chat_stream_usage: Script,
    pub responses: Template,
    pub responses_failed: Template,
    pub responses_incomplete: Template,
    pub responses_stream: Script,
    pub compaction: Template,
    pub input_tokens: Template,
    pub embeddings: Template,
    pub images: Template,
    pub image_generation_stream: Script,
    pub image_edit_stream: Script,
    pub messages: Template,
    pub messages_stream: Script,
    pub count_tokens: Template,
    pub generate: Template,
    pub generate_stream: Script,
    pub generate_array: Script,
    pub generate_count: Template,
    pub embed: Template,
    pub embed_batch: Template,
    pub model: Template,
}

impl Fixtures {
    fn load() -> Self {
        let whole = |text: &str| Template::new(text.trim_end());
        let chat = |text| Script::new(text, include_str!("../fixtures/chat-error.sse"));
        let responses = include_str!("../fixtures/responses.json").trim_end();
        let generate = include_str!("../fixtures/generate.sse");
        let generate_error = include_str!("../fixtures/generate-error.sse");
        Self {
            chat: whole(include_str!("../fixtures/chat.json")),
            chat_stream: chat(include_str!("../fixtures/chat.sse")),
            chat_stream_usage: chat(include_str!("../fixtures/chat-usage.sse")),
            responses: whole(responses),
            responses_failed: whole(&failed(responses)),
            responses_incomplete: whole(&incomplete(responses)),
            responses_stream: Script::responses(include_str!("../fixtures/responses.sse")),
            compaction: whole(include_str!("../fixtures/compaction.json")),
            input_tokens: whole(include_str!("../fixtures/input-tokens.json")),
            embeddings: whole(include_str!("../fixtures/embeddings.json")),
            images: whole(include_str!("../fixtures/images.json")),
            image_generation_stream: Script::images(include_str!(
                "../fixtures/images-generation.sse"
            )),
            image_edit_stream: Script::images(include_str!("../fixtures/images-edit.sse")),
            messages: whole(include_str!("../fixtures/messages.json")),
            messages_stream: Script::messages(include_str!("../fixtures/messages.sse")),
            count_tokens: whole(include_str!("../fixtures/count-tokens.json")),
            generate: whole(include_str!("../fixtures/generate.json")),
            generate_stream: Script::crlf(generate, generate_error),
            generate_array: Script::json(generate, generate_error),
            generate_count: whole(include_str!("../fixtures/count-tokens-c.json")),
            embed: whole(include_str!("../fixtures/embed.json")),
            embed_batch: whole(include_str!("../fixtures/embed-batch.json")),
            model: whole(include_str!("../fixtures/model.json")),
        }
    }
}

/// A valid PNG of one pixel, in base64.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
