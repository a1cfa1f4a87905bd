use super::*;
use crate::body::BodyError;
use crate::lane::Entry;
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
            Rejection::Version { any_date: false },
            400,
            "invalid_request_error",
            "invalid_version",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        (
            Rejection::BadTarget,
            400,
            "invalid_request_error",
            "bad_path",
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
    assert!(message(not_found("x"), C).starts_with("models/x is not found for API version v1beta"));
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
