//! What each endpoint answers.

use bytes::Bytes;
use hyper::http::StatusCode;

use crate::body::Source;
use crate::call::{Call, Family, Verb};
use crate::error;
use crate::fields::Fields;
use crate::fixture::FIXTURES;
use crate::form::Form;
use crate::player::Player;
use crate::resource;
use crate::scenario::Shape;
use crate::steer::Steer;

/// The content type of JSON.
pub(crate) const JSON: &str = "application/json";

/// Marks the answer to instructions that make no sense.
const REFUSAL: &str = "bad-instruction";

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
            source: Source::Whole(body, None),
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

    /// The answer to instructions that make no sense.
    pub fn refusal(family: Family, problem: &str, id: u64, steer: &Steer) -> Self {
        Self {
            mark: Some(REFUSAL),
            ..Self::error(family, StatusCode::BAD_REQUEST, problem, id, steer)
        }
    }

    /// Whether it says that the instructions make no sense.
    pub fn is_refusal(&self) -> bool {
        self.mark == Some(REFUSAL)
    }

    /// The answer to `call`, whose body says `fields`.
    pub fn to(call: &Call, fields: &Fields, steer: &Steer, id: u64) -> Self {
        let shape = shape(call, fields);
        let fits = match form(call) {
            Some(form) => steer.scenario.fits(form, shape),
            None => steer.scenario.fits_plain(false),
        };
        if !fits {
            let problem = "x-sim-scenario: not for this answer";
            return Self::refusal(call.family(), problem, id, steer);
        }
        let play = Player { fields, steer, id };
        let stream = shape != Shape::Json;
        match call {
            Call::Chat if stream && play.appends_usage() => play.chat(&FIXTURES.chat_stream_usage),
            Call::Chat if stream => play.chat(&FIXTURES.chat_stream),
            Call::Chat => play.whole(Form::Chat, &FIXTURES.chat),
            Call::Responses if stream => play.stream(Form::Responses, &FIXTURES.responses_stream),
            Call::Responses => play.response(),
            Call::Images { edit: false } if stream => {
                play.images(&FIXTURES.image_generation_stream)
            }
            Call::Images { edit: true } if stream => play.images(&FIXTURES.image_edit_stream),
            Call::Images { .. } => play.image_list(),
            Call::Messages if stream => play.stream(Form::Messages, &FIXTURES.messages_stream),
            Call::Messages => play.whole(Form::Messages, &FIXTURES.messages),
            Call::CountTokens => play.plain(&FIXTURES.count_tokens),
            Call::Model { model, verb } => {
                let fields = Fields {
                    model: Some(model.clone()),
                    ..fields.clone()
                };
                let fields = &fields;
                Player { fields, ..play }.verb(*verb)
            }
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

/// The form of this call's usage, if it has any.
fn form(call: &Call) -> Option<Form> {
    match call {
        Call::Chat => Some(Form::Chat),
        Call::Responses => Some(Form::Responses),
        Call::Images { .. } => Some(Form::Images),
        Call::Messages => Some(Form::Messages),
        Call::Model { verb, .. } => match verb {
            Verb::Generate | Verb::Stream { .. } => Some(Form::Generate),
            Verb::Embed | Verb::EmbedBatch => Some(Form::Embed),
            Verb::Count => None,
        },
        Call::CountTokens | Call::Resource(_) | Call::Unknown(_) => None,
    }
}

fn shape(call: &Call, fields: &Fields) -> Shape {
    match call {
        Call::Model { verb, .. } => match verb {
            Verb::Stream { sse: true } => Shape::Sse,
            Verb::Stream { sse: false } => Shape::Array,
            _ => Shape::Json,
        },
        Call::Chat | Call::Responses | Call::Images { .. } | Call::Messages
            if fields.stream == Some(true) =>
        {
            Shape::Sse
        }
        _ => Shape::Json,
    }
}
