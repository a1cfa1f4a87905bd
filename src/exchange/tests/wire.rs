//! One reading of a request: parameters, methods, content types and headers that would make an upstream read another one,
//! and answers that are none.

use super::*;

const A: &str = "authorization: Bearer k-a";
const C: &str = "x-goog-api-key: k-c";
const OPEN: &str = "x-goog-api-key: k-c-current";

/// Decides on the head of a request: gives the head that leaves, or the reply. A body of the right form follows.
fn outcome(request: &str, headers: &[&str]) -> Outcome {
    outcome_of(&document(), request, headers)
}

fn outcome_of(document: &Value, request: &str, headers: &[&str]) -> Outcome {
    let (in_force, world) = setting_of(document);
    let head = head(request, headers);
    let mut exchange = Exchange::default();
    let end = is_get(request) && !request.starts_with("PATCH");
    let outcome = exchange.on_request_head(&head, end, Some(&in_force), &world);
    if outcome != Outcome::Pause {
        return outcome;
    }
    let body: &[u8] = if request.contains("cachedContents") {
        br#"{"model":"models/gem-1"}"#
    } else if request.contains("/v1beta") || request.contains("/v1/models") {
        br#"{"contents":[]}"#
    } else if request.contains("messages") {
        br#"{"model":"claude-z-2"}"#
    } else {
        br#"{"model":"gpt-x"}"#
    };
    exchange.on_request_body(body, true, &Unlimited)
}

/// The edits of a request that goes on.
fn leaves(case: &str, outcome: Outcome) -> Edits {
    match outcome {
        Outcome::Continue(edits) => edits,
        other => panic!("{case}: {other:?}"),
    }
}

fn refused(case: &str, outcome: &Outcome) -> (u16, String, String) {
    let (status, code, body) = reply_of(outcome).unwrap_or_else(|| panic!("{case}: {outcome:?}"));
    let message = body["error"]["message"].as_str().unwrap().to_owned();
    (status, code.unwrap_or_default().to_owned(), message)
}

#[test]
fn parameters_of_protocol_c() {
    let generate = "POST /v1beta/models/gem-1:generateContent";
    let passes = [
        (generate, "", None),
        (generate, "?alt=sse", None),
        (generate, "?alt=json&key=other", Some("?alt=json")),
        (generate, "?key=other", Some("")),
        (
            "POST /v1beta/models/gem-1:streamGenerateContent",
            "?alt=sse",
            None,
        ),
    ];
    for (request, query, want) in passes {
        let case = format!("{request}{query}");
        let edits = leaves(&case, outcome(&case, &[C]));
        let path = request.trim_start_matches("POST ");
        let want = want.map(|query| format!("{path}{query}"));
        assert_eq!(set(&edits, ":path"), want.as_deref(), "{case}");
    }
    let bad = [
        ("?fields=candidates", "parameter fields is"),
        ("?alt=proto", "parameter alt has"),
        ("?$callback=s3cret", "parameter $callback is"),
        ("?access_token=s3cret", "parameter access_token is"),
        ("?%24fields=s3cret", "has a parameter"),
        ("?alt=sse&&", "has a parameter"),
        ("?pageSize=1", "parameter pageSize is"),
    ];
    for (query, part) in bad {
        for verb in ["generateContent", "streamGenerateContent", "countTokens"] {
            let case = format!("POST /v1beta/models/gem-1:{verb}{query}");
            let (status, code, message) = refused(&case, &outcome(&case, &[C]));
            assert_eq!(
                (status, code.as_str()),
                (400, "invalid_parameter"),
                "{case}"
            );
            assert!(message.contains(part), "{case}: {message}");
            assert!(!message.contains("s3cret"), "{case}: {message}");
        }
    }
    let under_v1 = outcome("POST /v1/models/gem-1:generateContent?fields=x", &[OPEN]);
    assert_eq!(refused("under /v1", &under_v1).0, 400, "under /v1");
    // Who has no key learns nothing of parameters.
    let stranger = outcome("POST /v1beta/models/gem-1:generateContent?fields=x", &[]);
    assert_eq!(refused("no key", &stranger).0, 401, "no key");
}

