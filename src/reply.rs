//! Local replies: why a request is refused, and the answer that says so in its protocol's words.

use serde_json::Value;

use crate::body::BodyError;
use crate::lane::{Entry, Protocol};
use crate::protocol::{Dialect, ErrorFacts};

/// An answer that the gateway gives itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers; values are visible ASCII.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why the gateway does not forward a request, or does not relay its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// There is no such path; perhaps the base address is wrong.
    UnknownPath {
        /// What the base address should be, where the path shows that it is wrong.
        advice: Option<&'static str>,
    },
    /// The path takes other methods.
    WrongMethod {
        /// Those it takes.
        allow: &'static str,
    },
    /// A WebSocket was asked for.
    UpgradeRequired,
    /// No key, a key in a wrong form, or a key that is unknown, disabled or expired.
    Unauthenticated,
    /// No policy is in force yet, or not one that can judge this key.
    NotReady,
    /// The key's group does not serve the endpoint's protocol.
    ProtocolNotAllowed {
        /// The endpoint's protocol.
        wanted: Protocol,
        /// What the group speaks instead.
        group: Spoken,
    },
    /// Protocol B without its version header, or with a version that the group does not take.
    Version,
    /// The group may not make images.
    ImagesNotSupported,
    /// The source does not count tokens.
    CountTokensNotSupported,
    /// A path of newer protocol C clients, or of account resources, that the group does not serve.
    PathNotServed,
    /// The body is encoded in a way that Envoy has not undone.
    EncodingNotSupported,
    /// The body is longer than allowed.
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The body is not what its form demands.
    Body(BodyError),
    /// The body names no model.
    ModelMissing,
    /// The body names another model than the path.
    ModelMismatch,
    /// The key's list does not have the model.
    ModelNotFound {
        /// The name as sent.
        name: String,
        /// For a Mixed key that sees the model elsewhere: the entry that serves it.
        served_by: Option<Entry>,
    },
    /// The source account may not use the model.
    ModelNotEntitled {
        /// The name as sent.
        name: String,
    },
    /// A parameter of a list request cannot be honoured.
    BadParameter(&'static str),
    /// The upstream could not be reached, broke off, or refused our own account.
    UpstreamFailed,
    /// The upstream says that our account may not do this.
    UpstreamForbade,
    /// Something that should not be possible.
    Internal,
}

/// What a group speaks, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    /// One protocol.
    Only(Protocol),
    /// Several, but not through this entry, which is not configured.
    Lacks(Entry),
}

/// The longest part of a client's model name that a message repeats, in characters.
const MAX_ECHO: usize = 128;

