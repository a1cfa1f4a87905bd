//! Entries with several sources: the body says which, wherever it is cut.

use super::bodies::{RequestHead, content_length, send_in};
use super::*;

/// A Mixed group with two sources of protocol A: one renames and asks for usage, the other does neither.
fn document() -> Value {
    json!({
        "inspect_window": 1024,
        "groups": [
            {"id": "plain", "protocol": "A", "multiplier": "1", "cluster": "plain", "models": [{"id": "gpt-x"}]},
            {"id": "other", "protocol": "A", "multiplier": "3", "cluster": "other", "include_usage": true,
             "models": [{"id": "qwen", "upstream": "qwen/qwen-9"}]},
            {"id": "all", "protocol": "Mixed",
             "entries": {"responses": {"sources": [{"source": "plain"}, {"source": "other"}]}},
             "models": [{"id": "gpt-x", "entry": "responses", "source": "plain"},
                        {"id": "qwen", "entry": "responses", "source": "other"}]}
        ],
        "keys": [{"id": "k", "sha256": sha256("k"), "group": "all"}]
    })
}

const CHAT: RequestHead<'_> = RequestHead {
    request: "POST /v1/chat/completions",
    headers: &["authorization: Bearer k"],
};

#[test]
fn a_body_goes_to_its_source_wherever_it_is_split() {
    let pad = "x".repeat(2000);
    let long = format!(r#"{{"stream":true,"messages":["{pad}"],"model":"qwen"}}"#);
    let renamed = format!(
        r#"{{"stream":true,"messages":["{pad}"],"model":"qwen/qwen-9","stream_options":{{"include_usage":true}}}}"#
    );
    let document = document();
    for (body, want, cluster) in [
        (
            r#"{"stream":true,"messages":[],"model":"gpt-x"}"#,
            r#"{"stream":true,"messages":[],"model":"gpt-x"}"#,
            "plain",
        ),
        (
            r#"{"mod\u0065l":"qwen","stream":true,"messages":[]}"#,
            r#"{"mod\u0065l":"qwen/qwen-9","stream":true,"messages":[],"stream_options":{"include_usage":true}}"#,
            "other",
        ),
        (&long, &renamed, "other"),
    ] {
        let step = if body.len() > 1000 { 97 } else { 1 };
        let splits = (0..=body.len()).step_by(step);
        let mut sendings: Vec<Vec<&[u8]>> = splits
            .map(|split| {
                let (first, second) = body.as_bytes().split_at(split);
                vec![first, second]
            })
            .collect();
        sendings.push(body.as_bytes().chunks(step).collect());
        for chunks in sendings {
            let case = format!("{} pieces, the first of {}", chunks.len(), chunks[0].len());
            let (upstream, status) = send_in(&document, &CHAT, &chunks, false);
            assert_eq!(status, None, "{case}");
            let edits = upstream.head.as_ref().unwrap();
            assert_eq!(set(edits, "x-trilane-cluster"), Some(cluster), "{case}");
            assert_eq!(String::from_utf8_lossy(&upstream.body), want, "{case}");
            let length = content_length(&upstream);
            let unchanged = (body == want).then_some(usize::MAX);
            assert!(
                length == unchanged || length == Some(want.len()) || length.is_none(),
                "{case}: {length:?}"
            );
        }
    }
}

#[test]
fn nothing_leaves_of_a_body_without_its_source() {
    let document = document();
    let pad = "x".repeat(3000);
    for body in [
        format!(r#"{{"messages":["{pad}"],"model":"none"}}"#),
        format!(r#"{{"messages":["{pad}"]}}"#),
        format!(r#"{{"messages":["{pad}"],"model":"qwen","model":"gpt-x"}}"#),
    ] {
        for split in [0, 1, 1500, body.len() - 1] {
            let (first, second) = body.as_bytes().split_at(split);
            let (upstream, status) = send_in(&document, &CHAT, &[first, second], false);
            assert!(
                matches!(status, Some(400 | 404)),
                "{body} at {split}: {status:?}"
            );
            assert!(upstream.body.is_empty(), "{body} at {split}");
        }
    }
}
