//! Answers report the usage that was asked for, where their vendors have it, and the journal knows what was told.

use serde_json::{Value, json};

use crate::support::usage::{FORMS, STREAMED, UsageCall, kinds};
use crate::support::{BOTH, Http, ReceivedResponse, Simulator, request, send, simulator, sse};

const VERSION: &str = "anthropic-version: 2023-06-01";
const ASKED: &str = "x-sim-usage: input=211,input_image=40,cache_read=1025,cache_write_5m=201,\
                     cache_write_1h=101,tool_use=11,output=57,reasoning=33";

/// Returns the part of `ASKED` that an answer of this form can report.
fn told(form: UsageCall) -> Value {
    match form {
        UsageCall::Chat | UsageCall::Responses => kinds(&[
            ("input", 211),
            ("cache_read", 1025),
            ("cache_write_5m", 302),
            ("output", 57),
            ("reasoning", 33),
        ]),
        UsageCall::Images | UsageCall::Edits => kinds(&[
            ("input", 211),
            ("input_image", 40),
            ("output", 57),
            ("images", 1),
        ]),
        UsageCall::Messages => kinds(&[
            ("input", 211),
            ("cache_read", 1025),
            ("cache_write_5m", 201),
            ("cache_write_1h", 101),
            ("output", 90),
        ]),
        UsageCall::Generate => kinds(&[
            ("input", 211),
            ("cache_read", 1025),
            ("tool_use", 11),
            ("output", 57),
            ("reasoning", 33),
        ]),
        UsageCall::Embed => kinds(&[("input", 211)]),
    }
}

async fn ask(
    simulator: &Simulator,
    form: UsageCall,
    stream: bool,
    headers: &[&str],
) -> ReceivedResponse {
    let headers = [&[VERSION], headers].concat();
    let request = request(form.line(stream), &headers, form.body(stream));
    send(Http::Two, simulator.first, request).await
}

fn json_events(answer: &ReceivedResponse) -> Vec<Value> {
    let events = sse::parse(&answer.body).into_iter();
    events
        .filter(|(_, data)| data != "[DONE]")
        .map(|(_, data)| serde_json::from_str(&data).unwrap())
        .collect()
}

#[tokio::test]
async fn answers_report_what_was_asked_for() {
    let simulator = simulator().await;
    for http in BOTH {
        for (form, stream) in FORMS
            .map(|form| (form, false))
            .into_iter()
            .chain(STREAMED.map(|form| (form, true)))
        {
            simulator.control("DELETE /_sim/requests").await;
            let headers = [VERSION, ASKED, "x-sim-marker: m"];
            let request = request(form.line(stream), &headers, form.body(stream));
            let answer = send(http, simulator.first, request).await;
            assert_eq!(form.usage(&answer), told(form), "{form:?} {stream}");
            let entry = simulator.entry("m", "answered").await;
            assert_eq!(entry["issued"], told(form), "{form:?} {stream}");
        }
    }
}

#[tokio::test]
async fn without_instructions_the_fixtures_are_issued() {
    let simulator = simulator().await;
    for (form, stream) in FORMS
        .map(|form| (form, false))
        .into_iter()
        .chain(STREAMED.map(|form| (form, true)))
    {
        simulator.control("DELETE /_sim/requests").await;
        let answer = ask(&simulator, form, stream, &["x-sim-marker: m"]).await;
        let entry = simulator.entry("m", "answered").await;
        assert_eq!(entry["issued"], form.usage(&answer), "{form:?} {stream}");
        assert_eq!(
            entry["issued"].is_null(),
            form == UsageCall::Embed,
            "{form:?}"
        );
    }
}