impl Rejection {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::Version
            | Self::Body(_)
            | Self::ModelMissing
            | Self::ModelMismatch
            | Self::BadParameter(_) => 400,
            Self::Unauthenticated => 401,
            Self::ProtocolNotAllowed { .. }
            | Self::ModelNotEntitled { .. }
            | Self::UpstreamForbade => 403,
            Self::UnknownPath { .. }
            | Self::ImagesNotSupported
            | Self::CountTokensNotSupported
            | Self::PathNotServed
            | Self::ModelNotFound { .. } => 404,
            Self::WrongMethod { .. } => 405,
            Self::TooLarge { .. } => 413,
            Self::EncodingNotSupported => 415,
            Self::UpgradeRequired => 426,
            Self::Internal => 500,
            Self::UpstreamFailed => 502,
            Self::NotReady => 503,
        }
    }

    /// The gateway's own code: in every body, and in the header `x-trilane-error`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownPath { .. } | Self::PathNotServed => "not_found",
            Self::WrongMethod { .. } => "method_not_allowed",
            Self::UpgradeRequired => "upgrade_required",
            Self::Unauthenticated => "invalid_api_key",
            Self::NotReady => "server_is_overloaded",
            Self::ProtocolNotAllowed { .. } => "protocol_not_allowed",
            Self::Version => "invalid_version",
            Self::ImagesNotSupported => "images_not_supported",
            Self::CountTokensNotSupported => "count_tokens_not_supported",
            Self::EncodingNotSupported => "request_body_encoding_unsupported",
            Self::TooLarge { .. } => "request_too_large",
            Self::Body(_) => "invalid_body",
            Self::ModelMissing => "model_missing",
            Self::ModelMismatch => "model_mismatch",
            Self::ModelNotFound { .. } => "model_not_found",
            Self::ModelNotEntitled { .. } | Self::UpstreamForbade => "model_not_entitled",
            Self::BadParameter(_) => "invalid_parameter",
            Self::UpstreamFailed => "bad_gateway",
            Self::Internal => "internal_error",
        }
    }

    fn param(&self) -> Option<&'static str> {
        match self {
            Self::ModelMissing
            | Self::ModelMismatch
            | Self::ModelNotFound { .. }
            | Self::ModelNotEntitled { .. } => Some("model"),
            Self::BadParameter(name) => Some(name),
            _ => None,
        }
    }

    /// Whether asking again, unchanged, could end otherwise. The SDKs of A and B obey.
    fn is_final(&self) -> bool {
        self.status() < 500
    }

    /// The sentence for people, in the words that clients of `protocol` know.
    fn message(&self, protocol: Protocol) -> String {
        match self {
            Self::UnknownPath { advice: None } => {
                "There is no such path. Check the base address: protocol A ends in /v1, protocol B \
                 has no version, protocol C ends in /v1beta unless the client appends it."
                    .to_owned()
            }
            Self::UnknownPath {
                advice: Some(advice),
            } => (*advice).to_owned(),
            Self::WrongMethod { allow } => format!("This path takes {allow} only."),
            Self::UpgradeRequired => {
                "WebSocket is not offered here: send the request with POST.".to_owned()
            }
            Self::Unauthenticated => match protocol {
                Protocol::B => "invalid x-api-key".to_owned(),
                Protocol::A | Protocol::C => {
                    "Incorrect API key provided: it is missing, wrong, expired, or sent in a header \
                     that this endpoint does not read."
                        .to_owned()
                }
            },
            Self::NotReady => {
                "The gateway has no configuration in force yet. Try again in a moment.".to_owned()
            }
            Self::ProtocolNotAllowed { wanted, group } => match group {
                Spoken::Only(own) => format!(
                    "This key's group speaks protocol {own}; this endpoint belongs to protocol {wanted}."
                ),
                Spoken::Lacks(entry) => format!(
                    "This key's group has no entry {entry}, so it does not serve protocol {wanted}."
                ),
            },
            Self::Version => {
                "The header anthropic-version (or vb-version) must be present, with the value \
                 2023-06-01."
                    .to_owned()
            }
            Self::ImagesNotSupported => "Images API is not supported for this platform".to_owned(),
            Self::CountTokensNotSupported => {
                "Token counting is not supported by this channel; /v1/messages is unaffected."
                    .to_owned()
            }
            Self::PathNotServed => match protocol {
                Protocol::C => {
                    "This path is not served for this key. Models are under /v1beta/models/{model}."
                        .to_owned()
                }
                Protocol::A | Protocol::B => "This path is not served for this key.".to_owned(),
            },
            Self::EncodingNotSupported => {
                "The content-encoding of the request body is not supported: send gzip, br, zstd or \
                 no encoding."
                    .to_owned()
            }
            Self::TooLarge { limit } => {
                format!("The request body is larger than {limit} bytes.")
            }
            Self::Body(error) => error.to_string(),
            Self::ModelMissing => {
                "The request body must have a top-level field model that is a string.".to_owned()
            }
            Self::ModelMismatch => {
                "The model in the request body is not the model in the path.".to_owned()
            }
            Self::ModelNotFound { name, served_by } => {
                not_found(protocol, &echo(name), *served_by)
            }
            Self::ModelNotEntitled { name } => format!(
                "model_not_entitled: the source account has no right to the model {}.",
                echo(name)
            ),
            Self::BadParameter(name) => {
                format!("The query parameter {name} has a value that cannot be honoured.")
            }
            Self::UpstreamFailed => {
                "The upstream source could not be reached or did not answer properly.".to_owned()
            }
            Self::UpstreamForbade => {
                "model_not_entitled: the source account has no right to this model.".to_owned()
            }
            Self::Internal => "The gateway failed on this request.".to_owned(),
        }
    }

    /// The answer, in the shape of `dialect`.
    pub fn into_reply(self, dialect: Dialect, request_id: Option<&str>) -> Reply {
        let status = self.status();
        let facts = ErrorFacts {
            status,
            code: self.code(),
            message: &self.message(dialect.protocol()),
            param: self.param(),
            request_id,
        };
        let mut reply = Reply::json(status, &dialect.error_body(&facts), dialect, request_id);
        reply
            .headers
            .push(("x-trilane-error", facts.code.to_owned()));
        if self.is_final() {
            reply.headers.push(("x-should-retry", "false".to_owned()));
        }
        match self {
            Self::WrongMethod { allow } => reply.headers.push(("allow", allow.to_owned())),
            Self::NotReady => reply.headers.push(("retry-after", "1".to_owned())),
            _ => {}
        }
        reply
    }
}

