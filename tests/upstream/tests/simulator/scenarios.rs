//! Usage in other places, and other ways to write an answer, as the crate's documentation says.

use serde_json::{Value, json};

use crate::support::play::{events, play, scene};
use crate::support::simulator;
use crate::support::usage::{STREAMED, UsageCall, kinds};

#[tokio::test]
async fn other_ways_to_write_say_the_same() {
    let simulator = simulator().await;
    for form in STREAMED {
        let plain = play(&simulator, form, true, &[]).await;
        for scenario in [
            "lf",
            "crlf",
            "cr",
            "pings",
            "multiline",
            "cr,pings,multiline",
        ] {
            let dressed = scene(&simulator, form, true, scenario).await;
            let mut said = events(&dressed);
            if scenario.contains("pings") && form == UsageCall::Messages {
                let pings = said.len();
                said.retain(|(name, _)| name.as_deref() != Some("ping"));
                // One of its own, and one before each event.
                assert_eq!(pings - said.len(), said.len() + 2);
                said.insert(2, (Some("ping".to_owned()), json!({"type": "ping"})));
            }
            assert_eq!(said, events(&plain), "{form:?} {scenario}");
            let text = String::from_utf8(dressed.body.to_vec()).unwrap();
            let (cr, lf) = (text.matches('\r').count(), text.matches('\n').count());
            let carries = form == UsageCall::Generate;
            let ends_well = match scenario {
                "lf" => cr == 0,
                "crlf" => cr == lf && text.matches("\r\n").count() == lf,
                "cr" | "cr,pings,multiline" => lf == 0,
                _ => (cr > 0) == carries,
            };
            assert!(ends_well, "{form:?} {scenario}: {cr} {lf}");
            if scenario.contains("multiline") {
                assert!(text.matches("data: ").count() > 2 * events(&plain).len());
            }
            if scenario == "pings" && form != UsageCall::Messages {
                assert_eq!(text.matches(": ping").count(), events(&plain).len());
            }
        }
    }
}

#[tokio::test]
async fn usage_stands_elsewhere() {
    let simulator = simulator().await;
    let asked = "x-sim-usage: input=100,cache_read=50,output=30";
    for (form, scenario, outputs) in [
        (UsageCall::Chat, "usage-on-last-choice", &[30][..]),
        (UsageCall::Chat, "usage-on-every-chunk", &[10, 20, 30]),
        (UsageCall::Messages, "cumulative", &[1, 10, 20, 30]),
        (UsageCall::Generate, "usage-at-end", &[30]),
        (UsageCall::Generate, "no-usage", &[]),
        (UsageCall::Chat, "no-usage", &[]),
        (UsageCall::Messages, "no-usage", &[]),
        (UsageCall::Responses, "no-usage", &[]),
    ] {
        simulator.control("DELETE /_sim/requests").await;
        let steer = format!("x-sim-scenario: {scenario}");
        let headers = [&steer, asked, "x-sim-events: 2", "x-sim-marker: m"];
        let answer = play(&simulator, form, true, &headers).await;
        let told: Vec<_> = events(&answer)
            .iter()
            .filter_map(|(_, data)| {
                let places = [
                    "/usage",
                    "/message/usage",
                    "/response/usage",
                    "/usageMetadata",
                ];
                places.iter().find_map(|place| data.pointer(place).cloned())
            })
            .filter_map(|usage| {
                let names = ["completion_tokens", "output_tokens", "candidatesTokenCount"];
                names.iter().find_map(|name| usage[*name].as_u64())
            })
            .collect();
        assert_eq!(told, outputs, "{form:?} {scenario}");
        let all = [("input", 100), ("cache_read", 50), ("output", 30)];
        let issued = if outputs.is_empty() {
            Value::Null
        } else {
            kinds(&all)
        };
        assert_eq!(form.usage(&answer), issued, "{form:?} {scenario}");
        let entry = simulator.entry("m", "answered").await;
        assert_eq!(entry["issued"], issued, "{form:?} {scenario}");
    }
}

