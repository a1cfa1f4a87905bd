//! A ledger that cannot be written: which requests are refused, and how.

use super::*;

const V: &str = "anthropic-version: 2023-06-01";
const A: &[&str] = &["authorization: Bearer k-a"];
const B: &[&str] = &["x-api-key: k-b", V];
const C: &[&str] = &["x-goog-api-key: k-c-open"];

/// The reply to a request's head, `None` where it is not answered here, and how often the ledger's state was asked for.
fn asked(
    (requires, unwritable): (bool, bool),
    request: &str,
    headers: &[&str],
) -> (Option<(u16, String)>, u32) {
    let (mut in_force, mut world) = setting();
    in_force.policy.requires_ledger = requires;
    world.unwritable = unwritable;
    let mut exchange = Exchange::default();
    let head = head(request, headers);
    let outcome = exchange.on_request_head(&head, is_get(request), Some(&in_force), &world);
    let reply = reply_of(&outcome);
    let reply = reply.map(|(status, code, _)| (status, code.unwrap_or_default().to_owned()));
    (reply, world.ledger_reads.get())
}

#[test]
fn what_would_be_charged_is_refused_where_the_document_says_so() {
    let refused = || Some((503, "ledger_unwritable".to_owned()));
    let charged = [
        ("POST /v1/responses", A),
        ("POST /v1/chat/completions", A),
        ("POST /v1/responses/compact", A),
        ("POST /v1/embeddings", A),
        ("POST /v1/images/generations", A),
        ("POST /v1/messages", B),
        ("POST /v1beta/models/gem-1:generateContent", C),
        ("POST /v1beta/models/gem-1:embedContent", C),
        ("POST /v1beta/cachedContents", C),
    ];
    for (request, headers) in charged {
        for (case, state, reply, reads) in [
            ("as usual", (false, false), None, 0),
            ("full, and nobody minds", (false, true), None, 0),
            ("there is room", (true, false), None, 1),
            ("full", (true, true), refused(), 1),
        ] {
            assert_eq!(
                asked(state, request, headers),
                (reply, reads),
                "{request}: {case}"
            );
        }
    }
}

#[test]
fn what_costs_nothing_goes_on() {
    let cases = [
        ("GET /healthz", &[][..], Some(200)),
        ("GET /v1/models", A, Some(200)),
        ("GET /v1/usage", A, Some(200)),
        ("POST /v1/messages/count_tokens", B, None),
        ("POST /v1/responses/input_tokens", A, None),
        ("POST /v1beta/models/gem-1:countTokens", C, None),
        ("POST /v1beta/files", C, None),
        // What is refused anyway is refused for its own reason.
        ("POST /v1/messages", &["x-api-key: k-z", V], Some(401)),
        ("POST /v1/messages", &["x-api-key: k-b"], Some(400)),
        ("POST /v1/elsewhere", A, Some(404)),
    ];
    for (request, headers, want) in cases {
        let (reply, reads) = asked((true, true), request, headers);
        assert_eq!(reply.map(|(status, _)| status), want, "{request}");
        assert_eq!(reads, 0, "{request}");
    }
}

#[test]
fn a_request_under_way_goes_on() {
    let (mut in_force, mut world) = setting();
    in_force.policy.requires_ledger = true;
    let mut exchange = Exchange::default();
    let first = head("POST /v1/messages", B);
    let outcome = exchange.on_request_head(&first, false, Some(&in_force), &world);
    assert_eq!(outcome, Outcome::Pause);
    world.unwritable = true;
    let body = br#"{"model": "claude-z-2"}"#;
    let outcome = exchange.on_request_body(body, true, &world);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
}
