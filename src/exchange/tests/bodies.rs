//! Bodies in pieces: what is held, what leaves, what is refused after part of it has left.

use super::*;
use crate::exchange::request_body::RequestBody;
use proptest::prelude::*;

/// The request that an upstream would have received of a body sent in `chunks`, by Envoy's rules: held bytes
/// are given again with the next ones, edits apply to what is held.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    pub(super) head: Option<Edits>,
    pub(super) body: Vec<u8>,
    complete: bool,
}

pub(super) struct RequestHead<'a> {
    pub(super) request: &'a str,
    pub(super) headers: &'a [&'a str],
}

const A: RequestHead<'_> = RequestHead {
    request: "POST /v1/responses",
    headers: &["authorization: Bearer k-a"],
};
/// Of a group whose streams shall report usage.
const USAGE: RequestHead<'_> = RequestHead {
    request: "POST /v1/chat/completions",
    headers: &["authorization: Bearer k-a-usage"],
};
const B: RequestHead<'_> = RequestHead {
    request: "POST /v1/messages",
    headers: &["x-api-key: k-b", "anthropic-version: 2023-06-01"],
};
const C: RequestHead<'_> = RequestHead {
    request: "POST /v1beta/models/gem-1:generateContent",
    headers: &["x-goog-api-key: k-c"],
};

/// Sends a body; `trailers` ends it with trailers rather than with its last chunk.
fn send(client: &RequestHead<'_>, chunks: &[&[u8]], trailers: bool) -> (Upstream, Option<u16>) {
    send_in(&document(), client, chunks, trailers)
}

/// The same by another document.
pub(super) fn send_in(
    document: &Value,
    client: &RequestHead<'_>,
    chunks: &[&[u8]],
    trailers: bool,
) -> (Upstream, Option<u16>) {
    let (in_force, world) = setting_of(document);
    let length = format!(
        "content-length: {}",
        chunks.iter().map(|c| c.len()).sum::<usize>()
    );
    let mut headers = client.headers.to_vec();
    headers.push(&length);
    let head = head(client.request, &headers);
    let mut exchange = Exchange::default();
    let outcome = exchange.on_request_head(&head, false, Some(&in_force), &world);
    if let Some((status, ..)) = reply_of(&outcome) {
        return (Upstream::default(), Some(status));
    }
    let mut upstream = Upstream::default();
    let mut held: Vec<u8> = Vec::new();
    let last = chunks.len().saturating_sub(1);
    let mut steps: Vec<(&[u8], bool)> = Vec::new();
    for (i, chunk) in chunks.iter().enumerate() {
        steps.push((chunk, i == last && !trailers));
    }
    if trailers || chunks.is_empty() {
        steps.push((b"", true));
    }
    for (chunk, end) in steps {
        held.extend_from_slice(chunk);
        let outcome = exchange.on_request_body(chunk, end, &Unlimited);
        match outcome {
            // Behind the head Envoy's buffer has what its router keeps for another attempt.
            Outcome::Pause => assert!(upstream.head.is_none(), "held with its head or not at all"),
            Outcome::Continue(edits) => {
                let withheld = held.split_off(held.len() - edits.withheld);
                for edit in edits.body.iter().rev() {
                    held.splice(edit.span.clone(), edit.bytes.iter().copied());
                }
                upstream.head.get_or_insert(edits);
                upstream.body.append(&mut held);
                held = withheld;
                upstream.complete |= end;
            }
            Outcome::Reply(reply) => {
                assert!(matches!(exchange.phase, Phase::Replied(_)));
                return (upstream, Some(reply.status));
            }
        }
    }
    (upstream, None)
}

pub(super) fn content_length(upstream: &Upstream) -> Option<usize> {
    let edits = upstream.head.as_ref()?;
    match set(edits, "content-length") {
        Some(text) => text.parse().ok(),
        None if removed(edits).contains(&"content-length") => None,
        None => Some(usize::MAX), // as the client sent it
    }
}

