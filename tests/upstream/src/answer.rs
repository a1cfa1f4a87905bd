//! The answers of each endpoint.

use bytes::Bytes;
use hyper::http::StatusCode;

use crate::body::BodySource;
use crate::call::{Family, SimulatedEndpoint, Verb};
use crate::error;
use crate::fields::RequestFields;
use crate::fixture::FIXTURES;
use crate::form::UsageForm;
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
pub struct UnpacedResponse {
    /// The status, unless the request asks for another.
    pub status: StatusCode,
    /// The `content-type`.
    pub content_type: &'static str,
    /// The value of the `x-sim` header.
    pub mark: Option<&'static str>,
    /// The body.
    pub source: BodySource,
}

impl UnpacedResponse {
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
            source: BodySource::Whole(body, None),
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
    pub fn to(call: &SimulatedEndpoint, fields: &RequestFields, steer: &Steer, id: u64) -> Self {
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
            SimulatedEndpoint::Chat if stream && play.appends_usage() => {
                play.chat(&FIXTURES.chat_stream_usage)
            }
            SimulatedEndpoint::Chat if stream => play.chat(&FIXTURES.chat_stream),
            SimulatedEndpoint::Chat => play.whole(UsageForm::Chat, &FIXTURES.chat),
            SimulatedEndpoint::Responses if stream => {
                play.stream(UsageForm::Responses, &FIXTURES.responses_stream)
            }
            SimulatedEndpoint::Responses => play.response(),
            SimulatedEndpoint::Compact => play.whole(UsageForm::Responses, &FIXTURES.compaction),
            SimulatedEndpoint::InputTokens => play.plain(&FIXTURES.input_tokens),
            SimulatedEndpoint::Embeddings => play.embeddings(),
            SimulatedEndpoint::Images { edit: false } if stream => {
                play.images(&FIXTURES.image_generation_stream)
            }
            SimulatedEndpoint::Images { edit: true } if stream => {
                play.images(&FIXTURES.image_edit_stream)
            }
            SimulatedEndpoint::Images { .. } => play.image_list(),
            SimulatedEndpoint::Messages if stream => {
                play.stream(UsageForm::Messages, &FIXTURES.messages_stream)
            }
            SimulatedEndpoint::Messages => play.whole(UsageForm::Messages, &FIXTURES.messages),
            SimulatedEndpoint::CountTokens => play.plain(&FIXTURES.count_tokens),
            SimulatedEndpoint::Model { model, verb } => {
                let fields = RequestFields {
                    model: Some(model.clone()),
                    ..fields.clone()
                };
                let fields = &fields;
                Player { fields, ..play }.verb(*verb)
            }
            SimulatedEndpoint::Resource(path) => Self::json(resource::get(path, id), steer),
            SimulatedEndpoint::Unknown(family) => Self {
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
fn form(call: &SimulatedEndpoint) -> Option<UsageForm> {
    match call {
        SimulatedEndpoint::Chat => Some(UsageForm::Chat),
        SimulatedEndpoint::Responses | SimulatedEndpoint::Compact => Some(UsageForm::Responses),
        SimulatedEndpoint::Embeddings => Some(UsageForm::Embeddings),
        SimulatedEndpoint::Images { .. } => Some(UsageForm::Images),
        SimulatedEndpoint::Messages => Some(UsageForm::Messages),
        SimulatedEndpoint::Model { verb, .. } => match verb {
            Verb::Generate | Verb::Stream { .. } => Some(UsageForm::Generate),
            Verb::Embed | Verb::EmbedBatch => Some(UsageForm::Embed),
            Verb::Count => None,
        },
        SimulatedEndpoint::CountTokens
        | SimulatedEndpoint::InputTokens
        | SimulatedEndpoint::Resource(_)
        | SimulatedEndpoint::Unknown(_) => None,
    }
}

fn shape(call: &SimulatedEndpoint, fields: &RequestFields) -> Shape {
    match call {
        SimulatedEndpoint::Model { verb, .. } => match verb {
            Verb::Stream { sse: true } => Shape::Sse,
            Verb::Stream { sse: false } => Shape::Array,
            _ => Shape::Json,
        },
        SimulatedEndpoint::Chat
        | SimulatedEndpoint::Responses
        | SimulatedEndpoint::Images { .. }
        | SimulatedEndpoint::Messages
            if fields.stream == Some(true) =>
        {
            Shape::Sse
        }
        _ => Shape::Json,
    }
}
