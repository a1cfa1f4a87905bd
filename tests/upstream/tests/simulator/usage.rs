//! Answers report the usage that was asked for, where their vendors have it, and the journal knows what was told.

use serde_json::Value;

use crate::support::usage::{FORMS, STREAMED, UsageCall, kinds};
use crate::support::{BOTH, Http, ReceivedResponse, Simulator, request, send, simulator};

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
