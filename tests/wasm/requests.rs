//! Exchanges: what leaves for the upstream, chunk by chunk, and what never does.

use serde_json::Value;

use crate::documents::{gateway, loaded, loaded_with, sample, without_key};
use crate::host::{CallAnswer, Headers, Process, Vm, header, headers};
use crate::stream::{Stream, chat, exchange};

fn replaced(mut head: Headers, name: &str, value: &[u8]) -> Headers {
    head.retain(|(known, _)| known != name.as_bytes());
    head.push((name.as_bytes().to_vec(), value.to_vec()));
    head
}

fn json(stream: &Stream) -> Value {
    serde_json::from_slice(&stream.reply.as_ref().unwrap().body).unwrap()
}

#[test]
fn a_request_passes() {
    let process = Process::new();
    let mut vm = gateway(&process);
    let body = br#"{"model": "gpt-x", "messages": []}"#;
    let mut head = chat("key-a", Some(body.len()));
    head.extend(headers(&[
        ("x-trilane-cluster", "evil"),
        ("accept-encoding", "gzip"),
        ("x-api-key", "key-b"),
    ]));
    let stream = exchange(&mut vm, head, body);
    let sent = stream.upstream.head.as_ref().unwrap();
    assert_eq!(header(sent, "x-trilane-cluster"), Some(&b"cluster_a"[..]));
    for name in ["authorization", "x-api-key", "accept-encoding"] {
        assert_eq!(header(sent, name), None, "{name}");
    }
    assert_eq!(stream.upstream.body, body);
    assert!(stream.upstream.complete);
}

