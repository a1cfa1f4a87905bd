//! The endpoints, and what is fixed for each: one table.
//!
//! | endpoint | protocol |
//! |---|---|
//! | `GET /v1/models`, `GET /v1/models/{id}` | the credential's header decides |
//! | `GET /v1/usage` | the credential's header decides |
//! | `POST /v1/responses`, `/v1/responses/compact`, `/v1/responses/input_tokens`, `/v1/chat/completions`, `/v1/embeddings`, all of them also without `/v1` | A |
//! | `POST /v1/images/generations`, `/v1/images/edits` | A |
//! | `POST /v1/messages`, `/v1/messages/count_tokens`, `/messages`, `/messages/count_tokens` | B |
//! | `GET /v1beta/models`, `GET /v1beta/models/{id}`, `POST /v1beta/models/{model}:{method}`, `POST /v1/models/{model}:{method}`, `/v1beta/files/…` and the other [resources](super::resource) | C |
//!
//! [`match_request`](super::match_request) finds the endpoint of a method and path.

use std::borrow::Cow;

use super::entry::Protocol::{self, A, B, C};
use crate::usage::Wire;

/// The aim of a request, by its method and path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `GET /healthz`: is a policy in force?
    Health,
    /// `OPTIONS`, by which a browser asks what a script of a web page may send. No path leads here.
    Preflight,
    /// `GET /v1/models`.
    Models,
    /// `GET /v1/models/{id}`.
    Model {
        /// The model, percent-decoded.
        id: String,
    },
    /// `GET /v1beta/models`.
    GenerateModels,
    /// `GET /v1beta/models/{id}`.
    GenerateModel {
        /// The model, percent-decoded.
        id: String,
    },
    /// `GET /v1/usage`: what is left of the key's limits.
    Usage,
    /// `POST /v1/responses` and its alias.
    Responses,
    /// `POST /v1/responses/compact` and its alias.
    Compact,
    /// `POST /v1/responses/input_tokens` and its alias.
    InputTokens,
    /// `POST /v1/chat/completions` and its alias.
    ChatCompletions,
    /// `POST /v1/embeddings` and its alias.
    Embeddings,
    /// `POST /v1/images/generations`.
    ImagesGenerations,
    /// `POST /v1/images/edits`.
    ImagesEdits,
    /// `POST /v1/messages` and its alias.
    Messages,
    /// `POST /v1/messages/count_tokens` and its alias.
    CountTokens,
    /// `POST /v1beta/models/{model}:{method}`.
    Generate {
        /// The model, percent-decoded, without `models/`.
        model: String,
        /// `generateContent`, `streamGenerateContent`, `countTokens`, … : ASCII letters only. Which of them a group
        /// serves is for the admission to say.
        method: String,
        /// Whether the client wrote `/v1/models/…`, as newer SDKs of protocol C do.
        under_v1: bool,
    },
    /// State of the upstream account that no model runs for (files, caches, …): see [`resource`](super::resource).
    AccountResource,
    /// `POST /v1beta/cachedContents`: input that a model reads once, for later requests.
    CreateCache,
}

/// The fixed properties of an endpoint: its row of the table.
#[derive(Debug)]
pub struct EndpointSpec {
    /// The name in records; empty for the methods of protocol C, which have their own.
    name: &'static str,
    /// The HTTP methods, as an `allow` header lists them; those of an [`AccountResource`](Endpoint::AccountResource) hang
    /// on its path.
    pub methods: &'static str,
    /// The protocol, and with it the [entry](Protocol::entry) of a Mixed group; `None` where the credential's header
    /// decides.
    pub protocol: Option<Protocol>,
    /// The list of models that is answered here.
    pub list: Option<ListKind>,
    /// The capability that a group must allow.
    pub needs: Option<Permission>,
    /// The place in which the request names its model.
    pub model: ModelPlace,
    /// Whether the body may be a form (multipart) as well as JSON.
    pub takes_forms: bool,
    /// The path upstream.
    upstream: UpstreamPath,
    /// The form in which the response reports usage; `None` where it is not metered.
    pub usage: Option<Wire>,
    /// The operation, where usage is metered.
    pub operation: Option<Operation>,
}

/// A list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// All of them, or a page.
    All,
    /// One model.
    One,
}