#[test]
fn bodies_in_one_piece() {
    let long = format!(r#"{{"pad":"{}","model":"gpt-x"}}"#, "x".repeat(3000));
    let too_long = format!(r#"{{"pad":"{}","model":"gpt-x"}}"#, "x".repeat(5000));
    let cases: &[(&str, &RequestHead<'_>, &str, Option<u16>)] = &[
        ("A", &A, r#"{"model":"gpt-x","input":"hi"}"#, None),
        ("model last, beyond the window", &A, &long, None),
        ("longer than allowed", &A, &too_long, Some(413)),
        ("no model", &A, r#"{"input":"hi"}"#, Some(400)),
        (
            "nested model only",
            &A,
            r#"{"input":{"model":"gpt-x"}}"#,
            Some(400),
        ),
        (
            "model twice",
            &A,
            r#"{"model":"gpt-x","model":"gpt-r"}"#,
            Some(400),
        ),
        ("not a string", &A, r#"{"model":7}"#, Some(400)),
        ("cut", &A, r#"{"model":"gpt-x""#, Some(400)),
        (
            "more after the end",
            &A,
            r#"{"model":"gpt-x"} {}"#,
            Some(400),
        ),
        ("empty", &A, "", Some(400)),
        ("unknown model", &A, r#"{"model":"gpt-9"}"#, Some(404)),
        (
            "B name folds",
            &B,
            r#"{"model":"claude-z-2-20260101-thinking"}"#,
            None,
        ),
        ("not entitled", &B, r#"{"model":"claude-y-1"}"#, Some(403)),
        ("C needs no model", &C, r#"{"contents":[]}"#, None),
        (
            "C, the same model",
            &C,
            r#"{"model":"models/gem-1","contents":[]}"#,
            None,
        ),
        (
            "C, another model",
            &C,
            r#"{"model":"gem-2","contents":[]}"#,
            Some(400),
        ),
        ("C, malformed", &C, r#"{"contents":[}"#, Some(400)),
    ];
    for (case, client, body, want) in cases {
        for trailers in [false, true] {
            let (upstream, status) = send(client, &[body.as_bytes()], trailers);
            assert_eq!(status, *want, "{case}, trailers {trailers}");
            if want.is_none() {
                assert_eq!(upstream.body, body.as_bytes(), "{case}: byte for byte");
                assert_eq!(content_length(&upstream), Some(usize::MAX), "{case}");
            } else if !trailers {
                assert!(upstream.head.is_none(), "{case}: nothing may leave");
            }
            assert!(want.is_none() || !upstream.complete, "{case}");
        }
    }
}

#[test]
fn a_rename_changes_one_string_wherever_the_body_is_split() {
    let body = br#"{ "max":1,"tools":[{"input_schema":{"model":"decoy"}}], "mod\u0065l" : "claude-x-4.5" ,"x":"\ud800 1e999"}"#;
    let want = br#"{ "max":1,"tools":[{"input_schema":{"model":"decoy"}}], "mod\u0065l" : "claude-x-4-5-20251101" ,"x":"\ud800 1e999"}"#;
    for split in 0..=body.len() {
        let (first, second) = body.split_at(split);
        let (upstream, status) = send(&B, &[first, second], false);
        assert_eq!(status, None, "split at {split}");
        assert_eq!(upstream.body, want, "split at {split}");
        assert_eq!(
            content_length(&upstream),
            Some(want.len()),
            "split at {split}"
        );
    }
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(
        send(&B, &bytes, true).0.body,
        want,
        "byte by byte, with trailers"
    );
}

#[test]
fn beyond_the_window_a_renaming_group_sends_no_length() {
    let pad = "x".repeat(2000);
    let body = format!(r#"{{"pad":"{pad}","model":"gpt-r"}}"#);
    let want = format!(r#"{{"pad":"{pad}","model":"gpt-r-2026-01-01"}}"#);
    // Inside the name everything is held once more, and the length is known again.
    let splits = [
        (1100, None),
        (body.len() - 10, None),
        (body.len() - 3, Some(want.len())),
    ];
    for (split, length) in splits {
        let (first, second) = body.as_bytes().split_at(split);
        let (upstream, status) = send(&A, &[first, second], false);
        assert_eq!(status, None, "split at {split}");
        assert_eq!(
            String::from_utf8_lossy(&upstream.body),
            want,
            "split at {split}"
        );
        assert_eq!(content_length(&upstream), length, "split at {split}");
    }
}

#[test]
fn what_left_before_a_refusal_is_never_whole() {
    let pad = "x".repeat(2000);
    let bodies = [
        (
            "unknown model after the window",
            format!(r#"{{"pad":"{pad}","model":"gpt-9"}}"#),
        ),
        ("no model at all", format!(r#"{{"pad":"{pad}"}}"#)),
        (
            "model twice",
            format!(r#"{{"model":"gpt-x","pad":"{pad}","model":"gpt-x"}}"#),
        ),
        (
            "another case",
            format!(r#"{{"model":"gpt-x","pad":"{pad}","Model":"gpt-9"}}"#),
        ),
        (
            "bytes after the end",
            format!(r#"{{"model":"gpt-x","pad":"{pad}"}}{{}}"#),
        ),
        ("cut", format!(r#"{{"model":"gpt-x","pad":"{pad}""#)),
    ];
    for (case, body) in bodies {
        for size in [1, 7, 600, 1500] {
            for trailers in [false, true] {
                let chunks: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
                let (upstream, status) = send(&A, &chunks, trailers);
                assert!(
                    matches!(status, Some(400 | 404)),
                    "{case}, {size}: {status:?}"
                );
                assert!(!upstream.complete, "{case}, {size}");
                // An upstream that knows the length would act on the last byte.
                assert!(upstream.body.len() < body.len(), "{case}, {size}");
            }
        }
    }
}

/// Of a group that may make no images.
const TEXT: RequestHead<'_> = RequestHead {
    request: "POST /v1/responses",
    headers: &["authorization: Bearer k-a-text"],
};
/// Of a group that has a model that makes images, and lets some members pass.
const PASSES: RequestHead<'_> = RequestHead {
    request: "POST /v1/responses",
    headers: &["authorization: Bearer k-a-passes"],
};
const GENERATE: RequestHead<'_> = RequestHead {
    request: "POST /v1beta/models/gem-1:generateContent",
    headers: &["x-goog-api-key: k-c"],
};
/// Of a group whose source may, through an entry.
const MIXED: RequestHead<'_> = RequestHead {
    request: "POST /v1/responses",
    headers: &["authorization: Bearer k-mixed"],
};
const IMAGES: RequestHead<'_> = RequestHead {
    request: "POST /v1/images/generations",
    headers: &["authorization: Bearer k-a"],
};
const BATCH: RequestHead<'_> = RequestHead {
    request: "POST /v1beta/models/gem-1:batchEmbedContents",
    headers: &["x-goog-api-key: k-c"],
};

/// Bodies that ask for more than their model, with `PAD` where there may be much text.
const ASKS_MORE: &[(&str, &RequestHead<'_>, &str, Option<u16>)] = &[
    (
        "answered later",
        &A,
        r#"{"model":"gpt-x"PAD,"background":true}"#,
        Some(400),
    ),
    (
        "answered later, text",
        &A,
        r#"{"model":"gpt-x"PAD,"background":"true"}"#,
        Some(400),
    ),
    (
        "answered at once",
        &A,
        r#"{"model":"gpt-x"PAD,"background":false}"#,
        None,
    ),
    (
        "answered at once, null",
        &A,
        r#"{"model":"gpt-x"PAD,"background":null}"#,
        None,
    ),
    (
        "an image's background",
        &IMAGES,
        r#"{"model":"gpt-x"PAD,"background":"transparent"}"#,
        None,
    ),
    (
        "lax stream",
        &A,
        r#"{"model":"gpt-x"PAD,"stream":"true"}"#,
        Some(400),
    ),
    (
        "lax number",
        &A,
        r#"{"model":"gpt-x"PAD,"n":"2"}"#,
        Some(400),
    ),
    (
        "image tool, no model that makes images",
        &A,
        r#"{"model":"gpt-x"PAD,"tools":[{"type":"image_generation"}]}"#,
        Some(404),
    ),
    (
        "image tool, of a listed model",
        &A,
        r#"{"model":"gpt-x"PAD,"tools":[{"type":"image_generation","model":"gpt-x"}]}"#,
        None,
    ),
    (
        "image tool",
        &PASSES,
        r#"{"model":"gpt-x"PAD,"tools":[{"type":"image_generation"}]}"#,
        None,
    ),
    (
        "a provider",
        &A,
        r#"{"model":"gpt-x"PAD,"provider":{"order":["x"]}}"#,
        Some(400),
    ),
    (
        "a provider, in another case",
        &B,
        r#"{"model":"claude-z-2"PAD,"PROVIDER":{"order":["x"]}}"#,
        Some(400),
    ),
    (
        "a provider, null",
        &A,
        r#"{"model":"gpt-x"PAD,"provider":null}"#,
        None,
    ),
    (
        "a provider, of content",
        &A,
        r#"{"model":"gpt-x"PAD,"input":[{"provider":"x","models":["y"]}]}"#,
        None,
    ),
    (
        "a provider, Mixed",
        &MIXED,
        r#"{"model":"gpt-x"PAD,"provider":{"order":["x"]}}"#,
        Some(400),
    ),
    (
        "a provider that passes",
        &PASSES,
        r#"{"model":"gpt-x"PAD,"Provider":{"order":["x"]},"tools":[{"type":"openrouter:advisor"}]}"#,
        None,
    ),
    (
        "another that does not pass",
        &PASSES,
        r#"{"model":"gpt-x"PAD,"provider":{},"route":"x"}"#,
        Some(400),
    ),
    (
        "a tool that chooses",
        &A,
        r#"{"model":"gpt-x"PAD,"tools":[{"type":"openrouter:advisor","parameters":{"model":"x"}}]}"#,
        Some(400),
    ),
    (
        "models, unlisted",
        &A,
        r#"{"model":"gpt-x"PAD,"models":["gpt-x","gpt-9"]}"#,
        Some(404),
    ),
    (
        "models, listed",
        &A,
        r#"{"model":"gpt-x"PAD,"models":["gpt-x"],"fallbacks":["gpt-x",{"model":"gpt-x"}]}"#,
        None,
    ),
    (
        "models, protocol C",
        &GENERATE,
        r#"{"contents":[]PAD,"models":["gem-9"]}"#,
        Some(404),
    ),
    (
        "a route, protocol C",
        &GENERATE,
        r#"{"contents":[]PAD,"route":"x"}"#,
        Some(400),
    ),
    (
        "NUL in a name",
        &A,
        "{\"model\":\"gpt-x\"PAD,\"model\\u0000\":\"x\"}",
        Some(400),
    ),
    (
        "image tool, no images",
        &TEXT,
        r#"{"model":"gpt-x"PAD,"tools":[{"type":"image_generation"}]}"#,
        Some(404),
    ),
    (
        "image tool, Mixed",
        &MIXED,
        r#"{"model":"gpt-x"PAD,"tools":[{"type":"image_generation"}]}"#,
        Some(404),
    ),
    (
        "image tool in the input, no images",
        &TEXT,
        r#"{"model":"gpt-x"PAD,"input":[{"type":"additional_tools","tools":[{"type":"image_generation"}]}]}"#,
        Some(404),
    ),
    (
        "image tool with a listed model",
        &A,
        r#"{"tools":[{"type":"image_generation","model":"gpt-x"}]PAD,"model":"gpt-x"}"#,
        None,
    ),
    (
        "image tool with another",
        &A,
        r#"{"tools":[{"type":"image_generation","model":"gpt-9"}]PAD,"model":"gpt-x"}"#,
        Some(404),
    ),
    (
        "image tool with a renamed one",
        &A,
        r#"{"tools":[{"type":"image_generation","model":"gpt-r"}]PAD,"model":"gpt-x"}"#,
        Some(400),
    ),
    (
        "the author of an SVG",
        &A,
        r#"{"model":"gpt-x"PAD,"tools":[{"svg":{"model":"gpt-9"}}]}"#,
        Some(404),
    ),
    (
        "moderation",
        &A,
        r#"{"model":"gpt-x"PAD,"moderation":{"model":"gpt-9"}}"#,
        Some(404),
    ),
    (
        "moderation that is listed",
        &A,
        r#"{"model":"gpt-x"PAD,"moderation":{"model":"gpt-x"}}"#,
        None,
    ),
    (
        "advisor",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"type":"advisor_20260301","model":"claude-z-2-20260101"}]}"#,
        None,
    ),
    (
        "advisor, unlisted",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"type":"advisor_20260301","model":"claude-q-9"}]}"#,
        Some(404),
    ),
    (
        "advisor, model first",
        &B,
        r#"{"tools":[{"model":"claude-q-9","type":"advisor_20260301"}]PAD,"model":"claude-z-2"}"#,
        Some(404),
    ),
    (
        "advisor, escaped",
        &B,
        r#"{"model":"claude-z-2"PAD,"t\u006fols":[{"mod\u0065l":"claude-q-9"}]}"#,
        Some(404),
    ),
    (
        "advisor, the second of two",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"model":"claude-z-2","model":"claude-q-9"}]}"#,
        Some(404),
    ),
    (
        "advisor, not entitled",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"model":"claude-y-1"}]}"#,
        Some(403),
    ),
    (
        "advisor, renamed",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"model":"claude-x-4-5"}]}"#,
        Some(400),
    ),
    (
        "advisor by its name upstream",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"model":"claude-x-4-5-20251101"}]}"#,
        None,
    ),
    (
        "advisor in a message",
        &B,
        r#"{"model":"claude-z-2"PAD,"messages":[{"role":"system","content":[{"tool":{"definition":{"model":"claude-q-9"}}}]}]}"#,
        Some(404),
    ),
    (
        "no string",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"model":["claude-q-9"]}]}"#,
        Some(400),
    ),
    (
        "fallback",
        &B,
        r#"{"model":"claude-z-2"PAD,"fallbacks":[{"model":"claude-z-2"}]}"#,
        None,
    ),
    (
        "fallback, unlisted",
        &B,
        r#"{"model":"claude-z-2"PAD,"fallbacks":[{"model":"claude-z-2"},{"model":"claude-q-9"}]}"#,
        Some(404),
    ),
    (
        "fallback that the upstream chooses",
        &B,
        r#"{"model":"claude-z-2"PAD,"fallbacks":"default"}"#,
        Some(400),
    ),
    (
        "a function's own model",
        &B,
        r#"{"model":"claude-z-2"PAD,"tools":[{"name":"f","input_schema":{"model":"q"}}]}"#,
        None,
    ),
    (
        "routing",
        &C,
        r#"{"contents":[]PAD,"generationConfig":{"routingConfig":{"manualMode":{"modelName":"q"}}}}"#,
        Some(400),
    ),
    (
        "batch",
        &BATCH,
        r#"{"requests":[{"model":"models/gem-1"},{"model":"gem-1"}]PAD}"#,
        None,
    ),
    (
        "batch, another model",
        &BATCH,
        r#"{"requests":[{"model":"models/gem-1"},{"model":"models/gem-2"}]PAD}"#,
        Some(400),
    ),
    (
        "batch, unlisted",
        &BATCH,
        r#"{"requests":[{"model":"models/gem-9"}]PAD}"#,
        Some(404),
    ),
];