#[test]
fn parameters_of_resources() {
    let edits = leaves(
        "list",
        outcome("GET /v1beta/files?pageSize=2&key=x&pageToken=y", &[OPEN]),
    );
    assert_eq!(
        set(&edits, ":path"),
        Some("/v1beta/files?pageSize=2&pageToken=y")
    );
    for query in [
        "?fields=name",
        "?alt=media",
        "?alt=sse",
        "?access_token=x",
        "?pageSize=1&pageSize=2",
    ] {
        let case = format!("GET /v1beta/files{query}");
        assert_eq!(refused(&case, &outcome(&case, &[OPEN])).0, 400, "{case}");
    }
    leaves(
        "media",
        outcome("GET /v1beta/files/x:download?alt=media", &[OPEN]),
    );
}

#[test]
fn parameters_of_other_protocols() {
    let cases = [
        ("?beta=true", None),
        ("?beta=true&api_key=s", Some("?beta=true")),
        ("?%61piKey=s&token=t&oauth_token=u", Some("")),
        ("?api-version=2", None),
        ("?model=x&beta=true&y=%20", Some("?beta=true")),
        ("?beta=true;model=x", Some("")),
    ];
    for (query, want) in cases {
        let case = format!("POST /v1/messages{query}");
        let headers = ["x-api-key: k-b", "anthropic-version: 2023-06-01"];
        let edits = leaves(&case, outcome(&case, &headers));
        let want = want.map(|query| format!("/v1/messages{query}"));
        assert_eq!(set(&edits, ":path"), want.as_deref(), "{case}");
    }
}

#[test]
fn methods_of_protocol_c() {
    let mut priced = document();
    let groups = priced["groups"].as_array_mut().unwrap();
    let c = groups.iter_mut().find(|group| group["id"] == "c").unwrap();
    c["methods"] = json!({"predict": {"per_call": "0.04"}});
    let served = [
        "generateContent",
        "streamGenerateContent",
        "countTokens",
        "embedContent",
        "batchEmbedContents",
    ];
    for verb in served {
        let request = format!("POST /v1beta/models/gem-1:{verb}");
        leaves(verb, outcome(&request, &[C]));
    }
    let others = [
        "predict",
        "predictLongRunning",
        "batchGenerateContent",
        "asyncBatchEmbedContent",
        "generateAnswer",
        "generateMessage",
        "generateText",
        "GenerateContent",
        "bidiGenerateContent",
        "tuneModel",
        "x",
    ];
    for verb in others {
        let request = format!("POST /v1beta/models/gem-1:{verb}");
        let (status, code, message) = refused(verb, &outcome(&request, &[C]));
        assert_eq!((status, code.as_str()), (404, "not_found"), "{verb}");
        assert!(
            message.contains("streamGenerateContent, countTokens"),
            "{message}"
        );
        assert!(!message.contains("predict"), "{message}");
        let encoded = format!("POST /v1beta/models/gem-1%3A{verb}");
        assert_eq!(
            refused(verb, &outcome(&encoded, &[C])).0,
            404,
            "{verb}, encoded"
        );
        if verb != "predict" {
            let (status, _, message) = refused(verb, &outcome_of(&priced, &request, &[C]));
            assert_eq!(status, 404, "{verb}: the group prices another");
            assert!(
                message.contains("batchEmbedContents, predict."),
                "{message}"
            );
        }
    }
    leaves(
        "priced",
        outcome_of(&priced, "POST /v1beta/models/gem-1:predict", &[C]),
    );
    leaves(
        "priced, through a Mixed key",
        outcome_of(
            &priced,
            "POST /v1beta/models/gem-1:predict",
            &["x-goog-api-key: k-mixed"],
        ),
    );
}

