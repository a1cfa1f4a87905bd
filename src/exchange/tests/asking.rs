//! Streams that are made to report their usage, and the event that those do not see who did not ask for it.

use super::*;

const ASK: &str = r#""stream_options":{"include_usage":true}"#;
const WORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A policy in which groups differ in what they say of `include_usage`; `gpt-p` has prices, `gpt-x` has none.
fn priced() -> (InForce, FakeWorld) {
    let models = json!([
        {"id": "gpt-x"},
        {"id": "gpt-p", "prices": {"input": "1", "output": "2"}},
        {"id": "gpt-r", "upstream": "gpt-r-1", "prices": {"output": "2"}},
    ]);
    let mut document = document();
    for (id, include_usage) in [
        ("u", json!(null)),
        ("u-yes", json!(true)),
        ("u-no", json!(false)),
    ] {
        let mut group = json!({"id": id, "protocol": "A", "multiplier": "1", "cluster": "ca", "models": models});
        if !include_usage.is_null() {
            group["include_usage"] = include_usage;
        }
        document["groups"].as_array_mut().unwrap().push(group);
        let key = json!({"id": id, "sha256": sha256(&format!("k-{id}")), "group": id});
        document["keys"].as_array_mut().unwrap().push(key);
    }
    setting_of(&document)
}

/// An exchange whose request was sent in pieces of `step` bytes, and what the upstream got of the body.
fn sent(
    group: &str,
    body: &str,
    step: usize,
    (in_force, world): &(InForce, FakeWorld),
) -> (Exchange, String, Edits) {
    let headers = [
        format!("authorization: Bearer k-{group}"),
        format!("content-length: {}", body.len()),
    ];
    let headers = headers.each_ref().map(String::as_str);
    let mut exchange = Exchange::default();
    let head = head("POST /v1/chat/completions", &headers);
    let outcome = exchange.on_request_head(&head, false, Some(in_force), world);
    assert_eq!(outcome, Outcome::Pause, "{body}");
    let (mut held, mut got, mut head_edits) = (Vec::new(), Vec::new(), None);
    let chunks: Vec<&[u8]> = body.as_bytes().chunks(step).collect();
    for (i, chunk) in chunks.iter().enumerate() {
        held.extend_from_slice(chunk);
        match exchange.on_request_body(chunk, i + 1 == chunks.len(), world) {
            Outcome::Pause => {}
            Outcome::Continue(edits) => {
                for edit in edits.body.iter().rev() {
                    held.splice(edit.span.clone(), edit.bytes.iter().copied());
                }
                got.append(&mut held);
                head_edits.get_or_insert(edits);
            }
            Outcome::Reply(reply) => panic!("{body}: {reply:?}"),
        }
    }
    let got = String::from_utf8(got).unwrap();
    (exchange, got, head_edits.unwrap())
}

