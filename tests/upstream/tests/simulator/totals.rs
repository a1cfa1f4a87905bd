//! The totals add up over all requests, with or without a journal.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::usage::{FORMS, UsageCall, kinds};
use crate::support::{BOTH, Http, Simulator, head, request, send, start};

const VERSION: &str = "anthropic-version: 2023-06-01";

/// The totals, once nothing is under way.
async fn settled(simulator: &Simulator) -> Value {
    until(simulator, |totals| {
        let under_way = ["receiving", "request_complete", "answering"];
        under_way
            .iter()
            .all(|state| totals["by_state"][*state] == 0)
    })
    .await
}

async fn until(simulator: &Simulator, holds: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let totals = simulator.control("GET /_sim/totals").await;
        if holds(&totals) {
            return totals;
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{totals}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn add(sum: &mut Value, usage: &Value) {
    for (name, number) in usage.as_object().into_iter().flatten() {
        sum[name] = (sum[name].as_u64().unwrap() + number.as_u64().unwrap()).into();
    }
}

#[tokio::test]
async fn totals_are_the_sums_of_the_answers() {
    for journal in [false, true] {
        let simulator = start(journal).await;
        let (mut sum, mut answered, mut aborted, mut with_usage) = (kinds(&[]), 0, 0, 0);
        for form in FORMS {
            for stream in [false, form != UsageCall::Embed] {
                for cut in ["", "x-sim-cut: after=3", "x-sim-status: 429"] {
                    let headers = [VERSION, "x-sim-usage: random", cut];
                    let headers = &headers[..if cut.is_empty() { 2 } else { 3 }];
                    for http in BOTH {
                        let request = request(form.line(stream), headers, form.body(stream));
                        let answer = send(http, simulator.first, request).await;
                        let streamed = answer.header("content-type").starts_with("text/");
                        let usage = if answer.cut && !streamed {
                            Value::Null
                        } else {
                            form.usage(&answer)
                        };
                        with_usage += u64::from(usage.is_object());
                        answered += u64::from(!answer.cut);
                        aborted += u64::from(answer.cut);
                        add(&mut sum, &usage);
                    }
                }
            }
        }
        let totals = settled(&simulator).await;
        assert_eq!(totals["issued"], sum, "journal: {journal}");
        assert_eq!(totals["requests"], answered + aborted);
        assert_eq!(totals["with_usage"], with_usage);
        assert_eq!(
            totals["by_state"],
            json!({
                "receiving": 0, "request_complete": 0, "request_aborted": 0, "answering": 0,
                "answered": answered, "answer_aborted": aborted,
            })
        );
        assert!(aborted > 0 && with_usage > 0);
    }
}

#[tokio::test]
async fn a_reset_forgets_what_is_under_way() {
    let simulator = start(false).await;
    let stall = |body| {
        request(
            "POST /v1/messages",
            &[VERSION, "x-sim-stall: after=1"],
            body,
        )
    };
    let body = r#"{"model":"m","stream":true}"#;
    let before = head(Http::Two, simulator.first, stall(body)).await.unwrap();
    let totals = until(&simulator, |totals| totals["with_usage"] == 1).await;
    assert_eq!(totals["by_state"]["answering"], 1);
    assert_eq!(totals["issued"]["output"], 1);

    simulator.control("DELETE /_sim/requests").await;
    assert_eq!(simulator.control("GET /_sim/totals").await, totals);
    assert_eq!(simulator.control("DELETE /_sim/totals").await, json!({}));
    let after = head(Http::Two, simulator.first, stall(body)).await.unwrap();
    until(&simulator, |totals| totals["by_state"]["answering"] == 1).await;
    drop(before);
    drop(after);
    let totals = settled(&simulator).await;
    assert_eq!(
        (&totals["requests"], &totals["with_usage"]),
        (&1.into(), &1.into())
    );
    assert_eq!(totals["by_state"]["answer_aborted"], 1);
}

#[tokio::test]
async fn the_most_at_a_time_is_remembered() {
    let simulator = start(false).await;
    let body = r#"{"model":"m","stream":true}"#;
    let stall = || {
        let headers = [VERSION, "x-sim-stall: after=1"];
        request("POST /v1/messages", &headers, body)
    };
    for (wanted, http) in [(3, Http::Two), (2, Http::One)] {
        simulator.control("DELETE /_sim/totals").await;
        let mut held = Vec::new();
        for _ in 0..wanted {
            held.push(head(http, simulator.first, stall()).await.unwrap());
        }
        drop(held);
        settled(&simulator).await;
        for _ in 0..wanted + 1 {
            send(
                http,
                simulator.first,
                request("POST /v1/messages", &[VERSION], body),
            )
            .await;
        }
        let totals = settled(&simulator).await;
        assert_eq!(totals["most_at_once"], wanted, "{totals}");
        assert_eq!(totals["requests"], 2 * wanted + 1);
    }
}