#[test]
fn content_types_of_json_endpoints() {
    let json = Some("application/json");
    let cases = [
        ("as it should be", Some("application/json"), None),
        ("none", None, json),
        ("a form", Some("application/x-www-form-urlencoded"), json),
        (
            "another charset",
            Some("application/json; charset=utf-7"),
            json,
        ),
        ("text", Some("text/plain"), json),
    ];
    let endpoints = [
        ("POST /v1/responses", A),
        ("POST /v1/responses/compact", A),
        ("POST /v1/responses/input_tokens", A),
        ("POST /v1/chat/completions", A),
        ("POST /v1/embeddings", A),
        ("POST /v1/images/generations", A),
        ("POST /v1/images/edits", A),
        ("POST /v1beta/models/gem-1:generateContent", C),
        ("POST /v1beta/cachedContents", OPEN),
        ("PATCH /v1beta/cachedContents/x", OPEN),
    ];
    for (request, key) in endpoints {
        for (case, sent, want) in cases {
            let line = sent.map(|value| format!("content-type: {value}"));
            let headers: Vec<&str> = line.iter().map(String::as_str).chain([key]).collect();
            let edits = leaves(case, outcome(request, &headers));
            assert_eq!(set(&edits, "content-type"), want, "{request}, {case}");
        }
        if request.ends_with("edits") {
            continue;
        }
        let headers = ["content-type: multipart/form-data; boundary=x", key];
        let got = refused(request, &outcome(request, &headers));
        assert_eq!(
            (got.0, got.1.as_str()),
            (415, "unsupported_media_type"),
            "{request}"
        );
    }
    let edits = leaves("no body", outcome("GET /v1beta/files", &[OPEN]));
    assert_eq!(set(&edits, "content-type"), None, "no body");
}

#[test]
fn the_form_that_is_accepted() {
    let cases = [
        ("application/json", None),
        ("*/*", None),
        ("text/event-stream", None),
        ("application/json, text/event-stream", None),
        ("application/json, text/plain, */*;q=0.5", None),
        ("application/x-protobuf", Some("*/*")),
        ("application/json, application/x-protobuf", Some("*/*")),
        ("application/json;alt=proto", Some("*/*")),
        ("application/vnd.x+json", Some("*/*")),
        ("application/msgpack", Some("*/*")),
        ("", Some("*/*")),
    ];
    for (accept, want) in cases {
        let line = format!("accept: {accept}");
        for (request, key) in [
            ("POST /v1beta/models/gem-1:generateContent", C),
            ("POST /v1/responses", A),
        ] {
            let edits = leaves(accept, outcome(request, &[&line, key]));
            assert_eq!(set(&edits, "accept"), want, "{request}: {accept}");
        }
    }
    let edits = leaves("none", outcome("POST /v1/responses", &[A]));
    assert_eq!(set(&edits, "accept"), None, "none");
}

#[test]
fn statuses_that_are_none() {
    let (in_force, world) = setting();
    let cases = [
        (0, true),
        (99, true),
        (100, true),
        (101, true),
        (199, true),
        (200, false),
        (299, false),
        (300, true),
        (302, true),
        (304, true),
        (308, true),
        (399, true),
        (400, false),
        (599, false),
        (600, true),
        (999, true),
        (u16::MAX, true),
    ];
    for (status, replaced) in cases {
        let head = head("POST /v1/responses", &[A]);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        exchange.on_request_body(br#"{"model":"gpt-x"}"#, true, &Unlimited);
        let answer = FakeHead {
            status,
            details: UPSTREAM,
        };
        let outcome = after_answer(&mut exchange, &answer, &Unlimited);
        let got = reply_of(&outcome).map(|(status, ..)| status);
        assert_eq!(got, replaced.then_some(502), "{status}");
    }
}
