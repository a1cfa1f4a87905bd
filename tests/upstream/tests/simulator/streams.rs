//! Every endpoint that streams does so in its protocol's own way, over both HTTP versions.

use serde_json::Value;

use crate::support::{BOTH, Http, request, send, simulator};

const VERSION: &str = "anthropic-version: 2023-06-01";

#[tokio::test]
async fn streams() {
    let simulator = simulator().await;
    for (line, body, last, count) in [
        (
            "POST /v1/chat/completions",
            r#"{"model":"m","stream":true}"#,
            None,
            6,
        ),
        (
            "POST /v1/chat/completions",
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#,
            None,
            7,
        ),
        (
            "POST /v1/responses",
            r#"{"model":"m","stream":true}"#,
            Some("response.completed"),
            11,
        ),
        (
            "POST /v1/images/generations",
            r#"{"stream":true}"#,
            Some("image_generation.completed"),
            4,
        ),
        (
            "POST /v1/images/edits",
            r#"{"stream":true}"#,
            Some("image_edit.completed"),
            4,
        ),
        (
            "POST /v1/messages",
            r#"{"model":"m","stream":true}"#,
            Some("message_stop"),
            9,
        ),
        (
            "POST /v1beta/models/m:streamGenerateContent?alt=sse",
            "{}",
            None,
            4,
        ),
    ] {
        for http in BOTH {
            let request = request(line, &[VERSION, "x-sim-events: 3"], body);
            let answer = send(http, simulator.first, request).await;
            assert!(
                answer
                    .header("content-type")
                    .starts_with("text/event-stream"),
                "{line}"
            );
            let events = answer.events();
            assert_eq!(events.len(), count, "{line}");
            assert_eq!(events.last().unwrap().0.as_deref(), last, "{line}");
            for (name, data) in &events {
                if data == "[DONE]" {
                    continue;
                }
                let data: Value = serde_json::from_str(data).unwrap();
                assert_eq!(name.as_deref(), data["type"].as_str(), "{line}");
            }
        }
    }
}

#[tokio::test]
async fn a_chat_stream_has_usage_only_on_demand() {
    let simulator = simulator().await;
    for (options, usage) in [("{}", false), (r#"{"include_usage":true}"#, true)] {
        let body = format!(r#"{{"model":"m","stream":true,"stream_options":{options}}}"#);
        let request = request("POST /v1/chat/completions", &[], &body);
        let answer = send(Http::One, simulator.first, request).await;
        let events = answer.events();
        assert_eq!(events.last().unwrap().1, "[DONE]");
        assert_eq!(
            events
                .iter()
                .any(|(_, data)| data.contains("prompt_tokens")),
            usage
        );
    }
}

#[tokio::test]
async fn a_stream_without_alt_sse_is_an_array() {
    let simulator = simulator().await;
    let request = request(
        "POST /v1beta/models/m:streamGenerateContent",
        &["x-sim-events: 2"],
        "{}",
    );
    let answer = send(Http::Two, simulator.first, request).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.json().as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_form_is_understood() {
    let simulator = simulator().await;
    let body = "--B\r\nContent-Disposition: form-data; name=\"stream\"\r\n\r\ntrue\r\n--B--\r\n";
    let mut request = request("POST /v1/images/edits", &["x-sim-events: 1"], body);
    request.headers_mut().insert(
        "content-type",
        "multipart/form-data; boundary=B".parse().unwrap(),
    );
    let answer = send(Http::One, simulator.first, request).await;
    assert_eq!(answer.events().len(), 2);
}
