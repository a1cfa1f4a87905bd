//! The records of an exchange: that for the access log, and the metrics.

use serde_json::{Value, json};

use crate::documents::{gateway, loaded, sample};
use crate::host::{CallAnswer, Process, Vm, headers};
use crate::stream::{self, Stream, chat, exchange};

const ANSWER: &str = concat!(
    "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\": {}\"}}],\"usage\":null}\n\n",
    "data: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":1234,\"completion_tokens\":56,",
    "\"prompt_tokens_details\":{\"cached_tokens\":1024}}}\n\n",
    "data: [DONE]\n\n",
);

/// An exchange whose answer comes in pieces of `size` bytes.
fn answered(vm: &mut Vm, status: &str, answer: &str, size: usize) -> Value {
    stream::answered(vm, status, answer.as_bytes().chunks(size))
}

fn metric(process: &Process, name: &str) -> Option<u64> {
    let metrics = &process.lock().metrics;
    metrics
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| *value)
}

#[test]
fn an_answer_is_metered_in_any_pieces() {
    // The greatest is more than is copied out of Envoy at a time.
    let long = ANSWER.replace("\\\"usage\\\": {}", &"x".repeat(200_000));
    for (case, answer, size) in [
        ("byte by byte", ANSWER, 1),
        ("by seven", ANSWER, 7),
        ("whole", ANSWER, ANSWER.len()),
        ("long, whole", &long, long.len()),
        ("long, in two", &long, 150_000),
    ] {
        let process = Process::new();
        let mut vm = gateway(&process);
        let record = answered(&mut vm, "200", answer, size);
        vm.tick();
        for (name, want) in [
            ("trilane.outcome", json!("finished")),
            ("trilane.usage.status", json!("complete")),
            ("gen_ai.usage.input_tokens", json!(1234)),
            ("gen_ai.usage.output_tokens", json!(56)),
            ("gen_ai.usage.cache_read.input_tokens", json!(1024)),
            ("trilane.upstream_request_id", json!("up-7")),
            ("trilane.key.id", json!("ka")),
            ("http.response.body.size", json!(answer.len())),
        ] {
            assert_eq!(record[name], want, "{case}: {name}: {record}");
        }
        let labels = ";group=a;entry=responses;model=gpt-x";
        for (name, want) in [
            (
                format!("trilane_requests_total{labels};outcome=finished;"),
                1,
            ),
            (
                format!("trilane_usage_records_total{labels};status=complete;"),
                1,
            ),
            (format!("trilane_tokens_total{labels};kind=input;"), 210),
            (
                format!("trilane_tokens_total{labels};kind=cache_read;"),
                1024,
            ),
            (format!("trilane_tokens_total{labels};kind=output;"), 56),
        ] {
            assert_eq!(metric(&process, &name), Some(want), "{case}: {name}");
        }
    }
}

#[test]
fn every_exchange_is_counted_once() {
    let process = Process::new();
    let mut vm = gateway(&process);
    for _ in 0..3 {
        answered(&mut vm, "200", ANSWER, 100);
        answered(&mut vm, "500", "{}", 100);
        exchange(&mut vm, chat("key-a", None), br#"{"model": "made-up"}"#);
        exchange(&mut vm, chat("nobody", None), br#"{"model": "gpt-x"}"#);
    }
    let sum = |start: &str| -> u64 {
        let metrics = &process.lock().metrics;
        let named = metrics.iter().filter(|(name, _)| name.starts_with(start));
        named.map(|(_, value)| value).sum()
    };
    assert_eq!(sum("trilane_requests_total;"), 0, "written with the tick");
    vm.tick();
    assert_eq!(sum("trilane_requests_total;"), 12);
    assert_eq!(sum("trilane_usage_records_total;"), 12);
    for (name, want) in [
        (
            "trilane_rejections_total;group=a;reason=model_not_found;",
            3,
        ),
        ("trilane_rejections_total;group=;reason=invalid_api_key;", 3),
    ] {
        assert_eq!(metric(&process, name), Some(want), "{name}");
    }
    let metrics = process.lock().metrics.clone();
    let made_up = metrics.iter().find(|(name, _)| name.contains("made-up"));
    assert_eq!(made_up, None, "a name that a client made up is no label");
}

/// Envoy ends the root of a replaced plugin when its last stream is over: no tick follows.
#[test]
fn nothing_counted_is_lost_when_the_plugin_is_replaced() {
    const COUNTED: &str = "trilane_requests_total;group=a;entry=responses;model=gpt-x;outcome=";
    let process = Process::new();
    let [mut former, mut latter] = [(), ()].map(|()| gateway(&process));
    answered(&mut former, "200", ANSWER, 100);
    answered(&mut latter, "200", ANSWER, 100);
    former.end();
    let counted = |process: &Process| metric(process, &format!("{COUNTED}finished;"));
    assert_eq!(counted(&process), Some(1));
    latter.tick();
    assert_eq!(counted(&process), Some(2));
    latter.end();
    assert_eq!(counted(&process), Some(2), "once");
}

/// The prices of an exchange are those in force when it was admitted.
#[test]
fn a_charge_is_by_the_prices_at_admission() {
    let process = Process::new();
    let mut loader = loaded(&process);
    let mut priced = sample();
    priced["groups"][0]["models"][0]["prices"] = json!({"input": "1", "output": "10"});
    loader.load(CallAnswer::ok(priced.to_string()));
    let mut vm = Vm::configured(&process, "gateway", "{}");
    let mut stream = Stream::new(&mut vm, chat("key-a", None));
    stream.head(&mut vm, false).unwrap();
    let body = br#"{"model": "gpt-x", "stream": true}"#;
    stream.body(&mut vm, body, true).unwrap();
    priced["groups"][0]["models"][0]["prices"] = json!({"input": "1000", "output": "1000"});
    loader.load(CallAnswer::ok(priced.to_string()));
    let head = headers(&[(":status", "200")]);
    stream
        .response_head(&mut vm, head, Some("via_upstream"))
        .unwrap();
    let (first, second) = ANSWER.split_at(200);
    let mut got = Vec::new();
    for (piece, end) in [(first, false), (second, true)] {
        got.extend(
            stream
                .response_body(&mut vm, piece.as_bytes(), end)
                .unwrap(),
        );
    }
    let events: Vec<&str> = ANSWER.split_inclusive("\n\n").collect();
    let want = [events[0], events[2]].concat();
    assert_eq!(
        String::from_utf8(got).unwrap(),
        want,
        "nobody asked for the usage event"
    );
    let record = stream.end(&mut vm).unwrap().unwrap();
    // (1234 × 1 + 56 × 10) / 10^6 × 0.2
    assert_eq!(record["trilane.charge"], "0.0003588");
}
