//! The record that an exchange leaves, for every way to end.

use smol_str::SmolStr;

use super::*;
use crate::ledger::{AttemptFailure, Attempts, Ending, FailedAttempt, UsageStatus};

pub(super) const MESSAGE: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-z-2\",",
    "\"usage\":{\"input_tokens\":210,\"cache_read_input_tokens\":1024,\"output_tokens\":1}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\\\"usage\\\":9\"}}\n\n",
);
pub(super) const MESSAGE_END: &str = concat!(
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
    "\"usage\":{\"output_tokens\":56}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);
pub(super) const WHOLE: &[u8] = br#"{"model":"claude-z-2","stream":true,"messages":[]}"#;
pub(super) const HALF: &[u8] = br#"{"model":"claude-z-2","stream":true,"#;

/// An event of an exchange; tests list them in their order.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExchangeEvent<'a> {
    /// Bytes of the request; whether they are its last.
    Body(&'a [u8], bool),
    /// The answer's head.
    Answer(u16, &'static str),
    /// Bytes of the answer.
    Chunk(&'a str),
    /// The answer's end.
    End,
}

use ExchangeEvent::{Answer as Head, Body, Chunk, End};

const SENT: ExchangeEvent<'_> = Body(WHOLE, true);
pub(super) const GOOD: ExchangeEvent<'_> = Head(200, UPSTREAM);

pub(super) fn play(
    request: &str,
    headers: &[&str],
    events: &[ExchangeEvent<'_>],
    details: &str,
) -> Record {
    play_in(&document(), request, headers, events, details)
}

/// The same by another document.
pub(super) fn play_in(
    document: &Value,
    request: &str,
    headers: &[&str],
    events: &[ExchangeEvent<'_>],
    details: &str,
) -> Record {
    let (in_force, world) = setting_of(document);
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head(request, headers), false, Some(&in_force), &world);
    for event in events {
        match event {
            Body(bytes, end) => drop(exchange.on_request_body(bytes, *end, &Unlimited)),
            Head(status, details) => {
                let head = FakeHead {
                    status: *status,
                    details,
                };
                after_answer(&mut exchange, &head, &Unlimited);
            }
            Chunk(text) => {
                drop(exchange.on_response_body(text.as_bytes(), text.len(), false, &world))
            }
            End => drop(exchange.on_response_body(&[], 0, true, &world)),
        }
    }
    let record = exchange.on_done(&FakeEnd(details), &world);
    let again = exchange.on_done(&FakeEnd(""), &world);
    assert!(again.is_none(), "one record, however often it is asked for");
    record.expect("a record")
}

#[test]
fn who_asked_for_what() {
    let body = br#"{"model":"claude-x-4.5-thinking","messages":[],"stream":true}"#;
    let events = [
        Body(body, true),
        GOOD,
        Chunk(MESSAGE),
        Chunk(MESSAGE_END),
        End,
    ];
    let headers = ["x-api-key: k-mixed", "anthropic-version: 2023-06-01"];
    let record = play("POST /v1/messages?beta=true", &headers, &events, "");
    let route = record.route.as_ref().unwrap();
    let text = |text: &Option<SmolStr>| text.clone().unwrap_or_default();
    let facts = [
        ("method", record.method.clone(), "POST"),
        (
            "path, without its query",
            record.path.clone(),
            "/v1/messages",
        ),
        ("key", text(&record.key), "mixed"),
        ("group", text(&record.group), "mixed"),
        ("source", route.source.clone(), "b"),
        ("entry", route.entry.to_string().into(), "vb_messages"),
        ("cluster", route.cluster.clone(), "cb"),
        ("multiplier", route.multiplier.to_string().into(), "2.0000"),
        (
            "as asked",
            text(&record.requested_model),
            "claude-x-4.5-thinking",
        ),
        ("canonical", text(&record.model), "claude-x-4-5"),
        (
            "as sent",
            text(&record.upstream_model),
            "claude-x-4-5-20251101",
        ),
        (
            "the answer's model",
            text(&record.reading.response_model),
            "claude-z-2",
        ),
        (
            "the answer's id",
            text(&record.reading.response_id),
            "msg_1",
        ),
        (
            "the upstream's id",
            text(&record.upstream_request_id.as_deref().map(SmolStr::from)),
            "up-1",
        ),
    ];
    for (case, got, want) in facts {
        assert_eq!(got, want, "{case}");
    }
    assert!(record.stream);
    assert_eq!(record.request_bytes, body.len() as u64);
    let answered = MESSAGE.len() + MESSAGE_END.len();
    assert_eq!(record.response_bytes, answered as u64);
    // The fake clock goes on by a millisecond at each look: at the head, the first byte, the chunk behind the text, where a model
    // that reasons may be silent, and the end.
    assert_eq!(record.first_byte_us, Some(1000));
    assert_eq!(record.streaming_us, Some(2000));
    assert_eq!(record.per_token_us(), Some(2000 / 55));
}

#[test]
fn a_variant_name_is_billed_at_its_tier() {
    let mut charges = Vec::new();
    for name in [
        "claude-z-2",
        "claude-z-2-20260101",
        "claude-z-2.0",
        "claude-z-2-thinking",
        "claude-z-2-20260101-thinking",
    ] {
        let body = format!(r#"{{"model":"{name}","messages":[]}}"#);
        let events = [
            Body(body.as_bytes(), true),
            GOOD,
            Chunk(r#"{"usage":{"input_tokens":10,"output_tokens":3}}"#),
            End,
        ];
        let headers = ["x-api-key: k-b", "anthropic-version: 2023-06-01"];
        let record = play("POST /v1/messages", &headers, &events, "");
        assert_eq!(record.requested_model.as_deref(), Some(name));
        assert_eq!(record.model.as_deref(), Some("claude-z-2"), "{name}");
        charges.push(record.charge.unwrap().to_string());
    }
    // (10 × 3 + 3 × 15) / 10^6 × 2
    assert_eq!(charges, ["0.00015"; 5]);
}

#[test]
fn what_is_not_metered() {
    let count = ["x-api-key: k-b", "anthropic-version: 2023-06-01"];
    let google = ["x-goog-api-key: k-c"];
    let bearer = ["authorization: Bearer k-a"];
    let tokens = r#"{"input_tokens":7,"usage":{"input_tokens":7}}"#;
    type Case<'a> = (
        &'a str,
        &'a str,
        &'a [&'a str],
        &'a [ExchangeEvent<'a>],
        Ending,
    );
    let cases: [Case<'_>; 5] = [
        (
            "tokens are counted for Responses",
            "POST /v1/responses/input_tokens",
            &bearer,
            &[
                Body(br#"{"model":"gpt-x"}"#, true),
                GOOD,
                Chunk(tokens),
                End,
            ],
            Ending::Finished,
        ),
        (
            "tokens are counted",
            "POST /v1/messages/count_tokens",
            &count,
            &[SENT, GOOD, Chunk(tokens), End],
            Ending::Finished,
        ),
        (
            "and for protocol C",
            "POST /v1beta/models/gem-1:countTokens",
            &google,
            &[Body(b"{}", true), GOOD, Chunk(tokens), End],
            Ending::Finished,
        ),
        (
            "a list",
            "GET /v1/models",
            &bearer,
            &[Head(200, ""), Chunk(tokens), End],
            Ending::Answered,
        ),
        (
            "an unknown path",
            "GET /v2/models",
            &bearer,
            &[Head(404, ""), End],
            Ending::Refused,
        ),
    ];
    for (case, request, headers, events, ending) in cases {
        let record = play(request, headers, events, "");
        assert_eq!(record.ending, ending, "{case}");
        assert_eq!(record.status, UsageStatus::None, "{case}");
        assert_eq!(record.usage(), None, "{case}");
        assert_eq!(record.charge, None, "{case}");
        assert_eq!(record.operation, None, "{case}");
    }
}

#[test]
fn accounts_and_their_tries() {
    let events = [SENT, GOOD, Chunk(MESSAGE), Chunk(MESSAGE_END), End];
    let of = |key: &str| {
        let key = format!("x-api-key: {key}");
        let headers = [key.as_str(), "anthropic-version: 2023-06-01"];
        let record = play("POST /v1/messages", &headers, &events, "");
        record.attempts
    };
    let of_several = || {
        let (in_force, world) = setting();
        let headers = ["x-api-key: k-b-accounts", "anthropic-version: 2023-06-01"];
        let mut exchange = Exchange::default();
        let head = head("POST /v1/messages", &headers);
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        exchange.on_request_body(WHOLE, true, &world);
        world.try_by_hop("one", Some((429, "via_upstream;-;")));
        world.try_by_hop("two", None);
        let good = FakeHead {
            status: 200,
            details: UPSTREAM,
        };
        exchange.on_response_head(&good, true, &world);
        exchange
            .on_done(&FakeEnd(""), &world)
            .expect("a record")
            .attempts
    };
    let failed = FailedAttempt {
        source: None,
        account: "one".into(),
        kind: AttemptFailure::RateLimited,
        status: 429,
        reason: String::new(),
        fault: None,
        error: None,
    };
    let asked = |last: &str, failed: &[FailedAttempt]| Attempts {
        last: Some(last.into()),
        count: 2,
        failed: failed.to_vec(),
        answered: true,
    };
    assert_eq!(of_several(), Some(asked("two", &[failed])));
    assert_eq!(
        of("k-b-account"),
        Some(asked("one", &[])),
        "an only account"
    );
    assert_eq!(of("k-b"), None, "a cluster written by hand");
}

#[test]
fn a_cost_is_that_of_the_account_that_answered() {
    let headers = ["x-api-key: k-b-accounts", "anthropic-version: 2023-06-01"];
    let good = FakeHead {
        status: 200,
        details: UPSTREAM,
    };
    // (case, the attempts, whether the answer comes, its chunks, the details of the end, factor, cost and charge)
    type Case<'a> = (
        &'a str,
        &'a [(&'a str, Option<(u16, &'a str)>)],
        bool,
        &'a [&'a str],
        &'a str,
        Option<[&'a str; 3]>,
    );
    // (1234 × 3 + 56 × 15) / 10^6 = 0.004542
    let cases: &[Case<'_>] = &[
        (
            "the first",
            &[("one", None)],
            true,
            &[MESSAGE, MESSAGE_END],
            "",
            Some(["0.5000", "0.002271", "0.009084"]),
        ),
        (
            "the second, behind one that failed",
            &[("one", Some((429, "via_upstream;-;"))), ("two", None)],
            true,
            &[MESSAGE, MESSAGE_END],
            "",
            Some(["1.2500", "0.0056775", "0.009084"]),
        ),
        (
            "by estimate, as the charge",
            &[("two", None)],
            true,
            &[MESSAGE],
            "downstream_remote_disconnect",
            // (1234 × 3 + 3 × 15) / 10^6 = 0.003747
            Some(["1.2500", "0.00468375", "0.007494"]),
        ),
        (
            "no answer",
            &[
                ("one", Some((429, "via_upstream;-;"))),
                ("two", Some((503, "via_upstream;-;"))),
            ],
            false,
            &[],
            "",
            None,
        ),
    ];
    for (case, attempts, answered, chunks, details, want) in cases {
        let (in_force, world) = setting();
        let mut exchange = Exchange::default();
        let head = head("POST /v1/messages", &headers);
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        exchange.on_request_body(WHOLE, true, &world);
        for (account, failed) in *attempts {
            world.try_by_hop(account, *failed);
        }
        if *answered {
            after_answer(&mut exchange, &good, &world);
            for chunk in *chunks {
                exchange.on_response_body(chunk.as_bytes(), chunk.len(), false, &world);
            }
        }
        let record = exchange
            .on_done(&FakeEnd(details), &world)
            .expect("a record");
        let got = record.cost.map(|cost| {
            let charge = record.charge.map(|charge| charge.to_string());
            [
                cost.factor.to_string(),
                cost.amount.to_string(),
                charge.unwrap_or_default(),
            ]
        });
        assert_eq!(got, want.map(|want| want.map(str::to_owned)), "{case}");
    }
    let events = [SENT, GOOD, Chunk(MESSAGE), Chunk(MESSAGE_END), End];
    for key in ["k-b-account", "k-b"] {
        let key = format!("x-api-key: {key}");
        let record = play("POST /v1/messages", &[&key, headers[1]], &events, "");
        assert_eq!(record.cost, None, "{key}: no factor is known");
    }
}

#[test]
fn what_fails_on_the_way_to_an_account_is_no_answer_of_it() {
    const OWN: &str = "via_upstream;-;";
    let refused = "upstream_reset_before_response_started{refused};UF;refused";
    // Envoy's response on the way to the account looks like the account's own.
    let cases = [
        ("refused", 503, refused, Some(502)),
        (
            "no credential",
            401,
            "failed_to_inject_credential;-;",
            Some(502),
        ),
        ("its own 503", 503, OWN, None),
        ("its own 429", 429, OWN, None),
        ("its own 401", 401, OWN, Some(502)),
    ];
    let (in_force, world) = setting();
    for (case, status, report, want) in cases {
        let headers = ["x-api-key: k-b-accounts", "anthropic-version: 2023-06-01"];
        let mut exchange = Exchange::default();
        let head = head("POST /v1/messages", &headers);
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        exchange.on_request_body(WHOLE, true, &world);
        world.try_by_hop("two", Some((status, report)));
        let details = UPSTREAM;
        let outcome = after_answer(&mut exchange, &FakeHead { status, details }, &world);
        assert_eq!(reply_of(&outcome).map(|(s, ..)| s), want, "{case}");
        exchange.on_done(&FakeEnd(""), &world).expect("a record");
    }
}

#[test]
fn whose_a_key_is() {
    let play = |key: &str, path: &str| {
        let authorization = format!("authorization: Bearer {key}");
        play(&format!("GET {path}"), &[&authorization], &[], "")
    };
    for (case, key, path, want) in [
        (
            "an answer",
            "k-owned",
            "/v1/models",
            (Some("owned"), Some("Zoë, sales")),
        ),
        (
            "a refusal",
            "k-owned",
            "/v1/models/none",
            (Some("owned"), Some("Zoë, sales")),
        ),
        ("nobody's", "k-a", "/v1/models", (Some("a"), None)),
        ("a disabled one", "k-off", "/v1/models", (Some("off"), None)),
        ("an expired one", "k-old", "/v1/models", (Some("old"), None)),
        ("no key", "k-none", "/v1/models", (None, None)),
    ] {
        let record = play(key, path);
        let got = (record.key.as_deref(), record.owner.as_deref());
        assert_eq!(got, want, "{case}");
    }
}

/// Client, session and labels of a request are in its record, whether it goes on or is refused, and no label that the document does not list.
#[test]
fn labels_of_requests() {
    let mut document = document();
    document["labels"] = json!({"project": "x-project"});
    let said = [
        "user-agent: claude-cli/2.1.37 (external, cli)",
        "session-id: s-1",
        "x-project: apollo",
        "x-other: y",
    ];
    for (case, key, outcome) in [
        ("served", "x-api-key: k-b", Ending::Finished),
        ("of no key", "x-api-key: nobody's", Ending::Refused),
    ] {
        let headers: Vec<&str> = [key, "anthropic-version: 2023-06-01"]
            .into_iter()
            .chain(said)
            .collect();
        let text = format!("{MESSAGE}{MESSAGE_END}");
        let record = play_in(
            &document,
            "POST /v1/messages",
            &headers,
            &[SENT, GOOD, Chunk(&text), End],
            "",
        );
        assert_eq!(record.ending, outcome, "{case}");
        let labels = record.labels.expect("labels");
        assert_eq!(
            (labels.client.as_deref(), labels.session.as_deref()),
            (Some("claude-cli/2.1"), Some("s-1")),
            "{case}"
        );
        assert_eq!(
            labels.labels,
            [("project".into(), "apollo".into())],
            "{case}"
        );
    }
}