/// A capability that a group's source must allow before an endpoint is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Images are made.
    Images,
    /// Tokens are counted.
    CountTokens,
    /// The method of protocol C is served.
    Method,
    /// State of the upstream account is open to its keys.
    AccountResources,
}

/// The place in which a request names its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPlace {
    /// Nowhere: nothing is forwarded.
    Nowhere,
    /// In the path; the body may repeat it.
    Path,
    /// In the body.
    Body,
    /// In the body, if there is one and it names a model at all.
    Optional,
}

/// The path that the upstream is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpstreamPath {
    /// None: the gateway answers.
    Nothing,
    /// The same one, whatever alias the client used.
    Fixed(&'static str),
    /// The method of a model.
    Method,
    /// The client's own.
    AsSent,
}

/// An operation of OpenTelemetry's conventions for generative AI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A conversation of protocol A or B, or its compaction.
    Chat,
    /// Images are made.
    ImageGeneration,
    /// Content of protocol C is generated.
    GenerateContent,
    /// Texts are embedded: nothing is written.
    Embeddings,
    /// Input is read into a cache of protocol C: nothing is written.
    CreateCache,
}

impl Operation {
    /// Whether a model only reads: nothing is written.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Embeddings | Self::CreateCache)
    }

    /// The value of `gen_ai.operation.name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::ImageGeneration => "image_generation",
            Self::GenerateContent => "generate_content",
            Self::Embeddings => "embeddings",
            Self::CreateCache => "create_cache",
        }
    }
}

/// The common properties of most endpoints that are answered here.
const ANSWERED: EndpointSpec = EndpointSpec {
    name: "",
    methods: "GET",
    protocol: None,
    list: None,
    needs: None,
    model: ModelPlace::Nowhere,
    takes_forms: false,
    upstream: UpstreamPath::Nothing,
    usage: None,
    operation: None,
};

/// The same of those that are forwarded.
const FORWARDED: EndpointSpec = EndpointSpec {
    methods: "POST",
    model: ModelPlace::Body,
    upstream: UpstreamPath::AsSent,
    ..ANSWERED
};

/// The same of the methods of protocol C.
const METHOD: EndpointSpec = EndpointSpec {
    protocol: Some(C),
    needs: Some(Permission::Method),
    model: ModelPlace::Path,
    upstream: UpstreamPath::Method,
    usage: Some(Wire::Generate),
    ..FORWARDED
};

