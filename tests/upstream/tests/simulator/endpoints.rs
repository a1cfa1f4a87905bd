//! Every endpoint answers in its protocol's own shape, over both HTTP versions.

use serde_json::Value;

use crate::support::{BOTH, Http, request, send, simulator};

const VERSION: &str = "anthropic-version: 2023-06-01";

#[tokio::test]
async fn json_answers() {
    let simulator = simulator().await;
    for (line, body, pointer, value) in [
        (
            "POST /v1/chat/completions",
            r#"{"model":"m"}"#,
            "/choices/0/message/content",
            "pong",
        ),
        (
            "POST /v1/chat/completions",
            r#"{"model":"a\"b"}"#,
            "/model",
            "a\"b",
        ),
        (
            "POST /v1/responses",
            r#"{"model":"m","input":[{"role":"user"}]}"#,
            "/output/0/content/0/text",
            "pong",
        ),
        (
            "POST /v1/responses",
            r#"{"input":"x","model":"m"}"#,
            "/model",
            "m",
        ),
        (
            "POST /v1/responses/compact",
            r#"{"input":"x","model":"m"}"#,
            "/object",
            "response.compaction",
        ),
        (
            "POST /v1/responses/input_tokens",
            r#"{"input":"x","model":"m"}"#,
            "/object",
            "response.input_tokens",
        ),
        (
            "POST /v1/embeddings",
            r#"{"input":"x","model":"m","encoding_format":"base64"}"#,
            "/data/0/embedding",
            "AACAPgAAAL8AAEA/",
        ),
        (
            "POST /v1/images/generations",
            r#"{"prompt":"x","n":2}"#,
            "/output_format",
            "png",
        ),
        (
            "POST /v1/images/edits",
            r#"{"prompt":"x"}"#,
            "/output_format",
            "png",
        ),
        (
            "POST /v1/messages",
            r#"{"model":"m"}"#,
            "/content/0/text",
            "pong",
        ),
        (
            "POST /v1beta/models/m:generateContent",
            "{}",
            "/candidates/0/content/parts/0/text",
            "pong",
        ),
        (
            "POST /v1beta/models/m:generateContent",
            "{}",
            "/modelVersion",
            "m",
        ),
        (
            "GET /v1beta/models",
            "",
            "/models/0/name",
            "models/gemini-2.5-flash",
        ),
        ("GET /v1beta/models/x", "", "/name", "models/x"),
        ("DELETE /v1beta/files/x", "", "/name", "files/x"),
    ] {
        for http in BOTH {
            let answer = send(http, simulator.first, request(line, &[VERSION], body)).await;
            assert_eq!(answer.status, 200, "{line}");
            assert_eq!(answer.header("content-type"), "application/json");
            assert_eq!(answer.header("x-sim-upstream"), "first");
            assert!(answer.header("x-request-id").starts_with("sim-"));
            assert_eq!(
                answer.json().pointer(pointer),
                Some(&Value::from(value)),
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn counts_and_embeddings() {
    let simulator = simulator().await;
    for (line, body, pointer, value) in [
        (
            "POST /v1/messages/count_tokens",
            r#"{"model":"m"}"#,
            "/input_tokens",
            12,
        ),
        (
            "POST /v1beta/models/m:countTokens",
            "{}",
            "/totalTokens",
            12,
        ),
        (
            "POST /v1/chat/completions",
            r#"{"model":"m"}"#,
            "/usage/prompt_tokens",
            1234,
        ),
    ] {
        let answer = send(Http::Two, simulator.first, request(line, &[VERSION], body))
            .await
            .json();
        assert_eq!(answer.pointer(pointer), Some(&Value::from(value)), "{line}");
    }
    for (line, body, pointer, count) in [
        (
            "POST /v1beta/models/m:embedContent",
            "{}",
            "/embedding/values",
            3,
        ),
        (
            "POST /v1beta/models/m:batchEmbedContents",
            r#"{"requests":[{},{}]}"#,
            "/embeddings",
            2,
        ),
        ("POST /v1/images/generations", r#"{"n":3}"#, "/data", 3),
        (
            "POST /v1/embeddings",
            r#"{"model":"m","input":["a","b"]}"#,
            "/data",
            2,
        ),
        (
            "POST /v1/embeddings",
            r#"{"model":"m","input":[[1,2],[3]]}"#,
            "/data",
            2,
        ),
        ("GET /v1beta/files", "", "/files", 0),
    ] {
        let answer = send(Http::One, simulator.first, request(line, &[], body))
            .await
            .json();
        let list = answer.pointer(pointer).and_then(Value::as_array).unwrap();
        assert_eq!(list.len(), count, "{line}");
    }
}

#[tokio::test]
async fn errors_have_the_shape_of_their_protocol() {
    let simulator = simulator().await;
    let named = r#"{"model":"m"}"#;
    for (line, headers, body, status, pointer, value) in [
        (
            "GET /nothing",
            &[][..],
            "",
            404,
            "/error/type",
            "invalid_request_error",
        ),
        (
            "GET /v1/responses",
            &[],
            "",
            404,
            "/error/code",
            "not_found",
        ),
        (
            "POST /v1/messages/x",
            &[],
            "",
            404,
            "/error/type",
            "not_found_error",
        ),
        (
            "GET /nothing",
            &["x-goog-api-key: k"],
            "",
            404,
            "/error/status",
            "NOT_FOUND",
        ),
        (
            "POST /v1beta/models/m:predict",
            &[],
            "",
            404,
            "/error/status",
            "NOT_FOUND",
        ),
        (
            "POST /v1/messages",
            &[],
            named,
            400,
            "/error/type",
            "invalid_request_error",
        ),
        (
            "POST /v1/messages/count_tokens",
            &[],
            named,
            400,
            "/type",
            "error",
        ),
        (
            "POST /v1/responses",
            &[],
            "{",
            400,
            "/error/type",
            "invalid_request_error",
        ),
        (
            "POST /v1/responses",
            &[],
            r#"{"x":{"model":"m"}}"#,
            400,
            "/error/message",
            "model: field required",
        ),
        (
            "POST /v1/responses",
            &["x-sim-status: 429"],
            named,
            429,
            "/error/code",
            "rate_limit_exceeded",
        ),
        (
            "POST /v1/messages",
            &["x-sim-status: 529"],
            named,
            529,
            "/error/type",
            "overloaded_error",
        ),
        (
            "POST /v1beta/models/m:generateContent",
            &["x-sim-status: 503"],
            "",
            503,
            "/error/status",
            "UNAVAILABLE",
        ),
        (
            "POST /v1/responses",
            &["x-sim-bogus: 1"],
            named,
            400,
            "/error/param",
            "",
        ),
    ] {
        for http in BOTH {
            let answer = send(http, simulator.first, request(line, headers, body)).await;
            assert_eq!(answer.status, status, "{line} {headers:?}");
            let found = answer.json().pointer(pointer).cloned().unwrap();
            assert_eq!(
                found.as_str().unwrap_or_default(),
                value,
                "{line} {headers:?}"
            );
            let unknown = status == 404;
            assert_eq!(answer.header("x-sim") == "unknown-path", unknown, "{line}");
        }
    }
}
