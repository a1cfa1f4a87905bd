//! Reservations of requests against budgets, and their settlement.

use super::*;

/// The policy of all tests, with prices for all models and a budget for every key.
fn priced(per_day: &str) -> (InForce, Limited) {
    let (in_force, mut limited) = limited(&Value::Null, &Value::Null);
    drop(in_force);
    let mut document = document();
    let classes = json!({"priority": {"input": "20", "output": "40"}});
    for group in document["groups"].as_array_mut().unwrap() {
        let source = group["protocol"] != "Mixed";
        if group["id"] == "c" {
            group["methods"] = json!({"predict": {"per_call": "0.25"}});
        }
        for model in group["models"].as_array_mut().unwrap() {
            if source && model["prices"].is_null() {
                model["prices"] = json!({"input": "10", "output": "20", "image": "0.5", "tiers": classes,
                    "above": [{"input_tokens": 30, "prices": {"input": "30", "output": "70"}}]});
            }
        }
        if group["id"] == "b-accounts" {
            let tiers =
                json!({"us": {"input": "6", "output": "30"}, "eu": {"input": "1", "output": "1"}});
            group["models"][0]["prices"] = json!({"input": "3", "output": "15", "tiers": tiers});
            group["accounts"][0]["region"] = json!("us");
            group["accounts"][1]["region"] = json!("eu");
        }
        if group["id"] == "b" {
            let free = json!({"id": "claude-free-1", "free": true});
            group["models"].as_array_mut().unwrap().push(free);
        }
    }
    for key in document["keys"].as_array_mut().unwrap() {
        key["limits"] = json!({"budget": {"per_day": per_day}});
    }
    let (in_force, world) = setting_of(&document);
    limited.world = world;
    (in_force, limited)
}