#[test]
fn addresses_of_a_key() {
    for (addresses, want) in [
        (r#"["192.0.2.0/24"]"#, 0),
        (r#"["192.0.2.8"]"#, 403),
        ("[]", 403),
    ] {
        let process = Process::new();
        let mut document = sample();
        document["keys"][0]["addresses"] = serde_json::from_str(addresses).unwrap();
        loaded_with(&process, &document);
        let mut vm = Vm::configured(&process, "gateway", "{}");
        let stream = exchange(&mut vm, chat("key-a", None), br#"{"model": "gpt-x"}"#);
        assert_eq!(stream.status(), want, "{addresses}: {:?}", stream.reply);
        assert_eq!(stream.upstream.head.is_some(), want == 0, "{addresses}");
    }
}

#[test]
fn refusals() {
    let odd = replaced(chat("key-a", None), "authorization", b"Bearer \xff\xfe");
    let odd_elsewhere = replaced(chat("key-a", None), "x-odd", b"\xff\xfe\x80");
    let body = br#"{"model": "gpt-x"}"#;
    let cases: [(&str, Headers, &[u8], u32); 8] = [
        ("no such key", chat("key-z", None), body, 401),
        ("key of other bytes", odd, body, 401),
        ("odd bytes elsewhere", odd_elsewhere, body, 0),
        (
            "path of other bytes",
            replaced(chat("key-a", None), ":path", b"/v1/\xff"),
            body,
            404,
        ),
        ("another protocol's group", chat("key-b", None), body, 403),
        (
            "a model not listed",
            chat("key-a", None),
            br#"{"model": "gpt-z"}"#,
            404,
        ),
        ("no model", chat("key-a", None), br#"{"x": 1}"#, 400),
        ("no body", chat("key-a", None), b"", 400),
    ];
    for (case, head, body, want) in cases {
        let process = Process::new();
        let mut vm = gateway(&process);
        let stream = exchange(&mut vm, head, body);
        assert_eq!(stream.status(), want, "{case}: {:?}", stream.reply);
        assert_eq!(stream.upstream.complete, want == 0, "{case}");
        assert_eq!(
            stream.upstream.head.is_some(),
            want == 0,
            "{case}: the upstream saw it"
        );
        // The next request of the same VM is none the worse for it.
        let next = exchange(&mut vm, chat("key-a", None), br#"{"model": "gpt-x"}"#);
        assert!(next.upstream.complete, "{case}: {next:?}");
    }
}

/// Cut at every byte, and byte by byte: always the same upstream request, or the same refusal.
#[test]
fn bodies_cut_anywhere() {
    let long = format!(
        r#"{{"pad": "{}", "model": "gpt-y", "n": 1}}"#,
        "x".repeat(1500)
    );
    let cases: [(&str, &[u8], Option<&str>, u32); 8] = [
        (
            "plain",
            br#"{"a": [1], "model": "gpt-x", "b": "\u00e9"}"#,
            None,
            0,
        ),
        (
            "renamed",
            br#"{"a": [1], "model": "gpt-y", "b": 2}"#,
            Some("gpt-y"),
            0,
        ),
        (
            "renamed, last",
            br#"{"a": 1, "model": "gpt-y"}"#,
            Some("gpt-y"),
            0,
        ),
        (
            "renamed after the window",
            long.as_bytes(),
            Some("gpt-y"),
            0,
        ),
        (
            "not listed",
            br#"{"a": 1, "model": "gpt-z", "b": 2}"#,
            None,
            404,
        ),
        (
            "twice",
            br#"{"model": "gpt-x", "model": "gpt-y"}"#,
            None,
            400,
        ),
        ("cut short", br#"{"model": "gpt-x", "a": [1"#, None, 400),
        ("more behind", br#"{"model": "gpt-x"} {"#, None, 400),
    ];
    let process = Process::new();
    let mut vm = gateway(&process);
    for (case, body, rename, want) in cases {
        let text = String::from_utf8(body.to_vec()).unwrap();
        let expected = rename.map_or(text.clone(), |name| {
            text.replace(name, "a-much-longer-name")
        });
        let step = if body.len() > 500 { 97 } else { 1 };
        for cut in (0..body.len()).step_by(step) {
            for with_length in [false, true] {
                let head = chat("key-a", with_length.then_some(body.len()));
                let mut stream = Stream::new(&mut vm, head);
                stream.head(&mut vm, false).unwrap();
                // The first round goes byte by byte.
                let pieces: Vec<&[u8]> = if cut == 0 {
                    body.chunks(1).collect()
                } else {
                    vec![&body[..cut], &body[cut..]]
                };
                let last = pieces.len() - 1;
                for (i, piece) in pieces.into_iter().enumerate() {
                    stream.body(&mut vm, piece, i == last).unwrap();
                }
                let at = format!("{case}, cut at {cut}, content-length: {with_length}");
                assert_eq!(stream.status(), want, "{at}");
                assert_eq!(stream.upstream.complete, want == 0, "{at}");
                if want == 0 {
                    assert_eq!(
                        String::from_utf8_lossy(&stream.upstream.body),
                        expected,
                        "{at}"
                    );
                    let named = header(stream.upstream.head.as_ref().unwrap(), "content-length");
                    if let Some(named) = named {
                        assert_eq!(named, expected.len().to_string().as_bytes(), "{at}");
                    }
                }
                stream.end(&mut vm).unwrap();
            }
        }
    }
}

/// HTTP/2 trailers, and bodies that Envoy inflated, end without a last chunk.
#[test]
fn bodies_ended_by_trailers() {
    let cases: [(&str, &[&[u8]], u32); 5] = [
        ("good", &[br#"{"model": "gpt-x"}"#], 0),
        ("good, in pieces", &[b"{\"model\": \"gp", b"t-x\"", b"}"], 0),
        ("undecided", &[br#"{"mod"#], 400),
        ("no body at all", &[], 400),
        ("decided but cut", &[br#"{"model": "gpt-x", "#], 400),
    ];
    for (case, pieces, want) in cases {
        let process = Process::new();
        let mut vm = gateway(&process);
        let mut stream = Stream::new(&mut vm, chat("key-a", None));
        stream.head(&mut vm, false).unwrap();
        for piece in pieces {
            stream.body(&mut vm, piece, false).unwrap();
        }
        stream.trailers(&mut vm).unwrap();
        stream.end(&mut vm).unwrap();
        assert_eq!(stream.status(), want, "{case}");
        assert_eq!(stream.upstream.complete, want == 0, "{case}");
    }
}

#[test]
fn answers() {
    let cases = [
        ("good", "200", "via_upstream", 0),
        ("upstream's own error", "500", "via_upstream", 0),
        ("upstream is busy", "429", "via_upstream", 0),
        ("our account refused", "401", "via_upstream", 502),
        ("our account has no right", "403", "via_upstream", 403),
        (
            "no connection",
            "503",
            "upstream_reset_before_response_started{connection_failure}",
            502,
        ),
        ("timeout", "504", "response_timeout", 502),
        ("client too slow", "408", "request_overall_timeout", 0),
        ("no status", "", "via_upstream", 502),
        ("odd status", "\u{fffd}", "via_upstream", 502),
        ("status below all", "099", "via_upstream", 502),
        ("status above all", "999", "via_upstream", 502),
        ("last status", "599", "via_upstream", 0),
    ];
    let no_credit = br#"{"error":{"code":"insufficient_quota"}}"#;
    let long = vec![b' '; 9000];
    let words: [(_, _, _, _, &[u8]); 3] = [
        (
            "our account has no credit",
            "400",
            "via_upstream",
            502,
            no_credit,
        ),
        ("the request is at fault", "400", "via_upstream", 0, b"{}"),
        ("too many words", "404", "via_upstream", 0, &long),
    ];
    let cases = cases.map(|(case, status, details, want)| (case, status, details, want, &b"x"[..]));
    for (case, status, details, want, body) in cases.into_iter().chain(words) {
        let process = Process::new();
        let mut vm = gateway(&process);
        let mut stream = Stream::new(&mut vm, chat("key-a", None));
        stream.head(&mut vm, false).unwrap();
        stream
            .body(&mut vm, br#"{"model": "gpt-x"}"#, true)
            .unwrap();
        let head = headers(&[(":status", status)]);
        stream.response_head(&mut vm, head, Some(details)).unwrap();
        if stream.status() == 0 {
            stream.response_body(&mut vm, body, false).unwrap();
            stream.response_body(&mut vm, b"", true).unwrap();
        }
        assert_eq!(stream.status(), want, "{case}");
        if want != 0 {
            assert!(json(&stream)["error"]["message"].is_string(), "{case}");
        }
        stream.end(&mut vm).unwrap();
    }
}

/// A client may be gone at any moment.
#[test]
fn an_exchange_may_end_anywhere() {
    for steps in 0..6 {
        let process = Process::new();
        let mut vm = gateway(&process);
        let mut stream = Stream::new(&mut vm, chat("key-a", None));
        for step in 0..steps {
            match step {
                0 => stream.head(&mut vm, false),
                1 => stream.body(&mut vm, br#"{"model": "#, false),
                2 => stream.body(&mut vm, br#""gpt-x""#, false),
                3 => stream.body(&mut vm, b"}", true),
                _ => stream.response_head(
                    &mut vm,
                    headers(&[(":status", "200")]),
                    Some("via_upstream"),
                ),
            }
            .unwrap();
        }
        stream.end(&mut vm).unwrap();
        let next = exchange(&mut vm, chat("key-a", None), br#"{"model": "gpt-x"}"#);
        assert!(next.upstream.complete, "after {steps} steps");
    }
}

/// The policy that a request began with decides it; the next one gets the new policy.
#[test]
fn a_policy_changes_under_way() {
    let process = Process::new();
    let mut loader = loaded(&process);
    let mut vm = Vm::configured(&process, "gateway", "{}");
    let mut stream = Stream::new(&mut vm, chat("key-a", None));
    stream.head(&mut vm, false).unwrap();
    stream.body(&mut vm, br#"{"mod"#, false).unwrap();

    let mut other = without_key("ka");
    other["groups"].as_array_mut().unwrap().remove(0);
    loader.load(CallAnswer::ok(other.to_string()));
    // So long policy and records are used that were read.
    process.pass(10);
    let meanwhile = exchange(&mut vm, chat("key-a", None), br#"{"model": "gpt-x"}"#);
    assert_eq!(meanwhile.status(), 401);

    stream.body(&mut vm, br#"el": "gpt-x"}"#, true).unwrap();
    assert!(stream.upstream.complete, "{stream:?}");
    assert_eq!(
        header(stream.upstream.head.as_ref().unwrap(), "x-trilane-cluster"),
        Some(&b"cluster_a"[..])
    );
    stream.end(&mut vm).unwrap();

    loader.load(CallAnswer::ok(sample().to_string()));
    process.pass(10);
    let back = exchange(&mut vm, chat("key-a", None), br#"{"model": "gpt-x"}"#);
    assert!(back.upstream.complete, "{back:?}");
}