#[tokio::test]
async fn a_cumulative_stream_corrects_its_beginning() {
    let simulator = simulator().await;
    let asked = "x-sim-usage: input=100,cache_read=50,cache_write_1h=7,output=30";
    let headers = [asked, "x-sim-scenario: cumulative"];
    let events = events(&play(&simulator, UsageCall::Messages, true, &headers).await);
    let begun = UsageCall::Messages.read(&events[0].1["message"]["usage"]);
    assert_eq!(
        begun,
        kinds(&[("input", 50), ("cache_write_1h", 7), ("output", 1)])
    );
    let deltas: Vec<_> = events
        .iter()
        .filter(|(name, _)| name.as_deref() == Some("message_delta"))
        .collect();
    assert_eq!(deltas.len(), 3);
    for (_, delta) in deltas {
        assert_eq!(delta["usage"]["input_tokens"], 100);
        assert_eq!(delta["usage"]["cache_creation_input_tokens"], 7);
    }
}

#[tokio::test]
async fn images_without_usage_are_still_images() {
    let simulator = simulator().await;
    for stream in [false, true] {
        simulator.control("DELETE /_sim/requests").await;
        let headers = ["x-sim-scenario: no-usage", "x-sim-marker: m"];
        let answer = play(&simulator, UsageCall::Images, stream, &headers).await;
        assert!(!String::from_utf8_lossy(&answer.body).contains("usage"));
        let entry = simulator.entry("m", "answered").await;
        assert_eq!(entry["issued"], kinds(&[("images", 1)]), "{stream}");
    }
}

#[tokio::test]
async fn big_and_misleading_texts() {
    let simulator = simulator().await;
    for form in [
        UsageCall::Chat,
        UsageCall::Responses,
        UsageCall::Messages,
        UsageCall::Generate,
    ] {
        for stream in [false, true] {
            let big = scene(&simulator, form, stream, "big").await;
            assert!(big.body.len() >= 1 << 20, "{form:?} {stream}");
            let decoy = scene(&simulator, form, stream, "decoy").await;
            let text = String::from_utf8(decoy.body.to_vec()).unwrap();
            assert!(
                text.contains(r#"\"usageMetadata\":{\"promptTokenCount\":9}"#),
                "{form:?}"
            );
            let plain = play(&simulator, form, stream, &[]).await;
            assert_eq!(form.usage(&decoy), form.usage(&plain), "{form:?} {stream}");
        }
    }
}

#[tokio::test]
async fn errors_leak_on_demand() {
    let simulator = simulator().await;
    for (form, status, kind) in [
        (UsageCall::Responses, 401, "/error/code"),
        (UsageCall::Chat, 403, "/error/type"),
        (UsageCall::Messages, 401, "/error/type"),
        (UsageCall::Messages, 403, "/error/type"),
        (UsageCall::Generate, 401, "/error/status"),
        (UsageCall::Generate, 403, "/error/status"),
    ] {
        let steer = format!("x-sim-status: {status}");
        let leaks = play(&simulator, form, false, &[&steer, "x-sim-scenario: leak"]).await;
        let quiet = play(&simulator, form, false, &[&steer]).await;
        for (answer, said) in [(&leaks, true), (&quiet, false)] {
            assert_eq!(answer.status, status, "{form:?}");
            let text = String::from_utf8_lossy(&answer.body);
            assert_eq!(
                text.contains("sk-upstream-secret"),
                said,
                "{form:?} {status}"
            );
        }
        assert_eq!(
            leaks.json().pointer(kind),
            quiet.json().pointer(kind),
            "{form:?} {status}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_played_is_refused() {
    let simulator = simulator().await;
    for (form, stream, headers) in [
        (UsageCall::Chat, false, &["x-sim-scenario: error"][..]),
        (UsageCall::Chat, true, &["x-sim-scenario: failed"]),
        (UsageCall::Responses, true, &["x-sim-scenario: cumulative"]),
        (UsageCall::Embed, false, &["x-sim-scenario: crlf"]),
        (UsageCall::Chat, true, &["x-sim-scenario: leak"]),
        (
            UsageCall::Chat,
            true,
            &["x-sim-scenario: error", "x-sim-status: 500"],
        ),
        (
            UsageCall::Chat,
            false,
            &["x-sim-scenario: error", "x-sim-status: 202"],
        ),
        (UsageCall::Chat, true, &["x-sim-scenario: nothing"]),
    ] {
        let answer = play(&simulator, form, stream, headers).await;
        assert_eq!(answer.status, 400, "{form:?} {headers:?}");
        assert_eq!(
            answer.header("x-sim"),
            "bad-instruction",
            "{form:?} {headers:?}"
        );
    }
}
