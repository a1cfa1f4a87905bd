//! Finds the endpoint that a request asks for.
//!
//! Paths are compared byte for byte, case matters, the query is no part of them. Envoy has
//! normalised them before: no dot segments, no repeated or escaped slashes.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::endpoint::Endpoint;
use super::entry::Protocol;
use super::{resource, unserved};

/// The reason why a request matches no endpoint of this gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// No endpoint has the path.
    UnknownPath {
        /// The protocol whose client seems to ask, where the path tells.
        protocol: Option<Protocol>,
        /// Advice on the client's base address, where the path shows it is wrong.
        advice: Option<&'static str>,
    },
    /// A vendor has such an endpoint, this gateway does not.
    NotServed {
        /// The protocol of the vendors that have it, where that is one.
        protocol: Option<Protocol>,
    },
    /// The path is known, the method is not one of its own.
    WrongMethod {
        /// The protocol of the path, where it tells.
        protocol: Option<Protocol>,
        /// The methods the path knows, as an `allow` header lists them.
        allow: &'static str,
    },
}

impl Mismatch {
    /// The protocol whose client seems to ask, where the path tells.
    pub fn protocol(&self) -> Option<Protocol> {
        match self {
            Self::UnknownPath { protocol, .. }
            | Self::NotServed { protocol }
            | Self::WrongMethod { protocol, .. } => *protocol,
        }
    }
}

/// Finds the endpoint that `method` and `path` (without its query) mean.
///
/// # Errors
/// [`Mismatch`], which is answered with 404 or 405.
pub fn match_request(method: &[u8], path: &[u8]) -> Result<Endpoint, Mismatch> {
    let unknown = || {
        let advice = base_address_advice(path);
        let known = unserved::owner(path).filter(|_| advice.is_none());
        Err(match known {
            Some(protocol) => Mismatch::NotServed { protocol },
            None => Mismatch::UnknownPath {
                protocol: family(path),
                advice,
            },
        })
    };
    let Ok(text) = core::str::from_utf8(path) else {
        return unknown();
    };
    let found = match_fixed_path(text).or_else(|| match_model_path(method, text));
    let (endpoint, allow) = match found {
        Some(endpoint) => {
            let allow = endpoint.spec().methods;
            (endpoint, allow)
        }
        None => match text.strip_prefix("/v1beta/").and_then(resource::methods) {
            Some(allow) if text == "/v1beta/cachedContents" && method == b"POST" => {
                (Endpoint::CreateCache, allow)
            }
            Some(allow) => (Endpoint::AccountResource, allow),
            None => return unknown(),
        },
    };
    if allow.split(", ").any(|m| m.as_bytes() == method) {
        Ok(endpoint)
    } else {
        Err(Mismatch::WrongMethod {
            protocol: endpoint.protocol(),
            allow,
        })
    }
}

/// The paths that are always the same.
fn match_fixed_path(path: &str) -> Option<Endpoint> {
    Some(match path {
        "/healthz" => Endpoint::Health,
        "/v1/models" => Endpoint::Models,
        "/v1/usage" => Endpoint::Usage,
        "/v1beta/models" => Endpoint::GenerateModels,
        "/v1/responses" | "/responses" => Endpoint::Responses,
        "/v1/responses/compact" | "/responses/compact" => Endpoint::Compact,
        "/v1/responses/input_tokens" | "/responses/input_tokens" => Endpoint::InputTokens,
        "/v1/chat/completions" | "/chat/completions" => Endpoint::ChatCompletions,
        "/v1/embeddings" | "/embeddings" => Endpoint::Embeddings,
        "/v1/images/generations" => Endpoint::ImagesGenerations,
        "/v1/images/edits" => Endpoint::ImagesEdits,
        "/v1/messages" | "/messages" => Endpoint::Messages,
        "/v1/messages/count_tokens" | "/messages/count_tokens" => Endpoint::CountTokens,
        _ => return None,
    })
}

