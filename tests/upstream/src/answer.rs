//! What each endpoint answers.

use bytes::Bytes;
use hyper::http::StatusCode;
use serde_json::Value;

use crate::body::Source;
use crate::call::{Call, Family, Verb};
use crate::error;
use crate::events::{Events, Framing};
use crate::fields::Fields;
use crate::fixture::{FIXTURES, PNG, Script};
use crate::resource;
use crate::steer::Steer;
use crate::template::{Template, Values};

/// The text of an answer that is not streamed.
const TEXT: &str = "pong";
/// The text of one delta.
const DELTA: &str = "pong ";
/// A stream's last events repeat its text as long as it is no longer than this.
const REPEATED_TEXT: usize = 1 << 20;

pub(crate) const JSON: &str = "application/json";
const SSE: &str = "text/event-stream; charset=utf-8";

/// A response before it is paced.
#[derive(Debug)]
pub struct Answer {
    /// The status, unless the request asks for another.
    pub status: StatusCode,
    /// The `content-type`.
    pub content_type: &'static str,
    /// The value of the `x-sim` header.
    pub mark: Option<&'static str>,
    /// The body.
    pub source: Source,
}

impl Answer {
    /// A JSON answer, padded with spaces where it is shorter than asked for.
    pub fn json(body: impl Into<Bytes>, steer: &Steer) -> Self {
        let mut body = body.into();
        if let Some(size) = steer.body_bytes.filter(|size| *size > body.len()) {
            let mut padded = Vec::from(body);
            padded.resize(size, b' ');
            body = padded.into();
        }
        Self {
            status: StatusCode::OK,
            content_type: JSON,
            mark: None,
            source: Source::Whole(body),
        }
    }

    /// An error of this family.
    pub fn error(
        family: Family,
        status: StatusCode,
        message: &str,
        id: u64,
        steer: &Steer,
    ) -> Self {
        Self {
            status,
            ..Self::json(error::body(family, status, message, id), steer)
        }
    }

    /// The answer to `call`, whose body says `fields`.
    pub fn to(call: &Call, fields: &Fields, steer: &Steer, id: u64) -> Self {
        let play = Player { fields, steer, id };
        let stream = fields.stream == Some(true);
        match call {
            Call::Chat if stream && play.wants_usage() => play.stream(&FIXTURES.chat_stream_usage),
            Call::Chat if stream => play.stream(&FIXTURES.chat_stream),
            Call::Chat => play.whole(&FIXTURES.chat),
            Call::Responses if stream => play.stream(&FIXTURES.responses_stream),
            Call::Responses => play.whole(&FIXTURES.responses),
            Call::Images { edit: false } if stream => {
                play.images(&FIXTURES.image_generation_stream)
            }
            Call::Images { edit: true } if stream => play.images(&FIXTURES.image_edit_stream),
            Call::Images { .. } => play.items(
                &FIXTURES.images,
                &format!(r#"{{"b64_json":"{PNG}"}}"#),
                fields.n,
            ),
            Call::Messages if stream => play.stream(&FIXTURES.messages_stream),
            Call::Messages => play.whole(&FIXTURES.messages),
            Call::CountTokens => play.whole(&FIXTURES.count_tokens),
            Call::Model { model, verb } => play.verb(model, *verb),
            Call::Resource(path) => Self::json(resource::get(path, id), steer),
            Call::Unknown(family) => Self {
                mark: Some("unknown-path"),
                ..Self::error(
                    *family,
                    StatusCode::NOT_FOUND,
                    "The simulator knows no such path.",
                    id,
                    steer,
                )
            },
        }
    }
}

/// Fills the fixtures for one request.
struct Player<'a> {
    fields: &'a Fields,
    steer: &'a Steer,
    id: u64,
}

impl Player<'_> {
    fn wants_usage(&self) -> bool {
        self.fields
            .stream_options
            .as_ref()
            .and_then(|options| options.include_usage)
            == Some(true)
    }

    fn values(&self, text: &str) -> Values {
        let model = self.fields.model.as_deref().unwrap_or("sim-model");
        Values {
            id: self.id,
            model: quoted(model),
            text: quoted(text),
            ..Values::default()
        }
    }

    /// A JSON answer whose text is as long as asked for.
    fn whole(&self, template: &Template) -> Answer {
        let mut values = self.values(TEXT);
        let mut body = template.fill(&values);
        if let Some(missing) = self
            .steer
            .body_bytes
            .and_then(|size| size.checked_sub(body.len()))
        {
            values.text = quoted(&(TEXT.to_owned() + &"x".repeat(missing)));
            body = template.fill(&values);
        }
        Answer::json(body, self.steer)
    }

    fn items(&self, template: &Template, item: &str, count: Option<u64>) -> Answer {
        let count = count.unwrap_or(1).clamp(1, 1000);
        let items = vec![item; usize::try_from(count).unwrap_or(1)].join(",");
        let values = Values {
            items: format!("[{items}]"),
            ..self.values(TEXT)
        };
        Answer::json(template.fill(&values), self.steer)
    }

    fn stream(&self, script: &'static Script) -> Answer {
        let delta = self.delta(DELTA);
        let whole = usize::try_from(self.steer.events)
            .ok()
            .and_then(|events| events.checked_mul(delta.len()));
        let text = match whole {
            Some(size) if size <= REPEATED_TEXT => delta.repeat(size / delta.len().max(1)),
            _ => delta.clone(),
        };
        let values = Values {
            delta: quoted(&delta),
            ..self.values(&text)
        };
        self.play(script, Framing::Sse, SSE, values)
    }

    fn images(&self, script: &'static Script) -> Answer {
        let values = Values {
            delta: quoted(&self.delta(PNG)),
            ..self.values(PNG)
        };
        self.play(script, Framing::Sse, SSE, values)
    }

    fn verb(&self, model: &str, verb: Verb) -> Answer {
        let fields = Fields {
            model: Some(model.to_owned()),
            ..self.fields.clone()
        };
        let play = Player {
            fields: &fields,
            ..*self
        };
        let values = || Values {
            delta: quoted(&self.delta(DELTA)),
            ..play.values(TEXT)
        };
        match verb {
            Verb::Generate => play.whole(&FIXTURES.generate),
            Verb::Stream { sse: true } => play.play(
                &FIXTURES.generate_stream,
                Framing::Sse,
                "text/event-stream",
                values(),
            ),
            Verb::Stream { sse: false } => {
                play.play(&FIXTURES.generate_array, Framing::Array, JSON, values())
            }
            Verb::Count => play.whole(&FIXTURES.generate_count),
            Verb::Embed => play.whole(&FIXTURES.embed),
            Verb::EmbedBatch => {
                let count = fields
                    .requests
                    .as_ref()
                    .map(|requests| requests.len() as u64);
                play.items(
                    &FIXTURES.embed_batch,
                    r#"{"values":[0.25,-0.5,0.75]}"#,
                    count,
                )
            }
        }
    }

    fn play(
        &self,
        script: &'static Script,
        framing: Framing,
        kind: &'static str,
        values: Values,
    ) -> Answer {
        let events = Events::new(script, framing, values, self.steer.events);
        Answer {
            status: StatusCode::OK,
            content_type: kind,
            mark: None,
            source: Source::Events(Box::new(events)),
        }
    }

    fn delta(&self, usual: &str) -> String {
        self.steer
            .event_bytes
            .map_or_else(|| usual.to_owned(), |size| "x".repeat(size))
    }
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