impl Reply {
    /// A JSON answer with the ids that clients of the dialect look for.
    pub fn json(status: u16, body: &Value, dialect: Dialect, request_id: Option<&str>) -> Self {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if let Some(id) = request_id {
            headers.push(("x-request-id", id.to_owned()));
            if matches!(dialect, Dialect::Native(Protocol::B) | Dialect::Shared(_)) {
                headers.push(("request-id", id.to_owned()));
            }
        }
        Self {
            status,
            headers,
            body: body.to_string().into_bytes(),
        }
    }
}

fn not_found(protocol: Protocol, name: &str, served_by: Option<Entry>) -> String {
    let plain = match protocol {
        Protocol::A => format!("The model `{name}` does not exist or is not in this key's list."),
        Protocol::B => format!("model: {name}"),
        Protocol::C => format!(
            "models/{name} is not found for API version v1beta, or is not in this key's list."
        ),
    };
    match served_by {
        None => plain,
        Some(entry) => format!(
            "{plain} (this key reaches it through the entry {entry}: {})",
            entry.paths()
        ),
    }
}

/// A client's own text, cut for a message.
fn echo(name: &str) -> String {
    match name.char_indices().nth(MAX_ECHO) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Protocol::{A, B, C};

    fn body(rejection: Rejection, dialect: Dialect) -> Value {
        serde_json::from_slice(&rejection.into_reply(dialect, Some("req-1")).body).unwrap()
    }

    /// `/error/type` and `/error/code` of A, `/error/type` of B, `/error/status` of C.
    #[test]
    fn every_rejection_has_its_row_of_the_error_table() {
        let name = || "m".to_owned();
        let cases = [
            (
                Rejection::Version,
                400,
                "invalid_request_error",
                "invalid_version",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::Body(BodyError::Truncated),
                400,
                "invalid_request_error",
                "invalid_body",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::ModelMissing,
                400,
                "invalid_request_error",
                "model_missing",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::ModelMismatch,
                400,
                "invalid_request_error",
                "model_mismatch",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::BadParameter("limit"),
                400,
                "invalid_request_error",
                "invalid_parameter",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::Unauthenticated,
                401,
                "invalid_request_error",
                "invalid_api_key",
                "authentication_error",
                "UNAUTHENTICATED",
            ),
            (
                Rejection::ProtocolNotAllowed {
                    wanted: A,
                    group: Spoken::Only(B),
                },
                403,
                "invalid_request_error",
                "protocol_not_allowed",
                "permission_error",
                "PERMISSION_DENIED",
            ),
            (
                Rejection::ModelNotEntitled { name: name() },
                403,
                "invalid_request_error",
                "model_not_entitled",
                "permission_error",
                "PERMISSION_DENIED",
            ),
            (
                Rejection::UpstreamForbade,
                403,
                "invalid_request_error",
                "model_not_entitled",
                "permission_error",
                "PERMISSION_DENIED",
            ),
            (
                Rejection::UnknownPath { advice: None },
                404,
                "invalid_request_error",
                "not_found",
                "not_found_error",
                "NOT_FOUND",
            ),
            (
                Rejection::PathNotServed,
                404,
                "invalid_request_error",
                "not_found",
                "not_found_error",
                "NOT_FOUND",
            ),
            (
                Rejection::ModelNotFound {
                    name: name(),
                    served_by: None,
                },
                404,
                "invalid_request_error",
                "model_not_found",
                "not_found_error",
                "NOT_FOUND",
            ),
            (
                Rejection::ImagesNotSupported,
                404,
                "not_found_error",
                "images_not_supported",
                "not_found_error",
                "NOT_FOUND",
            ),
            (
                Rejection::CountTokensNotSupported,
                404,
                "not_found_error",
                "count_tokens_not_supported",
                "not_found_error",
                "NOT_FOUND",
            ),
            (
                Rejection::WrongMethod { allow: "POST" },
                405,
                "invalid_request_error",
                "method_not_allowed",
                "invalid_request_error",
                "UNIMPLEMENTED",
            ),
            (
                Rejection::TooLarge { limit: 1 },
                413,
                "invalid_request_error",
                "request_too_large",
                "request_too_large",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::EncodingNotSupported,
                415,
                "invalid_request_error",
                "request_body_encoding_unsupported",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ),
            (
                Rejection::UpgradeRequired,
                426,
                "invalid_request_error",
                "upgrade_required",
                "invalid_request_error",
                "UNIMPLEMENTED",
            ),
            (
                Rejection::Internal,
                500,
                "server_error",
                "internal_error",
                "api_error",
                "INTERNAL",
            ),
            (
                Rejection::UpstreamFailed,
                502,
                "server_error",
                "bad_gateway",
                "api_error",
                "UNAVAILABLE",
            ),
            (
                Rejection::NotReady,
                503,
                "server_error",
                "server_is_overloaded",
                "api_error",
                "UNAVAILABLE",
            ),
        ];
        for (rejection, status, a_type, code, b_type, c_status) in cases {
            assert_eq!(rejection.status(), status, "{rejection:?}");
            let a = body(rejection.clone(), Dialect::Native(A));
            assert_eq!(a["error"]["type"], a_type, "A, {rejection:?}");
            assert_eq!(a["error"]["code"], code, "A, {rejection:?}");
            let b = body(rejection.clone(), Dialect::Native(B));
            assert_eq!(b["type"], "error", "B, {rejection:?}");
            assert_eq!(b["error"]["type"], b_type, "B, {rejection:?}");
            assert_eq!(
                b["error"]["details"]["error_code"], code,
                "B, {rejection:?}"
            );
            assert_eq!(b["request_id"], "req-1", "B, {rejection:?}");
            let c = body(rejection.clone(), Dialect::Native(C));
            assert_eq!(c["error"]["code"], status, "C, {rejection:?}");
            assert_eq!(c["error"]["status"], c_status, "C, {rejection:?}");
            assert_eq!(c["error"]["details"][0]["reason"], code, "C, {rejection:?}");
            let shared = body(rejection.clone(), Dialect::Shared(A));
            assert_eq!(shared["type"], "error", "shared, {rejection:?}");
            assert_eq!(shared["error"]["type"], a_type, "shared, {rejection:?}");
            assert_eq!(shared["error"]["status"], c_status, "shared, {rejection:?}");
        }
    }

    #[test]
    fn headers_say_whether_to_try_again() {
        let cases = [
            (
                "401 is final",
                Rejection::Unauthenticated,
                Some("false"),
                None,
            ),
            (
                "413 is final",
                Rejection::TooLarge { limit: 1 },
                Some("false"),
                None,
            ),
            ("502 is not", Rejection::UpstreamFailed, None, None),
            ("503 says when", Rejection::NotReady, None, Some("1")),
        ];
        for (case, rejection, should_retry, retry_after) in cases {
            let code = rejection.code();
            let reply = rejection.into_reply(Dialect::Native(A), None);
            let get = |name: &str| {
                let mut found = reply.headers.iter().filter(|(n, _)| *n == name);
                found.next().map(|(_, v)| v.as_str())
            };
            assert_eq!(get("x-should-retry"), should_retry, "{case}");
            assert_eq!(get("retry-after"), retry_after, "{case}");
            assert_eq!(get("x-trilane-error"), Some(code), "{case}");
            assert_eq!(get("x-request-id"), None, "{case}");
        }
    }

    #[test]
    fn the_words_that_the_specification_fixes() {
        let message = |rejection: Rejection, protocol| {
            body(rejection, Dialect::Native(protocol))["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(message(Rejection::Unauthenticated, B), "invalid x-api-key");
        for protocol in [A, B, C] {
            assert_eq!(
                message(Rejection::ImagesNotSupported, protocol),
                "Images API is not supported for this platform"
            );
        }
        let not_found = |name: &str| Rejection::ModelNotFound {
            name: name.to_owned(),
            served_by: None,
        };
        assert_eq!(message(not_found("x"), B), "model: x");
        assert!(
            message(not_found("x"), C).starts_with("models/x is not found for API version v1beta")
        );
        let quoted = message(not_found("\"}\u{7}ö"), B);
        assert_eq!(quoted, "model: \"}\u{7}ö", "escaped by JSON, not by hand");
        let long = message(not_found(&"ö".repeat(300)), B);
        assert_eq!(long.chars().count(), "model: ".len() + 128 + 1);
        let elsewhere = Rejection::ModelNotFound {
            name: "x".to_owned(),
            served_by: Some(Entry::VbMessages),
        };
        assert!(message(elsewhere, A).contains("vb_messages: POST /v1/messages"));
    }
}
