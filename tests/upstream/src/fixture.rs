//! The answers of the three protocols as templates, read from `fixtures/` at build time.

use std::sync::LazyLock;

use crate::template::Template;

/// The fixtures, cut once.
pub static FIXTURES: LazyLock<Fixtures> = LazyLock::new(Fixtures::load);

/// The events of one stream, each with the blank line that ends it.
#[derive(Debug)]
pub struct Script(pub Vec<Template>);

impl Script {
    fn new(text: &str) -> Self {
        Self(text.split_inclusive("\n\n").map(Template::new).collect())
    }

    /// The same with CRLF, which is what protocol C writes.
    fn crlf(text: &str) -> Self {
        Self(
            text.split_inclusive("\n\n")
                .map(|event| Template::new(&event.replace('\n', "\r\n")))
                .collect(),
        )
    }

    /// The bare JSON of each event.
    fn json(text: &str) -> Self {
        let events = text
            .split_inclusive("\n\n")
            .map(|event| event.trim_end().trim_start_matches("data: "));
        Self(events.map(Template::new).collect())
    }
}

/// One template per kind of answer.
#[derive(Debug)]
pub struct Fixtures {
    pub chat: Template,
    pub chat_stream: Script,
    pub chat_stream_usage: Script,
    pub responses: Template,
    pub responses_stream: Script,
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
        Self {
            chat: whole(include_str!("../fixtures/chat.json")),
            chat_stream: Script::new(include_str!("../fixtures/chat.sse")),
            chat_stream_usage: Script::new(include_str!("../fixtures/chat-usage.sse")),
            responses: whole(include_str!("../fixtures/responses.json")),
            responses_stream: Script::new(include_str!("../fixtures/responses.sse")),
            images: whole(include_str!("../fixtures/images.json")),
            image_generation_stream: Script::new(include_str!("../fixtures/images-generation.sse")),
            image_edit_stream: Script::new(include_str!("../fixtures/images-edit.sse")),
            messages: whole(include_str!("../fixtures/messages.json")),
            messages_stream: Script::new(include_str!("../fixtures/messages.sse")),
            count_tokens: whole(include_str!("../fixtures/count-tokens.json")),
            generate: whole(include_str!("../fixtures/generate.json")),
            generate_stream: Script::crlf(include_str!("../fixtures/generate.sse")),
            generate_array: Script::json(include_str!("../fixtures/generate.sse")),
            generate_count: whole(include_str!("../fixtures/count-tokens-c.json")),
            embed: whole(include_str!("../fixtures/embed.json")),
            embed_batch: whole(include_str!("../fixtures/embed-batch.json")),
            model: whole(include_str!("../fixtures/model.json")),
        }
    }
}

/// A valid PNG of one pixel, in base64.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