#[test]
fn what_a_request_is_expected_to_cost() {
    let request = |client: LimitedRequest, request, body: &'static str| LimitedRequest {
        request,
        body: body.as_bytes(),
        ..client
    };
    let (chat, messages) = ("POST /v1/chat/completions", "POST /v1/messages");
    let generate = |method: &'static str| match method {
        "embed" => "POST /v1beta/models/gem-1:embedContent",
        "predict" => "POST /v1beta/models/gem-1:predict",
        "count" => "POST /v1beta/models/gem-1:countTokens",
        _ => "POST /v1beta/models/gem-1:generateContent",
    };
    // (case, request, what is reserved). Of A and C an input token is 10 a million and an output token 20, times 0.2 and
    // 0.5; of B 3 and 15, times 2.
    let cases = [
        (
            "a cap",
            request(A, chat, r#"{"model":"gpt-x","max_tokens":1000}"#),
            // 34 bytes.
            "0.004018",
        ),
        (
            "of two caps the greater",
            request(
                A,
                chat,
                r#"{"model":"gpt-x","max_tokens":1,"max_completion_tokens":1000}"#,
            ),
            "0.004032",
        ),
        (
            "a prompt that is estimated as a long one",
            request(
                A,
                chat,
                r#"{"model":"gpt-x","max_tokens":1000,"messages":"as long as it needs to be, as long as it needs to be, as long as it needs to be, as long as"}"#,
            ),
            // 35 tokens of input at 30, 1000 of output at 70.
            "0.01421",
        ),
        (
            "several answers",
            request(A, chat, r#"{"model":"gpt-x","max_tokens":1000,"n":3}"#),
            "0.012022",
        ),
        (
            "no cap",
            request(A, chat, r#"{"model":"gpt-x"}"#),
            "0.065546",
        ),
        (
            "a cap of nothing",
            request(A, chat, r#"{"model":"gpt-x","max_tokens":0}"#),
            "0.065552",
        ),
        (
            "a dearer class of service",
            request(
                A,
                chat,
                r#"{"model":"gpt-x","max_tokens":1000,"service_tier":"priority"}"#,
            ),
            "0.008064",
        ),
        (
            "a huge cap: half of the budget",
            request(
                A,
                chat,
                r#"{"model":"gpt-x","max_tokens":99999999999999999999}"#,
            ),
            "5",
        ),
        (
            "pictures",
            request(
                A,
                "POST /v1/images/generations",
                r#"{"model":"gpt-x","n":2}"#,
            ),
            // 2 at 0.5, and as many tokens as large ones have.
            "0.249932",
        ),
        (
            "Messages",
            request(B, messages, r#"{"model":"claude-z-2","max_tokens":100}"#),
            "0.00306",
        ),
        (
            "the dearer of two models",
            request(
                B,
                messages,
                r#"{"model":"claude-z-2","max_tokens":100,"fallbacks":[{"model":"claude-x-4-5-20251101"}]}"#,
            ),
            "0.00444",
        ),
        (
            "the dearest region of the accounts",
            LimitedRequest {
                id: "b-accounts",
                headers: &["x-api-key: k-b-accounts", "anthropic-version: 2023-06-01"],
                ..request(B, messages, r#"{"model":"claude-z-2","max_tokens":100}"#)
            },
            "0.00612",
        ),
        (
            "a model that is free",
            request(B, messages, r#"{"model":"claude-free-1","max_tokens":100}"#),
            "0",
        ),
        (
            "counting of tokens",
            request(
                B,
                "POST /v1/messages/count_tokens",
                r#"{"model":"claude-z-2","max_tokens":100}"#,
            ),
            "0",
        ),
        (
            "generateContent",
            request(
                C,
                generate(""),
                r#"{"contents":[],"generationConfig":{"maxOutputTokens":1000,"candidateCount":2}}"#,
            ),
            "0.0201",
        ),
        (
            "embeddings",
            request(C, generate("embed"), r#"{"content":{"parts":[]}}"#),
            "0.00003",
        ),
        (
            "embeddings of protocol A",
            request(
                A,
                "POST /v1/embeddings",
                r#"{"model":"gpt-x","input":["","","",""],"n":9}"#,
            ),
            // 46 bytes.
            "0.000024",
        ),
        (
            "a compaction",
            request(A, "POST /v1/responses/compact", r#"{"model":"gpt-x"}"#),
            "0.065546",
        ),
        (
            "the count of a compaction's input",
            request(A, "POST /v1/responses/input_tokens", r#"{"model":"gpt-x"}"#),
            "0",
        ),
        (
            "a call with a price of its own",
            request(C, generate("predict"), r#"{"contents":[]}"#),
            // And what it may write.
            "0.28886",
        ),
        (
            "what is not metered",
            request(C, generate("count"), r#"{"contents":[]}"#),
            "0",
        ),
    ];
    for (case, client, want) in cases {
        let (in_force, world) = priced("10");
        let (mut exchange, outcome) = client.send(&in_force, &world);
        assert!(
            matches!(outcome, Outcome::Continue(_)),
            "{case}: {outcome:?}"
        );
        let reserved = client.reserved(&world, SubjectKind::Key);
        assert_eq!(reserved.to_string(), want, "{case}");
        exchange.on_done(&FakeEnd("downstream"), &world).unwrap();
        let after = client.reserved(&world, SubjectKind::Key);
        assert_eq!(after, Amount::ZERO, "{case}: given back");
    }
}

#[test]
fn who_has_to_wait_is_told_so() {
    let capped = LimitedRequest {
        body: br#"{"model":"claude-z-2","max_tokens":20000}"#,
        ..B
    };
    // Each is expected to cost 0.600066, of which half the budget is reserved.
    let (in_force, world) = priced("1");
    let (mut first, outcome) = capped.send(&in_force, &world);
    assert!(matches!(outcome, Outcome::Continue(_)));
    let (mut second, outcome) = capped.send(&in_force, &world);
    assert!(matches!(outcome, Outcome::Continue(_)), "the other half");
    assert_eq!(capped.reserved(&world, SubjectKind::Key).to_string(), "1");
    let (mut third, outcome) = capped.send(&in_force, &world);
    let refused = reply(outcome, "reserved");
    assert_eq!(refused.status, 429);
    let error = header(&refused, "x-trilane-error");
    assert_eq!(error, Some("rate_limit_exceeded"));
    assert_eq!(header(&refused, "retry-after"), Some("5"));
    assert_eq!(header(&refused, "x-should-retry"), None);
    let left = header(&refused, "x-trilane-budget-remaining-day");
    assert_eq!(left, Some("1"), "nothing is spent");
    let record = third.on_done(&FakeEnd(FINISHED), &world).unwrap();
    let reserved = Limit::Reserved(Window::Day);
    assert_eq!(record.limit, Some((SubjectKind::Key, reserved)));
    // One fails, which costs nothing: another takes its place.
    second.on_response_head(&OfUpstream(500), true, &world);
    second.on_done(&FakeEnd(FINISHED), &world).unwrap();
    let (mut fourth, outcome) = capped.send(&in_force, &world);
    assert!(matches!(outcome, Outcome::Continue(_)));
    for exchange in [&mut first, &mut fourth] {
        exchange.on_response_head(&OfUpstream(200), false, &world);
        exchange.on_response_body(MESSAGE.as_bytes(), MESSAGE.len(), false, &world);
        exchange.on_response_body(MESSAGE_END.as_bytes(), MESSAGE_END.len(), true, &world);
        let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
        assert_eq!(record.settled.spent.len(), 1);
    }
    assert_eq!(capped.reserved(&world, SubjectKind::Key), Amount::ZERO);
}

/// A body that is longer than the window, whose cap stands behind all of it.
#[test]
fn the_rest_of_a_long_body_is_reserved_before_its_last_bytes_go() {
    let begin = format!(r#"{{"model":"claude-z-2","pad":"{}","#, "x".repeat(1500));
    let end = |cap: u64| format!(r#""max_tokens":{cap}}}"#);
    let send = |in_force: &InForce, world: &Limited, cap| {
        let (mut exchange, _) = B.begin(in_force, world);
        let outcome = exchange.on_request_body(begin.as_bytes(), false, world);
        assert!(matches!(outcome, Outcome::Continue(_)), "the head leaves");
        let early = B.reserved(world, SubjectKind::Key);
        let outcome = exchange.on_request_body(end(cap).as_bytes(), true, world);
        (exchange, early, outcome)
    };
    // Without a cap so far 16384 tokens at 15, times 2: 0.49, and 383 for what was read, at 3.
    let (in_force, world) = priced("3");
    let (mut first, early, outcome) = send(&in_force, &world, 40_000);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
    assert_eq!(early.to_string(), "0.493818");
    let all = B.reserved(&world, SubjectKind::Key).to_string();
    assert_eq!(all, "1.202328", "all of it");
    let (mut second, _, outcome) = send(&in_force, &world, 90_000);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
    let all = B.reserved(&world, SubjectKind::Key).to_string();
    assert_eq!(all, "2.702328", "at most a half each");
    second.on_done(&FakeEnd("downstream"), &world).unwrap();
    let (mut other, _, outcome) = send(&in_force, &world, 16_000);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
    let (mut refused, _, outcome) = send(&in_force, &world, 90_000);
    let reply = reply(outcome, "refused at the end");
    assert_eq!(reply.status, 429);
    let late = refused.on_request_body(b"more", true, &world);
    assert_eq!(late, Outcome::Pause, "the upstream never has all of it");
    let record = refused.on_done(&FakeEnd(FINISHED), &world).unwrap();
    assert_eq!((record.ending, record.charge), (Ending::Refused, None));
    for exchange in [&mut first, &mut other] {
        exchange.on_done(&FakeEnd("downstream"), &world).unwrap();
    }
    assert_eq!(B.reserved(&world, SubjectKind::Key), Amount::ZERO);
}

/// Bodies within the window wait for the cap, wherever it stands.
#[test]
fn the_head_waits_for_the_cap() {
    let (in_force, world) = priced("10");
    let (mut exchange, _) = B.begin(&in_force, &world);
    let outcome = exchange.on_request_body(br#"{"model":"claude-z-2","#, false, &world);
    assert_eq!(outcome, Outcome::Pause);
    let outcome = exchange.on_request_body(br#""max_tokens":1000}"#, true, &world);
    assert!(matches!(outcome, Outcome::Continue(_)));
    let reserved = B.reserved(&world, SubjectKind::Key).to_string();
    assert_eq!(reserved, "0.03006");
    exchange.on_done(&FakeEnd("downstream"), &world).unwrap();
}