impl Endpoint {
    /// Returns the row of the table for this endpoint.
    #[rustfmt::skip]
    pub fn spec(&self) -> &'static EndpointSpec {
        use {ListKind::{All, One}, Operation::{Chat, Embeddings, GenerateContent, ImageGeneration}};
        use {Permission::{AccountResources, CountTokens, Images}, UpstreamPath::Fixed};
        match self {
            Self::Health => &EndpointSpec { name: "healthz", methods: "GET, HEAD", ..ANSWERED },
            Self::Preflight => &EndpointSpec { name: "preflight", methods: "OPTIONS", ..ANSWERED },
            Self::Models => &EndpointSpec { name: "models", list: Some(All), ..ANSWERED },
            Self::Model { .. } => &EndpointSpec { name: "model", list: Some(One), ..ANSWERED },
            Self::GenerateModels => &EndpointSpec { name: "models", protocol: Some(C), list: Some(All), ..ANSWERED },
            Self::GenerateModel { .. } => &EndpointSpec { name: "model", protocol: Some(C), list: Some(One), ..ANSWERED },
            Self::Usage => &EndpointSpec { name: "usage", ..ANSWERED },
            Self::Responses => &EndpointSpec {
                name: "responses", protocol: Some(A), upstream: Fixed("/v1/responses"),
                usage: Some(Wire::Responses), operation: Some(Chat), ..FORWARDED
            },
            Self::ChatCompletions => &EndpointSpec {
                name: "chat_completions", protocol: Some(A), upstream: Fixed("/v1/chat/completions"),
                usage: Some(Wire::Chat), operation: Some(Chat), ..FORWARDED
            },
            Self::Compact => &EndpointSpec {
                name: "responses_compact", protocol: Some(A), upstream: Fixed("/v1/responses/compact"),
                usage: Some(Wire::Compaction), operation: Some(Chat), ..FORWARDED
            },
            Self::InputTokens => &EndpointSpec {
                name: "responses_input_tokens", protocol: Some(A), upstream: Fixed("/v1/responses/input_tokens"), ..FORWARDED
            },
            Self::Embeddings => &EndpointSpec {
                name: "embeddings", protocol: Some(A), upstream: Fixed("/v1/embeddings"),
                usage: Some(Wire::Embeddings), operation: Some(Embeddings), ..FORWARDED
            },
            Self::ImagesGenerations => &EndpointSpec {
                name: "images_generations", protocol: Some(A), needs: Some(Images), upstream: Fixed("/v1/images/generations"),
                usage: Some(Wire::Images), operation: Some(ImageGeneration), ..FORWARDED
            },
            Self::ImagesEdits => &EndpointSpec {
                name: "images_edits", protocol: Some(A), needs: Some(Images), upstream: Fixed("/v1/images/edits"),
                takes_forms: true, usage: Some(Wire::Images), operation: Some(ImageGeneration), ..FORWARDED
            },
            Self::Messages => &EndpointSpec {
                name: "messages", protocol: Some(B), upstream: Fixed("/v1/messages"),
                usage: Some(Wire::Messages), operation: Some(Chat), ..FORWARDED
            },
            Self::CountTokens => &EndpointSpec {
                name: "count_tokens", protocol: Some(B), needs: Some(CountTokens),
                upstream: Fixed("/v1/messages/count_tokens"), ..FORWARDED
            },
            Self::Generate { method, .. } if method == "countTokens" => &EndpointSpec { usage: None, ..METHOD },
            Self::Generate { method, .. } if is_embedding(method) => &EndpointSpec { operation: Some(Embeddings), ..METHOD },
            Self::Generate { .. } => &EndpointSpec { operation: Some(GenerateContent), ..METHOD },
            Self::AccountResource => &EndpointSpec {
                name: "account_resource", protocol: Some(C), needs: Some(AccountResources), model: ModelPlace::Optional, ..FORWARDED
            },
            Self::CreateCache => &EndpointSpec {
                name: "create_cache", protocol: Some(C), needs: Some(AccountResources),
                usage: Some(Wire::CachedContent), operation: Some(Operation::CreateCache), ..FORWARDED
            },
        }
    }

    /// The protocol the endpoint belongs to; `None` where the credential's header decides.
    pub fn protocol(&self) -> Option<Protocol> {
        self.spec().protocol
    }

    /// The name in records: that of the path's last part, for protocol C the method's.
    pub fn name(&self) -> &str {
        self.method().unwrap_or_else(|| self.spec().name)
    }

    /// The model that the path names, percent-decoded.
    pub fn path_model(&self) -> Option<&str> {
        match self {
            Self::Model { id } | Self::GenerateModel { id } => Some(id),
            Self::Generate { model, .. } => Some(model),
            _ => None,
        }
    }

    /// The method of protocol C that is called.
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Generate { method, .. } => Some(method),
            _ => None,
        }
    }

    /// Whether `path`, which led to this endpoint, is a spelling that only groups for current clients take.
    pub fn is_for_current_clients(&self, path: &[u8]) -> bool {
        match self {
            Self::Generate { under_v1, .. } => *under_v1,
            _ => self.protocol() == Some(B) && !path.starts_with(b"/v1/"),
        }
    }

    /// The path to ask the upstream for, `model` being its name there.
    ///
    /// `None` where the client's own path goes on, or where nothing is forwarded.
    pub fn upstream_path(&self, model: &str) -> Option<Cow<'static, str>> {
        match self.spec().upstream {
            UpstreamPath::Fixed(path) => Some(Cow::Borrowed(path)),
            UpstreamPath::Method => Some(Cow::Owned(format!(
                "/v1beta/models/{model}:{}",
                self.name()
            ))),
            UpstreamPath::AsSent | UpstreamPath::Nothing => None,
        }
    }
}

/// Whether a method of protocol C embeds, now or under a name to come.
fn is_embedding(method: &str) -> bool {
    // Nearly all are these.
    if matches!(method, "generateContent" | "streamGenerateContent") {
        return false;
    }
    let mut parts = method.as_bytes().windows(b"embed".len());
    parts.any(|part| part.eq_ignore_ascii_case(b"embed"))
}

#[cfg(test)]
mod tests;