#[test]
fn who_is_asked_to_report_usage() {
    let setting = priced();
    let plain = |model| format!(r#"{{"model":"{model}","stream":true}}"#);
    let asked = |model| format!(r#"{{"model":"{model}","stream":true,{ASK}}}"#);
    let late = format!(
        r#"{{"stream":true,"stream_options":{{}},"x":"{}","model":"gpt-p"}}"#,
        "x".repeat(2000)
    );
    let late_unpriced = late.replace("gpt-p", "gpt-x");
    let option = |body: &str| body.replace("{}", r#"{"include_usage":true}"#);
    let cases = [
        ("priced", "u", plain("gpt-p"), asked("gpt-p")),
        ("priced and renamed", "u", plain("gpt-r"), asked("gpt-r-1")),
        ("without prices", "u", plain("gpt-x"), plain("gpt-x")),
        (
            "told to, without prices",
            "u-yes",
            plain("gpt-x"),
            asked("gpt-x"),
        ),
        ("told not to", "u-no", plain("gpt-p"), plain("gpt-p")),
        (
            "priced, no stream",
            "u",
            r#"{"model":"gpt-p"}"#.to_owned(),
            r#"{"model":"gpt-p"}"#.to_owned(),
        ),
        (
            "before the model is known, beyond the window",
            "u",
            late.clone(),
            option(&late),
        ),
        (
            "the same, and then it has no prices",
            "u",
            late_unpriced.clone(),
            option(&late_unpriced),
        ),
    ];
    for (case, group, body, want) in cases {
        for step in [1, 7, 100, body.len()] {
            let case = format!("{case}, by {step}");
            // The bodies in one piece know the model at once.
            if step == body.len() && body == late_unpriced {
                continue;
            }
            let (_, got, edits) = sent(group, &body, step, &setting);
            assert_eq!(got, want, "{case}");
            if body.len() < 1024 {
                let length = set(&edits, "content-length").map(str::to_owned);
                let kept = (got.len() == body.len() && length.is_none())
                    || length == Some(got.len().to_string());
                assert!(kept, "{case}: what fits the window goes with its length");
                assert!(!removed(&edits).contains(&"content-length"), "{case}");
            }
        }
    }
}

#[test]
fn only_who_asked_sees_the_usage_event() {
    let setting = priced();
    let body = |more: &str| format!(r#"{{"model":"gpt-p","stream":true{more}}}"#);
    let cases = [
        ("not asked", "u", body(""), true),
        ("told to by the group", "u-yes", body(""), true),
        (
            "the client said no",
            "u",
            body(r#","stream_options":{"include_usage":false}"#),
            true,
        ),
        ("asked", "u", body(&format!(",{ASK}")), false),
        ("told not to by the group", "u-no", body(""), false),
    ];
    for (case, group, body, taken_out) in cases {
        for step in [1, 10, 1000] {
            let case = format!("{case}, by {step}");
            let (mut exchange, ..) = sent(group, &body, body.len(), &setting);
            let head = FakeHead {
                status: 200,
                details: UPSTREAM,
            };
            let outcome = exchange.on_response_head(&head, false, &Unlimited);
            let Outcome::Continue(edits) = outcome else {
                panic!("{case}: {outcome:?}");
            };
            let chunked = removed(&edits).contains(&"content-length");
            assert_eq!(chunked, taken_out, "{case}");
            assert_eq!(exchange.edits_response(), taken_out, "{case}");
            let stream = [WORD, USAGE, DONE].concat();
            let mut got = Vec::new();
            for chunk in stream.as_bytes().chunks(step) {
                let edited = exchange.on_response_body(chunk, chunk.len(), false, &setting.1);
                got.extend(edited.unwrap_or_else(|| chunk.to_vec()));
            }
            got.extend(
                exchange
                    .on_response_body(&[], 0, true, &setting.1)
                    .unwrap_or_default(),
            );
            let want = if taken_out {
                [WORD, DONE].concat()
            } else {
                stream.clone()
            };
            assert_eq!(String::from_utf8(got).unwrap(), want, "{case}");
            let record = exchange.on_done(&FakeEnd(""), &setting.1).unwrap();
            let usage = record.usage().expect(&case);
            assert_eq!((usage.input_tokens(), usage.output_tokens()), (7, 5));
            assert_eq!(record.response_bytes, want.len() as u64, "{case}");
            assert_eq!(record.charge.unwrap().to_string(), "0.000017", "{case}");
        }
    }
}

#[test]
fn an_error_is_never_changed() {
    let setting = priced();
    let (mut exchange, ..) = sent("u", r#"{"model":"gpt-p","stream":true}"#, 50, &setting);
    let head = FakeHead {
        status: 500,
        details: UPSTREAM,
    };
    exchange.on_response_head(&head, false, &Unlimited);
    assert!(!exchange.edits_response());
    let edited = exchange.on_response_body(USAGE.as_bytes(), USAGE.len(), true, &setting.1);
    assert_eq!(edited, None);
}