#[tokio::test]
async fn a_chat_stream_tells_usage_only_on_demand() {
    let simulator = simulator().await;
    for (options, told) in [("{}", false), (r#"{"include_usage":true}"#, true)] {
        simulator.control("DELETE /_sim/requests").await;
        let body = format!(r#"{{"model":"m","stream":true,"stream_options":{options}}}"#);
        let request = request(
            UsageCall::Chat.line(true),
            &[ASKED, "x-sim-marker: m"],
            &body,
        );
        let answer = send(Http::One, simulator.first, request).await;
        let with_usage: Vec<_> = json_events(&answer)
            .into_iter()
            .filter(|chunk| chunk["usage"].is_object())
            .collect();
        assert_eq!(with_usage.len(), usize::from(told), "{options}");
        assert!(with_usage.iter().all(|chunk| chunk["choices"] == json!([])));
        let entry = simulator.entry("m", "answered").await;
        assert_eq!(entry["issued"].is_object(), told, "{options}");
    }
}

#[tokio::test]
async fn a_messages_stream_begins_with_the_input() {
    let simulator = simulator().await;
    let answer = ask(&simulator, UsageCall::Messages, true, &[ASKED]).await;
    let events = json_events(&answer);
    let mut begun = told(UsageCall::Messages);
    begun["output"] = 1.into();
    assert_eq!(
        UsageCall::Messages.read(&events[0]["message"]["usage"]),
        begun
    );
    let ended = &events[events.len() - 2];
    assert_eq!(ended["usage"], json!({"output_tokens": 90}));
}

#[tokio::test]
async fn generated_content_has_growing_snapshots() {
    let simulator = simulator().await;
    let answer = ask(
        &simulator,
        UsageCall::Generate,
        true,
        &[ASKED, "x-sim-events: 2"],
    )
    .await;
    let outputs: Vec<_> = json_events(&answer)
        .iter()
        .map(|event| {
            let mut kinds = UsageCall::Generate.read(&event["usageMetadata"]);
            let output = kinds["output"].take();
            kinds["output"] = told(UsageCall::Generate)["output"].clone();
            assert_eq!(
                kinds,
                told(UsageCall::Generate),
                "all but output is final at once"
            );
            output
        })
        .collect();
    assert_eq!(outputs, [19, 38, 57]);
}

#[tokio::test]
async fn images_are_counted() {
    let simulator = simulator().await;
    for (body, asked, stream, images) in [
        (r#"{"n":3}"#, "output=5", false, 3),
        (r#"{"n":3}"#, "output=5,images=2", false, 2),
        (r#"{"n":3}"#, "images=0", false, 0),
        (r#"{"n":3,"stream":true}"#, "output=5", true, 1),
        (r#"{"n":3,"stream":true}"#, "output=5,images=4", true, 4),
    ] {
        simulator.control("DELETE /_sim/requests").await;
        let steer = format!("x-sim-usage: {asked}");
        let headers = [steer.as_str(), "x-sim-marker: m"];
        let request = request(UsageCall::Images.line(stream), &headers, body);
        let answer = send(Http::One, simulator.first, request).await;
        assert_eq!(
            UsageCall::Images.usage(&answer)["images"],
            images,
            "{body} {asked}"
        );
        let entry = simulator.entry("m", "answered").await;
        assert_eq!(
            entry["issued"],
            UsageCall::Images.usage(&answer),
            "{body} {asked}"
        );
    }
}

#[tokio::test]
async fn random_usage_differs_but_not_for_the_same_marker() {
    let simulator = simulator().await;
    for form in FORMS {
        let mut seen = Vec::new();
        for marker in [
            "",
            "",
            "x-sim-marker: a",
            "x-sim-marker: a",
            "x-sim-marker: b",
        ] {
            let headers = ["x-sim-usage: random", marker];
            let headers = &headers[..if marker.is_empty() { 1 } else { 2 }];
            seen.push(form.usage(&ask(&simulator, form, false, headers).await));
        }
        assert_ne!(seen[0], seen[1], "{form:?}");
        assert_eq!(seen[2], seen[3], "{form:?}");
        assert_ne!(seen[3], seen[4], "{form:?}");
    }
}

#[tokio::test]
async fn what_is_cut_off_is_not_issued() {
    let simulator = simulator().await;
    let begun = |output| {
        let mut kinds = told(UsageCall::Messages);
        kinds["output"] = output;
        kinds
    };
    let snapshot = |output| {
        let mut kinds = told(UsageCall::Generate);
        kinds["output"] = output;
        kinds
    };
    for (form, stream, cut, issued) in [
        (UsageCall::Chat, false, "body", Value::Null),
        (UsageCall::Chat, true, "after=7", Value::Null),
        (UsageCall::Chat, true, "after=8", told(UsageCall::Chat)),
        (UsageCall::Responses, true, "after=12", Value::Null),
        (UsageCall::Images, true, "after=5", Value::Null),
        (UsageCall::Messages, true, "body", Value::Null),
        (UsageCall::Messages, true, "after=1", begun(1.into())),
        (UsageCall::Messages, true, "after=9", begun(1.into())),
        (UsageCall::Messages, true, "after=10", begun(90.into())),
        (UsageCall::Generate, true, "after=0", Value::Null),
        (UsageCall::Generate, true, "after=1", snapshot(9.into())),
        (UsageCall::Generate, true, "after=6", snapshot(57.into())),
    ] {
        simulator.control("DELETE /_sim/requests").await;
        let steer = format!("x-sim-cut: {cut}");
        let answer = ask(
            &simulator,
            form,
            stream,
            &[ASKED, &steer, "x-sim-marker: m"],
        )
        .await;
        assert!(answer.cut, "{form:?} {cut}");
        let entry = simulator.entry("m", "answer_aborted").await;
        assert_eq!(entry["issued"], issued, "{form:?} {cut}");
        if stream {
            assert_eq!(form.usage(&answer), issued, "{form:?} {cut}");
        }
    }
}

#[tokio::test]
async fn nonsense_is_refused() {
    let simulator = simulator().await;
    for asked in [
        "input",
        "inputs=1",
        "input=-1",
        "input=1,input=2",
        "randomly",
    ] {
        let steer = format!("x-sim-usage: {asked}");
        let answer = ask(&simulator, UsageCall::Chat, false, &[&steer]).await;
        assert_eq!(answer.status, 400, "{asked}");
        assert_eq!(answer.header("x-sim"), "bad-instruction", "{asked}");
    }
}