/// `/v1/models/…` and `/v1beta/models/…`.
fn match_model_path(method: &[u8], path: &str) -> Option<Endpoint> {
    let (under_v1, rest) = match path.strip_prefix("/v1beta/models/") {
        Some(rest) => (false, rest),
        None => (true, path.strip_prefix("/v1/models/")?),
    };
    if let Some((model, verb)) = split_verb(rest)
        // Under /v1 an id may hold a colon, so only a POST makes it a call.
        && (!under_v1 || method == b"POST")
    {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let endpoint = Endpoint::Generate {
            model: decode(model)?,
            method: verb.to_owned(),
            under_v1,
        };
        return (!model.contains('/')).then_some(endpoint);
    }
    let id = decode(rest)?;
    if id.is_empty() {
        return None;
    }
    if under_v1 {
        return Some(Endpoint::Model { id });
    }
    let id = id.strip_prefix("models/").unwrap_or(&id).to_owned();
    (!id.contains('/')).then_some(Endpoint::GenerateModel { id })
}

/// Splits `{model}:{method}` at the last colon, which may be percent-encoded.
fn split_verb(segment: &str) -> Option<(&str, &str)> {
    let colon = segment.rfind(':').map(|at| (at, 1));
    let encoded = segment
        .rfind("%3A")
        .max(segment.rfind("%3a"))
        .map(|at| (at, 3));
    let (at, len) = colon.max(encoded)?;
    let model = segment.get(..at)?;
    let verb = segment.get(at.checked_add(len)?..)?;
    let is_verb =
        !verb.is_empty() && verb.len() <= 64 && verb.bytes().all(|b| b.is_ascii_alphabetic());
    (is_verb && !model.is_empty()).then_some((model, verb))
}

fn decode(segment: &str) -> Option<String> {
    percent_decode_str(segment)
        .decode_utf8()
        .ok()
        .map(Cow::into_owned)
}

/// The protocol whose client asks for a path like this.
fn family(path: &[u8]) -> Option<Protocol> {
    // Behind a doubled version the inner path tells.
    let rest = path
        .strip_prefix(b"/v1")
        .filter(|inner| inner.starts_with(b"/v1"))
        .unwrap_or(path);
    let under = |prefix: &[u8]| {
        rest.strip_prefix(prefix)
            .is_some_and(|tail| tail.is_empty() || tail.starts_with(b"/"))
    };
    if under(b"/v1beta") {
        return Some(Protocol::C);
    }
    if under(b"/v1/messages") || under(b"/messages") {
        return Some(Protocol::B);
    }
    let of_a: [&[u8]; 7] = [
        b"/v1/responses",
        b"/v1/chat",
        b"/v1/images",
        b"/v1/embeddings",
        b"/responses",
        b"/chat",
        b"/embeddings",
    ];
    of_a.iter()
        .any(|prefix| under(prefix))
        .then_some(Protocol::A)
}

/// Returns the advice for a client whose base address holds a version that it appends itself.
fn base_address_advice(path: &[u8]) -> Option<&'static str> {
    let doubled = |prefix: &[u8]| {
        path.strip_prefix(prefix)
            .is_some_and(|tail| tail.is_empty() || tail.starts_with(b"/"))
    };
    if doubled(b"/v1/v1") {
        Some(
            "The path has /v1 twice: this client appends /v1 itself, so its base address must be \
             the gateway's address without /v1.",
        )
    } else if doubled(b"/v1/v1beta") {
        Some(
            "The path has /v1 before /v1beta: the base address for protocol C must not end in /v1; \
             use the gateway's address, ending in /v1beta only if the client does not append it.",
        )
    } else if doubled(b"/v1beta/v1beta") || doubled(b"/v1beta/v1") {
        Some(
            "The path has a version after /v1beta: this client appends the version itself, so its \
             base address must be the gateway's address without /v1beta.",
        )
    } else {
        None
    }
}
