use serde_json::json;

use super::*;
use crate::body::BodyError;
use crate::limits::{AdmitError, Limit, LimitViolation, Rate, SubjectKind, Window};
use crate::protocol::Entry;
use Protocol::{A, B, C};

/// A limit of a key, to be had again in 9 s.
fn used_up(limit: Limit) -> Rejection {
    Rejection::LimitReached {
        scope: SubjectKind::Key,
        limit,
        retry_after_s: 9,
        contact: None,
    }
}

/// A good key in the wrong place.
fn misplaced() -> Rejection {
    Rejection::KeyMisplaced {
        detail: "Look there.".to_owned(),
    }
}

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
            Rejection::ModelOfOtherSource { name: name() },
            400,
            "invalid_request_error",
            "model_mismatch",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        (
            Rejection::AddressNotAllowed { address: None },
            403,
            "invalid_request_error",
            "address_not_allowed",
            "permission_error",
            "PERMISSION_DENIED",
        ),
        (
            Rejection::ModelAboveMultiplier { name: name() },
            403,
            "invalid_request_error",
            "model_above_multiplier",
            "permission_error",
            "PERMISSION_DENIED",
        ),
        (
            Rejection::OtherModelRenamed { name: name() },
            400,
            "invalid_request_error",
            "model_mismatch",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        (
            Rejection::BackgroundNotSupported,
            400,
            "invalid_request_error",
            "background_not_supported",
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
            Rejection::UnknownParameter {
                name: Some("fields".to_owned()),
            },
            400,
            "invalid_request_error",
            "invalid_parameter",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        (
            Rejection::MethodNotServed {
                served: vec!["generateContent".to_owned()],
            },
            404,
            "invalid_request_error",
            "not_found",
            "not_found_error",
            "NOT_FOUND",
        ),
        (
            Rejection::FormNotSupported,
            415,
            "invalid_request_error",
            "unsupported_media_type",
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
            misplaced(),
            401,
            "invalid_request_error",
            "invalid_api_key",
            "authentication_error",
            "UNAUTHENTICATED",
        ),
        (
            Rejection::ProtocolNotAllowed {
                wanted: A,
                group: GroupProtocol::Only(B),
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
            Rejection::ModelNotPriced {
                name: name(),
                scope: SubjectKind::Team,
                contact: None,
            },
            403,
            "invalid_request_error",
            "model_not_priced",
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
            Rejection::EndpointNotServed,
            404,
            "invalid_request_error",
            "not_found",
            "not_found_error",
            "NOT_FOUND",
        ),
        (
            Rejection::PathOfCurrentClients,
            404,
            "invalid_request_error",
            "not_found",
            "not_found_error",
            "NOT_FOUND",
        ),
        (
            Rejection::ResourcesNotServed,
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
            Rejection::ModelTooLate { held: 1 },
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
            used_up(Limit::Rate(Rate::Requests)),
            429,
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
        ),
        (
            used_up(Limit::Concurrency),
            429,
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
        ),
        (
            used_up(Limit::Budget(Window::Day)),
            429,
            "insufficient_quota",
            "insufficient_quota",
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
        ),
        (
            Rejection::NotCounted,
            503,
            "server_error",
            "server_is_overloaded",
            "api_error",
            "UNAVAILABLE",
        ),
        (
            Rejection::LedgerUnwritable,
            503,
            "server_error",
            "ledger_unwritable",
            "api_error",
            "UNAVAILABLE",
        ),
        (
            Rejection::UsageOptionRefused,
            503,
            "server_error",
            "usage_option_refused",
            "api_error",
            "UNAVAILABLE",
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
            Rejection::AccountsRefused,
            502,
            "server_error",
            "bad_gateway",
            "api_error",
            "UNAVAILABLE",
        ),
        (
            Rejection::ServiceLimit { retry_after_s: 9 },
            429,
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
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
        assert_eq!(shared["error"]["code"], code, "shared, {rejection:?}");
        let shared = body(rejection.clone(), Dialect::Shared(C));
        assert_eq!(shared["error"]["code"], status, "C's look, {rejection:?}");
        let details = &shared["error"]["details"];
        assert_eq!(details[0]["reason"], code, "C's look, {rejection:?}");
    }
}

#[test]
fn a_misplaced_key_is_told_in_one_header_and_nowhere_else() {
    for protocol in [A, B, C] {
        for dialect in [Dialect::Native(protocol), Dialect::Shared(protocol)] {
            let plain = Rejection::Unauthenticated.into_reply(dialect, Some("req-1"));
            let mut reply = misplaced().into_reply(dialect, Some("req-1"));
            reply
                .headers
                .retain(|(name, value)| *name != DETAIL_HEADER || value != "Look there.");
            assert_eq!(reply, plain, "{dialect:?}");
        }
    }
}

#[test]
fn what_is_not_served_is_said_in_words_that_cure() {
    let unknown = Rejection::UnknownPath { advice: None };
    let (short, not_here) = (
        Rejection::PathOfCurrentClients,
        Rejection::EndpointNotServed,
    );
    // (rejection, protocol, what the message says, what it does not, what the detail says)
    let cases: [(&Rejection, Protocol, &[&str], &str, &str); 9] = [
        (
            &unknown,
            A,
            &["Check the base address"],
            "not served here",
            "",
        ),
        (
            &unknown,
            B,
            &["Check the base address"],
            "not served here",
            "",
        ),
        (
            &unknown,
            C,
            &["Check the base address"],
            "not served here",
            "",
        ),
        (
            &not_here,
            A,
            &["not served here", "/v1/responses"],
            "base address",
            "",
        ),
        (
            &not_here,
            B,
            &["not served here", "/v1/messages"],
            "base address",
            "",
        ),
        (
            &not_here,
            C,
            &["not served here", "/v1beta/models"],
            "base address",
            "",
        ),
        (
            &short,
            B,
            &["base address that ends in /v1", r#""clients": "current""#],
            "v1beta",
            "under /v1 only",
        ),
        (
            &short,
            C,
            &["under /v1beta/models/{model}", r#""clients": "current""#],
            "base address",
            "under /v1beta/models/{model} only",
        ),
        (
            &Rejection::ResourcesNotServed,
            C,
            &["not served here"],
            "base address",
            "",
        ),
    ];
    for (rejection, protocol, says, hides, detail) in cases {
        let reply = rejection
            .clone()
            .into_reply(Dialect::Native(protocol), None);
        let body: Value = serde_json::from_slice(&reply.body).unwrap();
        let message = body["error"]["message"].as_str().unwrap();
        for part in says {
            assert!(
                message.contains(part),
                "{rejection:?}, {protocol}: {message}"
            );
        }
        assert!(
            !message.contains(hides),
            "{rejection:?}, {protocol}: {message}"
        );
        let told = reply
            .headers
            .iter()
            .find(|(name, _)| *name == DETAIL_HEADER);
        let told = told.map_or("", |(_, value)| value.as_str());
        assert_eq!(told.is_empty(), detail.is_empty(), "{rejection:?}: {told}");
        assert!(told.contains(detail), "{rejection:?}: {told}");
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
        (
            "502 is, where no account is good",
            Rejection::AccountsRefused,
            Some("false"),
            None,
        ),
        ("503 says when", Rejection::NotReady, None, Some("1")),
        ("so does this one", Rejection::NotCounted, None, Some("1")),
        (
            "a disk may have room soon",
            Rejection::LedgerUnwritable,
            None,
            Some("5"),
        ),
        (
            "the next try goes otherwise",
            Rejection::UsageOptionRefused,
            Some("true"),
            Some("0"),
        ),
        (
            "a rate comes back",
            used_up(Limit::Rate(Rate::OutputTokens)),
            None,
            Some("9"),
        ),
        (
            "a slot comes back",
            used_up(Limit::Concurrency),
            None,
            Some("9"),
        ),
        (
            "a budget does not, for a while",
            used_up(Limit::Budget(Window::Day)),
            Some("false"),
            None,
        ),
        (
            "nor that of a month",
            used_up(Limit::Budget(Window::Month)),
            Some("false"),
            None,
        ),
        (
            "a shared limit says when",
            Rejection::ServiceLimit { retry_after_s: 9 },
            None,
            Some("9"),
        ),
    ];
    let dialects = [
        Dialect::Native(A),
        Dialect::Native(B),
        Dialect::Native(C),
        Dialect::Shared(A),
    ];
    let each = cases
        .iter()
        .flat_map(|case| dialects.map(|dialect| (dialect, case)));
    for (dialect, (case, rejection, should_retry, retry_after)) in each {
        let code = rejection.code();
        let reply = rejection.clone().into_reply(dialect, None);
        let get = |name: &str| {
            let mut found = reply.headers.iter().filter(|(n, _)| *n == name);
            found.next().map(|(_, v)| v.as_str())
        };
        assert_eq!(get("x-should-retry"), *should_retry, "{case}");
        assert_eq!(get("retry-after"), *retry_after, "{case}");
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

#[test]
fn protocol_c_says_how_long_to_wait_and_which_budget_is_spent() {
    let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9s"});
    let spent = |id: &str, window: &str| {
        let begins = match window {
            "day" => "at 00:00 UTC",
            _ => "on the first of next month, 00:00 UTC",
        };
        let words = format!(
            "Quota exceeded: the budget of this key for this {window} (UTC) is spent. It begins anew {begins}, in 1 min."
        );
        json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": id, "description": words}],
        })
    };
    let cases = [
        (used_up(Limit::Rate(Rate::Requests)), vec![retry.clone()]),
        (used_up(Limit::Rate(Rate::InputTokens)), vec![retry.clone()]),
        (used_up(Limit::Concurrency), vec![retry.clone()]),
        (
            used_up(Limit::Budget(Window::Day)),
            vec![spent("BudgetPerDay", "day"), retry.clone()],
        ),
        (
            used_up(Limit::Budget(Window::Month)),
            vec![spent("BudgetPerMonth", "month"), retry],
        ),
        (Rejection::NotCounted, vec![]),
        (Rejection::Unauthenticated, vec![]),
    ];
    for (rejection, want) in cases {
        for dialect in [Dialect::Native(C), Dialect::Shared(C)] {
            let details = body(rejection.clone(), dialect)["error"]["details"].clone();
            let Value::Array(details) = details else {
                panic!("{rejection:?}: {details}");
            };
            let info = "type.googleapis.com/google.rpc.ErrorInfo";
            assert_eq!(details[0]["@type"], info, "{rejection:?}");
            assert_eq!(details[1..], want, "{rejection:?}");
        }
    }
}

#[test]
fn a_limit_that_is_met_becomes_a_refusal() {
    let full = |wait_us| {
        AdmitError::Violation(LimitViolation {
            scope: SubjectKind::Group,
            limit: Limit::Concurrency,
            wait_us,
        })
    };
    for (wait_us, retry_after_s) in [
        (1, 1),
        (1_000_000, 1),
        (1_000_001, 2),
        (86_400_000_000, 86_400),
    ] {
        let want = Rejection::LimitReached {
            scope: SubjectKind::Group,
            limit: Limit::Concurrency,
            retry_after_s,
            contact: None,
        };
        assert_eq!(
            Rejection::of_limit(full(wait_us), "", None),
            want,
            "{wait_us}"
        );
    }
    assert_eq!(
        Rejection::of_limit(AdmitError::Conflict, "", None),
        Rejection::NotCounted
    );
}

#[test]
fn a_limit_is_named_and_whose_it_is() {
    let cases = [
        (Limit::Rate(Rate::Requests), "the requests per minute of"),
        (
            Limit::Rate(Rate::InputTokens),
            "the input tokens per minute of",
        ),
        (
            Limit::Rate(Rate::OutputTokens),
            "the output tokens per minute of",
        ),
        (Limit::Concurrency, "as many requests under way"),
        (Limit::Budget(Window::Day), "for this day (UTC)"),
        (Limit::Budget(Window::Month), "for this month (UTC)"),
        (
            Limit::Reserved(Window::Day),
            "reserved by requests under way",
        ),
        (Limit::Reserved(Window::Month), "for this month (UTC)"),
    ];
    for (limit, words) in cases {
        for (scope, whose) in [
            (SubjectKind::Key, "this key "),
            (SubjectKind::Member, "this key's owner in its team "),
            (SubjectKind::Owner, "this key's owner "),
            (SubjectKind::Team, "this key's team "),
            (SubjectKind::Group, "this key's group "),
        ] {
            let rejection = Rejection::LimitReached {
                scope,
                limit,
                retry_after_s: 9,
                contact: None,
            };
            let said = body(rejection, Dialect::Native(A))["error"]["message"].to_string();
            assert!(said.contains(words), "{limit:?}: {said}");
            assert!(said.contains(whose), "{limit:?}, {scope:?}: {said}");
            let rate = matches!(limit, Limit::Rate(_));
            assert_eq!(said.contains("in 9 s"), rate, "{limit:?}: {said}");
        }
    }
}

/// The time at which a spent budget begins anew, in words, for no client is to sleep until then; and the contact to ask.
#[test]
fn a_spent_budget_says_when_it_begins_anew_and_whom_to_ask() {
    let day = "It begins anew at 00:00 UTC, in";
    let month = "It begins anew on the first of next month, 00:00 UTC, in";
    let cases = [
        (Window::Day, 1, None, format!("{day} 1 min.")),
        (Window::Day, 37_617, None, format!("{day} 10 h 27 min.")),
        (Window::Day, 86_400, None, format!("{day} 1 d 0 h.")),
        (Window::Month, 700_000, None, format!("{month} 8 d 2 h.")),
        (
            Window::Month,
            3_600,
            Some("Ops, \"#llm\""),
            format!("{month} 1 h 0 min. For more before then, ask: Ops, \"#llm\""),
        ),
    ];
    for (window, retry_after_s, contact, want) in cases {
        for protocol in [A, B, C] {
            let rejection = Rejection::LimitReached {
                scope: SubjectKind::Key,
                limit: Limit::Budget(window),
                retry_after_s,
                contact: contact.map(std::rc::Rc::from),
            };
            let said = body(rejection, Dialect::Native(protocol))["error"]["message"].clone();
            let said = said.as_str().unwrap();
            assert!(said.ends_with(&want), "{protocol:?}: {said}");
        }
    }
}