#[test]
fn what_else_a_body_asks_for() {
    for (case, client, body, want) in ASKS_MORE {
        let body = body.replace("PAD", "");
        for split in 0..body.len() {
            let (first, second) = body.as_bytes().split_at(split);
            let (upstream, status) = send(client, &[first, second], split % 2 == 1);
            assert_eq!(status, *want, "{case}, split at {split}");
            assert_eq!(
                upstream.complete,
                want.is_none(),
                "{case}, split at {split}"
            );
            if want.is_none() {
                assert_eq!(upstream.body, body.as_bytes(), "{case}: byte for byte");
            }
        }
    }
}

#[test]
fn nothing_that_was_refused_for_what_else_it_asks_arrives_whole() {
    // Longer than the window: part of it has left before the rest is read.
    let pad = format!(r#","pad":"{}""#, "x".repeat(2000));
    for (case, client, body, want) in ASKS_MORE {
        let body = body.replace("PAD", &pad);
        for size in [1, 7, 600, 1500] {
            for trailers in [false, true] {
                let chunks: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
                let (upstream, status) = send(client, &chunks, trailers);
                assert_eq!(status, *want, "{case}, {size}");
                assert_eq!(upstream.complete, want.is_none(), "{case}, {size}");
                if want.is_some() {
                    assert!(upstream.body.len() < body.len(), "{case}, {size}");
                } else {
                    assert_eq!(upstream.body, body.as_bytes(), "{case}, {size}");
                }
            }
        }
    }
}

#[test]
fn refusals_of_what_else_a_body_asks_for_say_why() {
    #[rustfmt::skip]
    let cases: &[(&RequestHead<'_>, &str, &str, &str, &str)] = &[
        (&A, r#"{"model":"gpt-x","background":true}"#, "background_not_supported", "background", "'background' is not supported"),
        (&A, r#"{"model":"gpt-x","background":"x"}"#, "invalid_body", "background", "'background' must be true or false"),
        (&A, r#"{"model":"gpt-x","stream":1}"#, "invalid_body", "stream", "'stream' must be true or false"),
        (&A, r#"{"model":"gpt-x","n":1.0}"#, "invalid_body", "n", "'n' must be a non-negative integer"),
        (&A, r#"{"model":"gpt-x","service_tier":1}"#, "invalid_body", "service_tier", "'service_tier' must be a string"),
        (&A, r#"{"model":"gpt-x","stream_options":[]}"#, "invalid_body", "stream_options", "'stream_options' must be an object"),
        (&A, r#"{"model":"gpt-x","tools":[{"model":1}]}"#, "invalid_body", "model", "'model' of a tool or a fallback must be a string"),
        (&A, r#"{"model":"gpt-x","tools":[{"model":"gpt-r"}]}"#, "model_mismatch", "model", "by another name"),
        (&A, r#"{"model":"gpt-x","tools":[{"model":"gpt-9"}]}"#, "model_not_found", "model", "`gpt-9`"),
        (&TEXT, r#"{"model":"gpt-x","tools":[{"type":"image_generation"}]}"#, "images_not_supported", "", "Images API is not supported"),
        (&A, r#"{"model":"gpt-x","tools":[{"type":"image_generation"}]}"#, "model_not_found", "tools", "names no model"),
        (&A, r#"{"model":"gpt-x","extraBody":{}}"#, "member_not_allowed", "extra_body", "'extra_body' is not allowed here: it chooses a model"),
        (&A, r#"{"model":"gpt-x","extraBody":{}}"#, "member_not_allowed", "extra_body", "\"passes\" of the source group"),
        (&A, r#"{"model":"gpt-x","fallbacks":"default"}"#, "invalid_body", "", "'fallbacks', 'models' and other lists of models"),
        (&A, "{\"model\":\"gpt-x\",\"a\\u0000\":1}", "invalid_body", "", "must not contain U+0000"),
    ];
    let (in_force, world) = setting();
    for (client, body, code, param, message) in cases {
        let head = head(client.request, client.headers);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let outcome = exchange.on_request_body(body.as_bytes(), true, &Unlimited);
        let (_, got, reply) = reply_of(&outcome).expect(body);
        assert_eq!(got, Some(*code), "{body}");
        let error = &reply["error"];
        assert_eq!(
            error["param"].as_str().unwrap_or_default(),
            *param,
            "{body}"
        );
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{body}: {error}"
        );
    }
}

#[test]
fn a_renamed_model_of_a_batch_changes_in_each_request() {
    let client = RequestHead {
        request: "POST /v1beta/models/gem-2:batchEmbedContents",
        headers: &["x-goog-api-key: k-c"],
    };
    let body = r#"{"requests":[{"model":"models/gem-2","content":{"model":"gem-2"}},{"x":1,"model":"gem-2"},{"model":"models/gem-2-001"}]}"#;
    let renamed = |body: &str| {
        body.replace(
            r#"{"model":"models/gem-2","#,
            r#"{"model":"models/gem-2-001","#,
        )
        .replace(r#""x":1,"model":"gem-2""#, r#""x":1,"model":"gem-2-001""#)
    };
    // The name upstream is none of the list's.
    let (_, status) = send(&client, &[body.as_bytes()], false);
    assert_eq!(status, Some(404));
    let body = body.replace(r#",{"model":"models/gem-2-001"}"#, "");
    let want = renamed(&body);
    for split in 0..body.len() {
        let (first, second) = body.as_bytes().split_at(split);
        let (upstream, status) = send(&client, &[first, second], false);
        assert_eq!(status, None, "split at {split}");
        assert_eq!(
            String::from_utf8_lossy(&upstream.body),
            want,
            "split at {split}"
        );
        assert_eq!(
            content_length(&upstream),
            Some(want.len()),
            "split at {split}"
        );
    }
    // Beyond the window as well: then no length was named.
    let pad = format!(r#"{{"pad":"{}","requests""#, "x".repeat(2000));
    let body = body.replace(r#"{"requests""#, &pad);
    let want = renamed(&body);
    for size in [1, 7, 500, 1500] {
        let chunks: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
        let (upstream, status) = send(&client, &chunks, false);
        assert_eq!(status, None, "by {size}");
        assert_eq!(String::from_utf8_lossy(&upstream.body), want, "by {size}");
        assert_eq!(content_length(&upstream), None, "by {size}");
    }
}

#[test]
fn what_a_body_asks_for_is_noted() {
    let data = format!("iVBORw0KGgo{}", "A".repeat(1013));
    let image = format!(r#"{{"type":"image","source":{{"data":"{data}"}}}}"#);
    let body = format!(
        r#"{{"model":"claude-z-2","service_tier":"auto","speed":"standard","n":3,"tools":[{{"model":"claude-z-2"}}],
            "fallbacks":[{{"model":"claude-z-2-20260101"}}],"messages":[{{"content":[{image}]}}]}}"#
    );
    let (in_force, world) = setting();
    for size in [1, 100, body.len()] {
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head(B.request, B.headers), false, Some(&in_force), &world);
        for chunk in body.as_bytes().chunks(size) {
            exchange.on_request_body(chunk, false, &Unlimited);
        }
        let read = request_body(&exchange);
        let scanner = read.scanner();
        assert_eq!(scanner.candidates(), Some(3));
        assert_eq!(
            (scanner.service_tier(), scanner.speed()),
            (Some("auto"), Some("standard"))
        );
        let models: Vec<&str> = read
            .models()
            .others()
            .iter()
            .map(|model| model.id.as_str())
            .collect();
        assert_eq!(models, ["claude-z-2"], "each once");
        let want = crate::body::InputSize {
            text_bytes: (body.len() - data.len()) as u64,
            images: 1,
            ..Default::default()
        };
        assert_eq!(scanner.input_size(), want);
    }
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head(B.request, B.headers), false, Some(&in_force), &world);
    exchange.on_request_body(br#"{"model":"claude-z-2"}"#, true, &Unlimited);
    let scanner = request_body(&exchange).scanner();
    assert_eq!((scanner.candidates(), scanner.speed()), (None, None));
    assert_eq!(scanner.input_size().text_bytes, 22);
}

fn request_body(exchange: &Exchange) -> &RequestBody {
    match &exchange.phase {
        Phase::AwaitingModel(forwarded) | Phase::Forwarding(forwarded) => &forwarded.upstream.body,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_without_a_body() {
    let (in_force, world) = setting();
    let key = "x-goog-api-key: k-c-current";
    let cases = [
        ("an account resource", "GET /v1beta/files?pageSize=2", None),
        (
            "a generation",
            "POST /v1beta/models/gem-1:generateContent",
            Some(400),
        ),
    ];
    for (case, request, want) in cases {
        let head = head(request, &[key]);
        let outcome = Exchange::default().on_request_head(&head, true, Some(&in_force), &world);
        assert_eq!(reply_of(&outcome).map(|(s, ..)| s), want, "{case}");
        if let Outcome::Continue(edits) = &outcome {
            assert_eq!(set(edits, "x-trilane-cluster"), Some("cc"), "{case}");
            assert_eq!(removed(edits), ["x-goog-api-key"], "{case}");
        }
        assert!(outcome != Outcome::Pause, "{case}: no body will come");
    }
}

#[test]
fn account_resources_need_no_body_but_no_other_model() {
    let client = RequestHead {
        request: "POST /v1beta/files",
        headers: &["x-goog-api-key: k-c-current"],
    };
    let cases: &[(&str, &str, Option<u16>)] = &[
        ("no body, said late", "", None),
        ("no model", r#"{"ttl":"3s"}"#, None),
        ("a listed model", r#"{"model":"models/gem-1"}"#, None),
        ("another", r#"{"model":"models/gem-9"}"#, Some(404)),
        ("malformed", "{", Some(400)),
    ];
    for (case, body, want) in cases {
        let (upstream, status) = send(&client, &[body.as_bytes()], false);
        assert_eq!(status, *want, "{case}");
        assert_eq!(upstream.complete, want.is_none(), "{case}");
        if want.is_none() {
            assert_eq!(upstream.body, body.as_bytes(), "{case}");
        }
    }
}

#[test]
fn a_cache_names_its_model() {
    let client = |key| RequestHead {
        request: "POST /v1beta/cachedContents",
        headers: key,
    };
    let open = client(&["x-goog-api-key: k-c-open"]);
    let closed = client(&["x-goog-api-key: k-c"]);
    let cases: &[(&str, &RequestHead<'_>, &str, Option<u16>, &str)] = &[
        ("no model", &open, r#"{"ttl":"3s"}"#, Some(400), ""),
        (
            "a listed model",
            &open,
            r#"{"model":"models/gem-1"}"#,
            None,
            "",
        ),
        (
            "a renamed model",
            &open,
            r#"{"model":"models/gem-2","ttl":"3s"}"#,
            None,
            r#"{"model":"models/gem-2-001","ttl":"3s"}"#,
        ),
        (
            "another",
            &open,
            r#"{"model":"models/gem-9"}"#,
            Some(404),
            "",
        ),
        (
            "not open",
            &closed,
            r#"{"model":"models/gem-1"}"#,
            Some(404),
            "",
        ),
    ];
    for (case, client, body, want, renamed) in cases {
        let (upstream, status) = send(client, &[body.as_bytes()], false);
        assert_eq!(status, *want, "{case}");
        assert_eq!(upstream.complete, want.is_none(), "{case}");
        if want.is_none() {
            let arrived = if renamed.is_empty() { body } else { renamed };
            assert_eq!(upstream.body, arrived.as_bytes(), "{case}");
        }
    }
}

#[test]
fn a_renamed_model_of_protocol_c_changes_in_path_and_body() {
    let client = RequestHead {
        request: "POST /v1beta/models/gem-2:embedContent",
        headers: &["x-goog-api-key: k-c"],
    };
    let cases = [
        ("none in the body", r#"{"content":{}}"#, r#"{"content":{}}"#),
        (
            "short",
            r#"{"content":{}, "model":"gem-2"}"#,
            r#"{"content":{}, "model":"gem-2-001"}"#,
        ),
        (
            "with its prefix",
            r#"{"model":"models/gem-2","x":1}"#,
            r#"{"model":"models/gem-2-001","x":1}"#,
        ),
    ];
    for (case, body, want) in cases {
        for split in 0..body.len() {
            let (first, second) = body.as_bytes().split_at(split);
            let (upstream, status) = send(&client, &[first, second], false);
            assert_eq!(status, None, "{case}");
            assert_eq!(upstream.body, want.as_bytes(), "{case}, {split}");
            let length = if body == want { usize::MAX } else { want.len() };
            assert_eq!(content_length(&upstream), Some(length), "{case}, {split}");
            let edits = upstream.head.unwrap();
            let path = set(&edits, ":path");
            assert_eq!(
                path,
                Some("/v1beta/models/gem-2-001:embedContent"),
                "{case}"
            );
        }
    }
}

#[test]
fn a_stream_is_made_to_report_its_usage() {
    const ASK: &str = r#""stream_options":{"include_usage":true}"#;
    let cases = [
        (
            "asked for at the end",
            r#"{"model":"gpt-x","stream":true}"#.to_owned(),
            format!(r#"{{"model":"gpt-x","stream":true,{ASK}}}"#),
        ),
        (
            "the spaces stay",
            "{ \"model\" : \"gpt-x\", \"stream\": true }\n".to_owned(),
            format!("{{ \"model\" : \"gpt-x\", \"stream\": true ,{ASK}}}\n"),
        ),
        (
            "together with a new name",
            r#"{"stream":true,"model":"gpt-r"}"#.to_owned(),
            format!(r#"{{"stream":true,"model":"gpt-r-2026-01-01",{ASK}}}"#),
        ),
        (
            "options without it",
            r#"{"stream_options":{"x":1},"model":"gpt-r","stream":true}"#.to_owned(),
            r#"{"stream_options":{"x":1,"include_usage":true},"model":"gpt-r-2026-01-01","stream":true}"#.to_owned(),
        ),
        (
            "empty options",
            r#"{"model":"gpt-x","stream":true,"stream_options":{}}"#.to_owned(),
            r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true}}"#.to_owned(),
        ),
        (
            "refused by the client",
            r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":false}}"#.to_owned(),
            r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true}}"#.to_owned(),
        ),
        (
            "no options",
            r#"{"model":"gpt-x","stream":true,"stream_options":null}"#.to_owned(),
            r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true}}"#.to_owned(),
        ),
        (
            "no options and no stream",
            r#"{"model":"gpt-x","stream_options":null,"stream":false}"#.to_owned(),
            r#"{"model":"gpt-x","stream_options":null,"stream":false}"#.to_owned(),
        ),
        (
            "asked for by the client",
            r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true}}"#.to_owned(),
            r#"{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true}}"#.to_owned(),
        ),
        (
            "no stream",
            r#"{"model":"gpt-x","stream":false}"#.to_owned(),
            r#"{"model":"gpt-x","stream":false}"#.to_owned(),
        ),
        (
            "nothing said of streaming",
            r#"{"model":"gpt-x"}"#.to_owned(),
            r#"{"model":"gpt-x"}"#.to_owned(),
        ),
        (
            "beyond the window",
            format!(r#"{{"model":"gpt-x","pad":"{}","stream":true}}"#, "x".repeat(3000)),
            format!(r#"{{"model":"gpt-x","pad":"{}","stream":true,{ASK}}}"#, "x".repeat(3000)),
        ),
    ];
    for (case, body, want) in &cases {
        for trailers in [false, true] {
            for step in [1, 2, 3, 7, 50, 1000, body.len()] {
                let chunks: Vec<&[u8]> = body.as_bytes().chunks(step).collect();
                let (upstream, status) = send(&USAGE, &chunks, trailers);
                let case = format!("{case}, by {step}, trailers {trailers}");
                assert_eq!(status, None, "{case}");
                let got = String::from_utf8_lossy(&upstream.body).into_owned();
                assert_eq!(got, *want, "{case}");
                assert!(upstream.complete, "{case}");
                let named = match content_length(&upstream) {
                    Some(usize::MAX) => Some(body.len()),
                    named => named,
                };
                assert!(
                    named.is_none_or(|named| named == want.len()),
                    "{case}: {named:?}"
                );
            }
        }
    }
    // Other endpoints and other groups are left alone.
    let body = r#"{"model":"gpt-x","stream":true}"#;
    let elsewhere = RequestHead {
        request: "POST /v1/responses",
        ..USAGE
    };
    let (upstream, _) = send(&elsewhere, &[body.as_bytes()], false);
    assert_eq!(upstream.body, body.as_bytes(), "responses");
    let (upstream, _) = send(&A, &[body.as_bytes()], false);
    assert_eq!(
        upstream.body,
        body.as_bytes(),
        "a group that does not want it"
    );
}

#[test]
fn answers() {
    let cases = [
        ("good", 200, UPSTREAM, None),
        ("our account is refused", 401, UPSTREAM, Some(502)),
        ("our account may not", 403, UPSTREAM, Some(403)),
        ("not found passes", 404, UPSTREAM, None),
        ("too many passes", 429, UPSTREAM, None),
        ("broken passes", 500, UPSTREAM, None),
        ("no connection", 503, ENVOY, Some(502)),
        ("timeout", 504, ENVOY, Some(502)),
        ("no credential", 401, ENVOY, Some(502)),
        ("too large for Envoy passes", 413, ENVOY, None),
    ];
    let (in_force, world) = setting();
    for (case, status, details, want) in cases {
        let head = head(B.request, B.headers);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        exchange.on_request_body(br#"{"model":"claude-z-2"}"#, true, &Unlimited);
        let outcome = after_answer(&mut exchange, &FakeHead { status, details }, &Unlimited);
        let got = reply_of(&outcome);
        assert_eq!(got.as_ref().map(|(s, ..)| *s), want, "{case}");
        if let Outcome::Continue(edits) = &outcome {
            let id = (details == UPSTREAM).then_some("up-1");
            assert_eq!(set(edits, "request-id"), id, "{case}: where B looks");
        }
        if let Some((_, _, body)) = got {
            assert_eq!(body["type"], "error", "{case}: in B's shape");
            let ours = FakeHead {
                status: want.unwrap(),
                details: ENVOY,
            };
            let again = after_answer(&mut exchange, &ours, &Unlimited);
            assert_eq!(
                again,
                Outcome::pass(),
                "{case}: the reply passes on its way out"
            );
            assert!(matches!(exchange.phase, Phase::Replied(_)), "{case}");
        }
    }
}

#[test]
fn answers_of_other_protocols_are_left_as_they_are() {
    let (in_force, world) = setting();
    let head = head(A.request, A.headers);
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    exchange.on_request_body(br#"{"model":"gpt-x"}"#, true, &Unlimited);
    let good = FakeHead {
        status: 200,
        details: UPSTREAM,
    };
    assert_eq!(
        after_answer(&mut exchange, &good, &Unlimited),
        Outcome::pass()
    );
}

#[test]
fn an_early_answer_does_not_end_the_guard() {
    let (in_force, world) = setting();
    let head = head(A.request, A.headers);
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    exchange.on_request_body(br#"{"model":"gpt-x","#, false, &Unlimited);
    exchange.on_response_head(
        &FakeHead {
            status: 200,
            details: UPSTREAM,
        },
        false,
        &Unlimited,
    );
    let outcome = exchange.on_request_body(br#""model":"gpt-r"}"#, true, &Unlimited);
    assert_eq!(reply_of(&outcome).map(|(s, ..)| s), Some(400));
}

#[derive(Debug, Clone)]
enum Callback {
    Head(bool),
    Body(Vec<u8>, bool),
    Trailers,
    Response(u16, bool),
    Answer(Vec<u8>, bool),
    Done,
}

fn call() -> impl Strategy<Value = Callback> {
    prop_oneof![
        any::<bool>().prop_map(Callback::Head),
        (
            prop_oneof![
                Just(br#"{"model":"gpt-x"}"#.to_vec()),
                Just(br#"{"model":"gpt-"#.to_vec()),
                proptest::collection::vec(any::<u8>(), 0..20)
            ],
            any::<bool>()
        )
            .prop_map(|(bytes, end)| Callback::Body(bytes, end)),
        Just(Callback::Trailers),
        (100u16..600, any::<bool>())
            .prop_map(|(status, upstream)| Callback::Response(status, upstream)),
        (proptest::collection::vec(any::<u8>(), 0..20), any::<bool>())
            .prop_map(|(bytes, end)| Callback::Answer(bytes, end)),
        Just(Callback::Done),
    ]
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Any order of Envoy's calls: no panic, and nothing is released before an approval.
    #[test]
    fn any_order_of_calls(calls in proptest::collection::vec(call(), 0..12)) {
        let (in_force, world) = setting();
        let mut exchange = Exchange::default();
        let mut head_came = false;
        let mut records = 0;
        for call in calls {
            let is_body = matches!(call, Callback::Body(..) | Callback::Trailers);
            let outcome = match call {
                Callback::Head(end) => {
                    head_came = true;
                    exchange.on_request_head(&head(A.request, A.headers), end, Some(&in_force), &world)
                }
                Callback::Body(bytes, end) => exchange.on_request_body(&bytes, end, &Unlimited),
                Callback::Trailers => exchange.on_request_trailers(&Unlimited),
                Callback::Response(status, upstream) => {
                    let details = if upstream { UPSTREAM } else { ENVOY };
                    after_answer(&mut exchange, &FakeHead { status, details }, &Unlimited)
                }
                Callback::Answer(bytes, end) => {
                    exchange.on_response_body(&bytes, bytes.len(), end, &world);
                    Outcome::pass()
                }
                Callback::Done => {
                    records += usize::from(exchange.on_done(&FakeEnd(""), &world).is_some());
                    Outcome::pass()
                }
            };
            if is_body && !head_came {
                prop_assert!(!matches!(outcome, Outcome::Continue(_)));
            }
        }
        prop_assert!(records <= 1);
    }

    #[test]
    fn a_good_body_arrives_byte_for_byte_in_any_pieces(
        text in "\\PC{0,60}",
        cuts in proptest::collection::vec(1usize..40, 1..8),
        trailers in any::<bool>(),
    ) {
        let body = json!({"input": text, "model": "gpt-x", "z": [1, {"model": text}]}).to_string();
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut rest = body.as_bytes();
        for cut in cuts {
            let (chunk, tail) = rest.split_at(cut.min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks.push(rest);
        let (upstream, status) = send(&A, &chunks, trailers);
        prop_assert_eq!(status, None);
        prop_assert_eq!(upstream.body, body.as_bytes());
        prop_assert!(upstream.complete);
    }
}
