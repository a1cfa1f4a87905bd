//! The endpoint and the protocol that a request is for.

use hyper::Method;
use hyper::http::HeaderMap;

/// One of the three protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `/v1/responses`, `/v1/chat/completions`, embeddings, images.
    A,
    /// `/v1/messages`.
    B,
    /// `/v1beta/…`.
    C,
}

/// A method of a model of protocol C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `:generateContent`
    Generate,
    /// `:streamGenerateContent`; `sse` as the query says.
    Stream {
        /// Server-sent events, not a JSON array.
        sse: bool,
    },
    /// `:countTokens`
    Count,
    /// `:embedContent`
    Embed,
    /// `:batchEmbedContents`
    EmbedBatch,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulatedEndpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/responses`
    Responses,
    /// `/v1/responses/compact`
    Compact,
    /// `/v1/responses/input_tokens`
    InputTokens,
    /// `/v1/embeddings`
    Embeddings,
    /// `/v1/images/generations` or `/v1/images/edits`.
    Images {
        /// It is the latter.
        edit: bool,
    },
    /// `/v1/messages`
    Messages,
    /// `/v1/messages/count_tokens`
    CountTokens,
    /// `/v1beta/models/{model}:{verb}`
    Model {
        /// The model, as in the path.
        model: String,
        /// The method to call on the model.
        verb: Verb,
    },
    /// Anything else under `/v1beta/`; the path without that prefix.
    Resource(String),
    /// No endpoint of any protocol.
    Unknown(Family),
}

impl SimulatedEndpoint {
    /// Reads the request line; the headers only tell whose error an unknown path gets.
    pub fn of(method: &Method, path: &str, query: Option<&str>, headers: &HeaderMap) -> Self {
        let post = method == Method::POST;
        match path {
            "/v1/chat/completions" if post => Self::Chat,
            "/v1/responses" if post => Self::Responses,
            "/v1/responses/compact" if post => Self::Compact,
            "/v1/responses/input_tokens" if post => Self::InputTokens,
            "/v1/embeddings" if post => Self::Embeddings,
            "/v1/images/generations" if post => Self::Images { edit: false },
            "/v1/images/edits" if post => Self::Images { edit: true },
            "/v1/messages" if post => Self::Messages,
            "/v1/messages/count_tokens" if post => Self::CountTokens,
            _ => match path.strip_prefix("/v1beta/") {
                Some(rest) => Self::under_v1beta(method, rest, query),
                None => Self::Unknown(family(path, headers)),
            },
        }
    }

    fn under_v1beta(method: &Method, rest: &str, query: Option<&str>) -> Self {
        let (name, verb) = match rest.rsplit_once(':').or_else(|| rest.rsplit_once("%3A")) {
            Some((name, verb)) if method == Method::POST => (name, verb),
            Some(_) => return Self::Unknown(Family::C),
            None if [Method::GET, Method::POST, Method::PATCH, Method::DELETE].contains(method) => {
                return Self::Resource(rest.to_owned());
            }
            None => return Self::Unknown(Family::C),
        };
        let sse = query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
        let verb = match verb {
            "generateContent" => Verb::Generate,
            "streamGenerateContent" => Verb::Stream { sse },
            "countTokens" => Verb::Count,
            "embedContent" => Verb::Embed,
            "batchEmbedContents" => Verb::EmbedBatch,
            _ => return Self::Unknown(Family::C),
        };
        match name.strip_prefix("models/") {
            Some(model) if !model.is_empty() => Self::Model {
                model: model.to_owned(),
                verb,
            },
            _ => Self::Unknown(Family::C),
        }
    }

    /// The protocol that this call speaks.
    pub fn family(&self) -> Family {
        match self {
            Self::Chat
            | Self::Responses
            | Self::Compact
            | Self::InputTokens
            | Self::Embeddings
            | Self::Images { .. } => Family::A,
            Self::Messages | Self::CountTokens => Family::B,
            Self::Model { .. } | Self::Resource(_) => Family::C,
            Self::Unknown(family) => *family,
        }
    }

    /// Whether its body is a JSON object that decides the answer.
    pub fn reads_body(&self) -> bool {
        !matches!(self, Self::Resource(_) | Self::Unknown(_))
    }
}

fn family(path: &str, headers: &HeaderMap) -> Family {
    if path.starts_with("/v1beta") || path.starts_with("/v1/models/") && path.contains(':') {
        Family::C
    } else if path.starts_with("/v1/messages") {
        Family::B
    } else if headers.contains_key("x-goog-api-key") {
        Family::C
    } else if headers.contains_key("anthropic-version") || headers.contains_key("x-api-key") {
        Family::B
    } else {
        Family::A
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_endpoint() {
        let model = |verb| SimulatedEndpoint::Model {
            model: "m".to_owned(),
            verb,
        };
        for (line, call) in [
            ("POST /v1/responses", SimulatedEndpoint::Responses),
            ("GET /v1/responses", SimulatedEndpoint::Unknown(Family::A)),
            (
                "POST /v1/messages/batches",
                SimulatedEndpoint::Unknown(Family::B),
            ),
            (
                "POST /v1beta/models/m:generateContent",
                model(Verb::Generate),
            ),
            ("POST /v1beta/models/m%3AcountTokens", model(Verb::Count)),
            (
                "POST /v1beta/models/m:streamGenerateContent",
                model(Verb::Stream { sse: false }),
            ),
            (
                "POST /v1beta/models/m:streamGenerateContent?x=1&alt=sse",
                model(Verb::Stream { sse: true }),
            ),
            (
                "POST /v1beta/models/m:predict",
                SimulatedEndpoint::Unknown(Family::C),
            ),
            (
                "POST /v1/models/m:generateContent",
                SimulatedEndpoint::Unknown(Family::C),
            ),
            (
                "GET /v1beta/files",
                SimulatedEndpoint::Resource("files".to_owned()),
            ),
            ("GET /nothing", SimulatedEndpoint::Unknown(Family::A)),
        ] {
            let (method, target) = line.split_once(' ').unwrap();
            let (path, query) = target
                .split_once('?')
                .map_or((target, None), |(path, query)| (path, Some(query)));
            assert_eq!(
                SimulatedEndpoint::of(&method.parse().unwrap(), path, query, &HeaderMap::new()),
                call,
                "{line}"
            );
        }
    }
}
