//! Streams and documents that end badly, as the crate's documentation says.

use serde_json::Value;

use crate::support::play::{events, play, scene};
use crate::support::usage::{FORMS, UsageCall};
use crate::support::{Http, request, send, simulator};

#[tokio::test]
async fn endings_of_streams() {
    let simulator = simulator().await;
    for (form, scenario, count, last, pointer, value) in [
        (
            UsageCall::Chat,
            "error",
            7,
            None,
            "/error/type",
            "server_error",
        ),
        (
            UsageCall::Chat,
            "truncated",
            6,
            None,
            "/choices/0/delta/content",
            "pong ",
        ),
        (
            UsageCall::Chat,
            "torn",
            6,
            None,
            "/choices/0/delta/content",
            "pong ",
        ),
        (
            UsageCall::Chat,
            "no-end",
            8,
            None,
            "/object",
            "chat.completion.chunk",
        ),
        (
            UsageCall::Responses,
            "error",
            10,
            Some("error"),
            "/code",
            "server_error",
        ),
        (
            UsageCall::Responses,
            "failed",
            10,
            Some("response.failed"),
            "/response/error/code",
            "rate_limit_exceeded",
        ),
        (
            UsageCall::Responses,
            "incomplete",
            13,
            Some("response.incomplete"),
            "/response/incomplete_details/reason",
            "max_output_tokens",
        ),
        (
            UsageCall::Responses,
            "truncated",
            9,
            Some("response.output_text.delta"),
            "/delta",
            "pong ",
        ),
        (
            UsageCall::Responses,
            "torn",
            9,
            Some("response.output_text.delta"),
            "/delta",
            "pong ",
        ),
        (
            UsageCall::Responses,
            "no-end",
            12,
            Some("response.output_item.done"),
            "/item/status",
            "completed",
        ),
        (
            UsageCall::Images,
            "error",
            6,
            Some("error"),
            "/error/type",
            "server_error",
        ),
        (
            UsageCall::Edits,
            "truncated",
            5,
            Some("image_edit.partial_image"),
            "/type",
            "image_edit.partial_image",
        ),
        (
            UsageCall::Messages,
            "error",
            9,
            Some("error"),
            "/error/type",
            "overloaded_error",
        ),
        (
            UsageCall::Messages,
            "truncated",
            8,
            Some("content_block_delta"),
            "/delta/text",
            "pong ",
        ),
        (
            UsageCall::Messages,
            "no-end",
            10,
            Some("message_delta"),
            "/delta/stop_reason",
            "end_turn",
        ),
        (
            UsageCall::Generate,
            "error",
            6,
            None,
            "/error/status",
            "UNAVAILABLE",
        ),
        (
            UsageCall::Generate,
            "truncated",
            5,
            None,
            "/candidates/0/content/parts/0/text",
            "pong ",
        ),
        (
            UsageCall::Generate,
            "torn",
            5,
            None,
            "/candidates/0/content/parts/0/text",
            "pong ",
        ),
    ] {
        let answer = scene(&simulator, form, true, scenario).await;
        assert!(!answer.cut, "{form:?} {scenario}: a clean end");
        let events = events(&answer);
        let (name, data) = events.last().unwrap();
        assert_eq!(
            (events.len(), name.as_deref()),
            (count, last),
            "{form:?} {scenario}"
        );
        assert_eq!(
            data.pointer(pointer),
            Some(&value.into()),
            "{form:?} {scenario}"
        );
        let whole = answer.body.ends_with(b"\n\n") || answer.body.ends_with(b"\r\n\r\n");
        assert_eq!(whole, scenario != "torn", "{form:?} {scenario}");
    }
}

#[tokio::test]
async fn endings_tell_what_stands_before_them() {
    let simulator = simulator().await;
    for (form, scenario, issued) in [
        (UsageCall::Chat, "error", false),
        (UsageCall::Chat, "no-end", true),
        (UsageCall::Responses, "error", false),
        (UsageCall::Responses, "failed", false),
        (UsageCall::Responses, "incomplete", true),
        (UsageCall::Images, "error", false),
        (UsageCall::Messages, "error", true),
        (UsageCall::Messages, "torn", true),
        (UsageCall::Generate, "error", true),
        (UsageCall::Generate, "truncated", true),
        (UsageCall::Generate, "torn", true),
        (UsageCall::Images, "torn", false),
    ] {
        simulator.control("DELETE /_sim/requests").await;
        let steer = format!("x-sim-scenario: {scenario}");
        let headers = [steer.as_str(), "x-sim-marker: m", "x-sim-usage: random"];
        let answer = play(&simulator, form, true, &headers).await;
        let entry = simulator.entry("m", "answered").await;
        assert_eq!(entry["issued"], form.usage(&answer), "{form:?} {scenario}");
        assert_eq!(entry["issued"].is_object(), issued, "{form:?} {scenario}");
    }
}

#[tokio::test]
async fn endings_of_documents() {
    let simulator = simulator().await;
    for (scenario, status, usage) in [
        ("incomplete", "incomplete", true),
        ("failed", "failed", false),
    ] {
        let response = scene(&simulator, UsageCall::Responses, false, scenario)
            .await
            .json();
        assert_eq!(response["status"], status);
        assert_eq!(response["usage"].is_object(), usage, "{scenario}");
    }
    for form in FORMS {
        let torn = scene(&simulator, form, false, "torn").await;
        assert!(!torn.cut && torn.header("content-length") == torn.body.len().to_string());
        let text = String::from_utf8(torn.body.to_vec()).unwrap();
        let error = serde_json::from_str::<Value>(&text).unwrap_err();
        assert!(
            error.is_eof() && !text.contains("usage"),
            "{form:?}: {text}"
        );
    }
}

#[tokio::test]
async fn an_array_ends_badly_too() {
    let simulator = simulator().await;
    for (scenario, whole, parts, closed) in [
        ("error", 3, 3, true),
        ("truncated", 2, 2, false),
        ("torn", 2, 3, false),
    ] {
        let steer = format!("x-sim-scenario: {scenario}");
        let line = "POST /v1beta/models/m:streamGenerateContent";
        let request = request(line, &[&steer, "x-sim-events: 2"], "{}");
        let answer = send(Http::Two, simulator.first, request).await;
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        let elements: Vec<_> = text
            .strip_prefix('[')
            .unwrap()
            .trim_end_matches(']')
            .split(",\r\n")
            .map(serde_json::from_str::<Value>)
            .collect();
        let parsed = elements.iter().filter(|element| element.is_ok()).count();
        assert_eq!(
            (parsed, elements.len()),
            (whole, parts),
            "{scenario}: {text}"
        );
        assert_eq!(
            serde_json::from_str::<Value>(&text).is_ok(),
            closed,
            "{scenario}"
        );
    }
}
