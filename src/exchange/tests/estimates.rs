//! Charges where nobody reported the usage, and where a price covers more or less than tokens.

use super::*;
use crate::ledger::{Ending, Record, UsageStatus};
use crate::money::Gap;

const ABORT: &str = "downstream_remote_disconnect";
const RESET: &str = "upstream_reset_after_response_started{connection_termination}";

/// Groups whose models have round prices: a token read costs 1, one written 1000, in millionths.
fn setting() -> (InForce, FakeWorld) {
    let prices = json!({"input": "1", "output": "1000", "tiers": {"priority": {"input": "2", "output": "2000"}},
        "per_call": {"web_search": "0.01"}});
    // The clock shows 08:00 on a Friday.
    let timed = json!({"input": "1", "output": "1000", "times": [
        {"hours": ["08:10-10:00"], "prices": {"input": "2", "output": "2000"}},
        {"days": ["fri"], "hours": ["09:00-10:00"], "at": "end", "prices": {"input": "3", "output": "3000"}},
        {"from": "2027-01-16", "at": "end", "prices": {"input": "4", "output": "4000"}}]});
    let image = json!({"input": "1", "image": "0.5"});
    let advisor = json!({"input": "10", "output": "10000"});
    let groups = vec![
        json!({"id": "a", "protocol": "A", "multiplier": "1", "cluster": "ca", "image_generation": true,
            "models": [{"id": "m", "prices": prices}, {"id": "img", "kind": "image", "prices": image},
                {"id": "pic", "kind": "image", "prices": {"input": "1", "output": "10"}}, {"id": "r", "prices": prices, "reasoning": true}, {"id": "t", "prices": timed}]}),
        json!({"id": "b", "protocol": "B", "multiplier": "2", "cluster": "cb",
            "models": [{"id": "m-x-1", "prices": prices}, {"id": "m-y-2", "prices": advisor}]}),
        json!({"id": "c", "protocol": "C", "multiplier": "0.5", "cluster": "cc", "methods": {"predict": {"per_call": "0.04"}}, "account_resources": true,
            "models": [{"id": "m", "prices": prices}, {"id": "free", "free": true}]}),
    ];
    let keys: Vec<Value> = groups
        .iter()
        .map(|group| {
            let id = group["id"].as_str().unwrap();
            json!({"id": id, "sha256": sha256(&format!("k-{id}")), "group": id})
        })
        .collect();
    setting_of(&json!({"groups": groups, "keys": keys}))
}

/// A step of an upstream's response.
#[derive(Debug, Clone, Copy)]
enum ResponseStep<'a> {
    Head(u16, &'static str),
    /// Some of it.
    Chunk(&'a str),
    /// A pause of so many seconds.
    Wait(u64),
    End,
}

use ResponseStep::{Chunk, End, Wait};

const GOOD: ResponseStep<'_> = ResponseStep::Head(200, UPSTREAM);

struct EstimatedRequest<'a> {
    request: &'a str,
    headers: &'a [&'a str],
    body: &'a str,
}

const CHAT: &str = "POST /v1/chat/completions";

fn play(call: &EstimatedRequest<'_>, steps: &[ResponseStep<'_>], details: &str) -> Record {
    let (in_force, world) = setting();
    let mut exchange = Exchange::default();
    let head = head(call.request, call.headers);
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    let outcome = exchange.on_request_body(call.body.as_bytes(), true, &world);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
    for step in steps {
        match *step {
            ResponseStep::Head(status, details) => {
                drop(after_answer(
                    &mut exchange,
                    &FakeHead { status, details },
                    &world,
                ));
            }
            Chunk(text) => {
                drop(exchange.on_response_body(text.as_bytes(), text.len(), false, &world))
            }
            Wait(seconds) => world.micros.set(world.micros.get() + seconds * 1_000_000),
            End => drop(exchange.on_response_body(&[], 0, true, &world)),
        }
    }
    exchange.on_done(&FakeEnd(details), &world).unwrap()
}

const A: &[&str] = &["authorization: Bearer k-a"];
const C: &[&str] = &["x-goog-api-key: k-c"];

/// 40 bytes: 10 tokens.
const STREAM: &str = r#"{"model":"m","stream":true,"messages":1}"#;
/// Two tokens of text.
const WORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"12345678\"}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":1}}\n\n";

#[test]
fn prices_at_the_time_of_a_request() {
    const TIMED: &str = r#"{"model":"t","stream":true,"messages":1}"#;
    let stream = EstimatedRequest {
        request: CHAT,
        headers: A,
        body: TIMED,
    };
    // (case, how many minutes pass, the charge)
    for (case, minutes, want) in [
        ("at once", 0, "0.00103"),
        ("it began before the dearer hours", 15, "0.00103"),
        ("it ends in those that count by the end", 65, "0.00309"),
        ("it ends on a later day", 60 * 20, "0.00412"),
    ] {
        let steps = [
            GOOD,
            Chunk(WORD),
            Wait(minutes * 60),
            Chunk(USAGE),
            Chunk(DONE),
            End,
        ];
        let record = play(&stream, &steps, "");
        let charge = record.charge.map(|charge| charge.to_string());
        // One token of output, 30 of input.
        assert_eq!(charge.as_deref(), Some(want), "{case}");
    }
}

#[test]
fn classes_of_service_that_are_asked_for() {
    let (in_force, world) = setting();
    let b: &[&str] = &["x-api-key: k-b", "anthropic-version: 2023-06-01"];
    const B: &str = "POST /v1/messages";
    type Case<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, Option<u16>);
    let cases: &[Case<'_>] = &[
        (
            "priced",
            CHAT,
            A,
            r#"{"model":"m","service_tier":"priority"}"#,
            None,
        ),
        (
            "not priced",
            CHAT,
            A,
            r#"{"model":"m","service_tier":"flex"}"#,
            Some(400),
        ),
        (
            "not priced, before the model",
            CHAT,
            A,
            r#"{"service_tier":"flex","model":"m"}"#,
            Some(400),
        ),
        (
            "in capitals",
            CHAT,
            A,
            r#"{"model":"m","service_tier":"FLEX"}"#,
            Some(400),
        ),
        (
            "whatever there is",
            CHAT,
            A,
            r#"{"model":"m","service_tier":"auto"}"#,
            None,
        ),
        (
            "the ordinary one",
            CHAT,
            A,
            r#"{"model":"m","service_tier":"default"}"#,
            None,
        ),
        (
            "none",
            CHAT,
            A,
            r#"{"model":"m","service_tier":null}"#,
            None,
        ),
        (
            "a speed",
            B,
            b,
            r#"{"model":"m-x-1","speed":"fast"}"#,
            Some(400),
        ),
        (
            "the ordinary speed",
            B,
            b,
            r#"{"model":"m-x-1","speed":"standard"}"#,
            None,
        ),
        (
            "of a model without prices",
            "POST /v1beta/models/free:generateContent",
            C,
            r#"{"serviceTier":"flex"}"#,
            None,
        ),
        (
            "in protocol C",
            "POST /v1beta/models/m:generateContent",
            C,
            r#"{"serviceTier":"flex"}"#,
            Some(400),
        ),
    ];
    for (case, request, headers, body, want) in cases {
        for step in [1, 5, body.len()] {
            let mut exchange = Exchange::default();
            let head = head(request, headers);
            exchange.on_request_head(&head, false, Some(&in_force), &world);
            let chunks: Vec<&[u8]> = body.as_bytes().chunks(step).collect();
            let mut refused = None;
            for (i, chunk) in chunks.iter().enumerate() {
                let outcome = exchange.on_request_body(chunk, i + 1 == chunks.len(), &world);
                refused = refused.or(reply_of(&outcome).map(|(status, ..)| status));
            }
            assert_eq!(refused, *want, "{case}, by {step}");
        }
    }
}

#[test]
fn an_answer_that_tells_no_class_had_the_one_that_was_asked_for() {
    let call = EstimatedRequest {
        request: CHAT,
        headers: A,
        body: r#"{"model":"m","service_tier":"priority"} "#,
    };
    let record = play(&call, &[Wait(1)], ABORT);
    assert_eq!(record.charge.unwrap().to_string(), "0.20002");
}

#[test]
fn what_a_price_covers() {
    let chat = |more: &str| {
        format!(
            "{{\"choices\":[],\"usage\":{{\"prompt_tokens\":1000,\"completion_tokens\":0}}{more}}}"
        )
    };
    let message = |usage: &str| {
        format!(
            "{{\"type\":\"message\",\"usage\":{{\"input_tokens\":1000,\"output_tokens\":0{usage}}}}}"
        )
    };
    let searches = r#","server_tool_use":{"web_search_requests":3}"#;
    let advice = r#","iterations":[{"type":"message","input_tokens":1000,"output_tokens":0},{"type":"advisor_message","model":"m-y-2","input_tokens":100,"output_tokens":10}]"#;
    let stranger = advice.replace("m-y-2", "m-z-9");
    const FALLBACK: &str = r#"{"model":"m-x-1","max_tokens":9,"fallbacks":[{"model":"m-y-2"}]}"#;
    let declined = r#"{"model":"m-y-2","usage":{"input_tokens":2000,"output_tokens":0,"iterations":[{"type":"message","model":"m-x-1","input_tokens":1000},{"type":"fallback_message","model":"m-y-2","input_tokens":1000}]}}"#;
    let b: &[&str] = &["x-api-key: k-b", "anthropic-version: 2023-06-01"];
    let a_body = r#"{"model":"m"}"#;
    let b_body = r#"{"model":"m-x-1","max_tokens":9}"#;
    type Case<'a> = (
        &'a str,
        &'a str,
        &'a [&'a str],
        &'a str,
        String,
        &'a str,
        &'a [Gap],
    );
    let cases: &[Case<'_>] = &[
        ("plain", CHAT, A, a_body, chat(""), "0.001", &[]),
        ("a class with a price", CHAT, A, a_body, chat(r#","service_tier":"priority""#), "0.002", &[]),
        ("an ordinary class", CHAT, A, a_body, chat(r#","service_tier":"default""#), "0.001", &[]),
        ("a class without a price", CHAT, A, a_body, chat(r#","service_tier":"scale""#), "0.001", &[Gap::Tier]),
        ("calls with a price", "POST /v1/messages", b, b_body, message(searches), "0.062", &[]),
        ("a speed without a price", "POST /v1/messages", b, b_body, message(r#","speed":"fast""#), "0.002", &[Gap::Speed]),
        ("another model at its own prices", "POST /v1/messages", b, b_body, message(advice), "0.204", &[]),
        ("a model that is not listed", "POST /v1/messages", b, b_body, message(&stranger), "0.0222", &[Gap::Model]),
        ("a fallback that answered", "POST /v1/messages", b, FALLBACK, r#"{"model":"m-y-2","usage":{"input_tokens":1000,"output_tokens":0}}"#.to_owned(), "0.02", &[]),
        ("one that nobody asked for, dearer", "POST /v1/messages", b, b_body, r#"{"model":"m-y-2","usage":{"input_tokens":1000,"output_tokens":0}}"#.to_owned(), "0.02", &[]),
        ("one that nobody asked for, cheaper", "POST /v1/messages", b, r#"{"model":"m-y-2","max_tokens":9}"#, r#"{"model":"m-x-1","usage":{"input_tokens":1000,"output_tokens":0}}"#.to_owned(), "0.02", &[]),
        ("one that is not listed", "POST /v1/messages", b, b_body, r#"{"model":"m-z-9","usage":{"input_tokens":1000,"output_tokens":0}}"#.to_owned(), "0.002", &[Gap::Model]),
        ("the one that was asked for, in other words", "POST /v1/messages", b, b_body, r#"{"model":"eu.maker.m-x-1-20251001-v1:0","usage":{"input_tokens":1000,"output_tokens":0}}"#.to_owned(), "0.002", &[]),
        ("a model without a name", "POST /v1/messages", b, b_body, r#"{"model":"","usage":{"input_tokens":1000,"output_tokens":0}}"#.to_owned(), "0.002", &[]),
        ("a free one, by one that is not", "POST /v1beta/models/free:generateContent", C, r#"{"contents":[]}"#, r#"{"modelVersion":"m","usageMetadata":{"promptTokenCount":1000}}"#.to_owned(), "0.0005", &[]),
        ("what declined and what answered", "POST /v1/messages", b, FALLBACK, declined.to_owned(), "0.022", &[]),
        ("a method by the call", "POST /v1beta/models/m:predict", C, r#"{"instances":[1]}"#, r#"{"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":0},"candidates":[]}"#.to_owned(), "0.0205", &[]),
        ("of a free model", "POST /v1beta/models/free:predict", C, r#"{"instances":[1]}"#, "{}".to_owned(), "0.02", &[]),
        ("another method of it", "POST /v1beta/models/free:generateContent", C, r#"{"contents":[]}"#, "{}".to_owned(), "", &[]),
    ];
    for (case, request, headers, body, answer, charge, gaps) in cases {
        let call = EstimatedRequest {
            request,
            headers,
            body,
        };
        let record = play(&call, &[GOOD, Chunk(answer), End], "");
        let got = record.charge.map(|c| c.to_string()).unwrap_or_default();
        assert_eq!(got, *charge, "{case}");
        let got: Vec<Gap> = record.uncovered.iter().collect();
        assert_eq!(got, *gaps, "{case}");
    }
}

#[test]
fn a_cache_that_is_made_costs_what_was_read_into_it() {
    let call = EstimatedRequest {
        request: "POST /v1beta/cachedContents",
        headers: &["x-goog-api-key: k-c"],
        body: r#"{"model":"models/m","contents":[{"parts":[{"text":"0123456789012345678901234567890123456789"}]}],"ttl":"300s"}"#,
    };
    let told = r#"{"name":"cachedContents/x","model":"models/m","usageMetadata":{"totalTokenCount":4096}}"#;
    type CacheCase<'a> = (
        &'a str,
        &'a [ResponseStep<'a>],
        &'a str,
        UsageStatus,
        Option<u64>,
    );
    let cases: [CacheCase<'_>; 5] = [
        (
            "told",
            &[GOOD, Chunk(told), End],
            "",
            UsageStatus::Complete,
            Some(4096),
        ),
        (
            "told nothing",
            &[GOOD, Chunk("{}"), End],
            "",
            UsageStatus::Estimated,
            None,
        ),
        (
            "told in part",
            &[GOOD, Chunk(&told[..40])],
            ABORT,
            UsageStatus::Estimated,
            None,
        ),
        (
            "left before",
            &[Wait(9)],
            ABORT,
            UsageStatus::Estimated,
            None,
        ),
        (
            "refused",
            &[ResponseStep::Head(400, UPSTREAM), Chunk("{}"), End],
            "",
            UsageStatus::Failed,
            Some(0),
        ),
    ];
    for (case, steps, details, status, tokens) in cases {
        let record = play(&call, steps, details);
        assert_eq!(record.status, status, "{case}");
        assert_eq!(record.operation, Some("create_cache"), "{case}");
        assert_eq!(record.model.as_deref(), Some("m"), "{case}");
        let usage = record.reading.usage.unwrap_or_default();
        assert_eq!(usage.output_tokens(), 0, "{case}");
        match tokens {
            Some(tokens) => assert_eq!(usage.input_tokens(), tokens, "{case}"),
            None => assert!(usage.input_tokens() > 10, "{case}: {usage:?}"),
        }
        // Half of a millionth for each.
        let want = format!("{}", usage.input_tokens() * 5);
        let charge = record.charge.map(|charge| charge.to_string());
        let charge = charge.unwrap_or_default();
        let digits = charge.trim_start_matches(['0', '.']).trim_end_matches('0');
        assert_eq!(digits, want.trim_end_matches('0'), "{case}: {charge}");
    }
}

/// An event that tells something and has no text in it, of each protocol.
const FIRST: &str =
    "data: {\"id\":\"i\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const CREATED: &str = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n";
const STARTED: &str = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n";
const EMPTY: &str =
    "data: {\"candidates\":[{\"content\":{\"parts\":[]}}],\"responseId\":\"x\"}\n\n";
const COMMENT: &str = ": processing\n\n";
const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
const B: &[&str] = &["x-api-key: k-b", "anthropic-version: 2023-06-01"];
const RESPONSES: &str = "POST /v1/responses";
const MESSAGES: &str = "POST /v1/messages";
const STREAM_C: &str = "POST /v1beta/models/m:streamGenerateContent?alt=sse";

/// The output of requests of 40 bytes or any other length: what of it counts.
fn output_of(call: &EstimatedRequest<'_>, steps: &[ResponseStep<'_>], details: &str) -> u64 {
    let record = play(call, steps, details);
    record.usage().map_or(0, |usage| usage.output_tokens())
}

#[test]
fn silence_of_a_stream_that_is_left() {
    let asked = r#"{"model":"m","stream":true,"reasoning_effort":"high","messages":[]}"#;
    let with = |more: &str| asked.replacen('{', &format!("{{{more},"), 1);
    let capped = with(r#""max_completion_tokens":300"#);
    let twice = with(r#""max_tokens":300,"n":2"#);
    let unknown = with(r#""max_output_tokens":300,"generationConfig":{"maxOutputTokens":300}"#);
    let nought = with(r#""max_tokens":0"#);
    let plain = r#"{"model":"m","stream":true,"messages":[]}"#;
    let off = r#"{"model":"m","stream":true,"reasoning_effort":"none","messages":[]}"#;
    let marked = r#"{"model":"r","stream":true,"messages":[]}"#;
    let responses = r#"{"model":"m","stream":true,"reasoning":{"effort":"high"},"input":""}"#;
    let messages =
        r#"{"model":"m-x-1","max_tokens":5000,"stream":true,"thinking":{"type":"enabled"}}"#;
    let disabled = messages.replace("enabled", "disabled");
    let adaptive = messages
        .replace("enabled", "adaptive")
        .replace("5000", "70");
    let named = r#"{"model":"m-x-1-thinking","max_tokens":5000,"stream":true}"#;
    let generate =
        r#"{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingLevel":"high"}}}"#;
    let budget = generate.replace(r#""thinkingLevel":"high""#, r#""thinkingBudget":0"#);
    let left: &[ResponseStep<'_>] = &[GOOD, Chunk(FIRST), Wait(20)];
    type Case<'a> = (
        &'a str,
        (&'a str, &'a [&'a str], &'a str),
        &'a [ResponseStep<'a>],
        &'a str,
        u64,
    );
    #[rustfmt::skip]
    let cases: &[Case<'_>] = &[
        ("asked for", (CHAT, A, asked), left, ABORT, 2000),
        ("not asked for", (CHAT, A, plain), left, ABORT, 0),
        ("switched off", (CHAT, A, off), left, ABORT, 0),
        ("a model that is marked", (CHAT, A, marked), left, ABORT, 2000),
        ("before the first event", (CHAT, A, asked), &[GOOD, Wait(20)], ABORT, 0),
        ("before the head", (CHAT, A, asked), &[Wait(20)], ABORT, 0),
        ("behind a comment alone", (CHAT, A, asked), &[GOOD, Chunk(COMMENT), Wait(20)], ABORT, 0),
        ("from the first event on", (CHAT, A, asked), &[GOOD, Chunk(COMMENT), Wait(20), Chunk(FIRST), Wait(1)], ABORT, 100),
        ("comments go on", (CHAT, A, asked), &[GOOD, Chunk(FIRST), Wait(10), Chunk(COMMENT), Wait(10)], ABORT, 2000),
        ("up to the first word", (CHAT, A, asked), &[GOOD, Chunk(FIRST), Wait(10), Chunk(WORD), Wait(60)], ABORT, 1002),
        ("twice", (CHAT, A, asked), &[GOOD, Chunk(FIRST), Wait(10), Chunk(WORD), Chunk(FIRST), Wait(5), Chunk(WORD)], ABORT, 1504),
        ("the cap", (CHAT, A, &capped), left, ABORT, 300),
        ("the cap of each", (CHAT, A, &twice), left, ABORT, 600),
        ("caps of other endpoints", (CHAT, A, &unknown), left, ABORT, 2000),
        ("a cap of nought", (CHAT, A, &nought), left, ABORT, 2000),
        ("for an hour", (CHAT, A, asked), &[GOOD, Chunk(FIRST), Wait(3600)], ABORT, 128_000),
        ("the source breaks off", (CHAT, A, asked), left, RESET, 0),
        ("the source stalls", (CHAT, A, asked), left, "stream_idle_timeout", 0),
        ("the stream ends", (CHAT, A, asked), &[GOOD, Chunk(FIRST), Wait(20), Chunk(WORD), Chunk(DONE), End], "", 2),
        ("Responses", (RESPONSES, A, responses), &[GOOD, Chunk(CREATED), Wait(10)], ABORT, 1000),
        ("Messages", (MESSAGES, B, messages), &[GOOD, Chunk(STARTED), Wait(10)], ABORT, 1000),
        ("Messages, a ping alone", (MESSAGES, B, messages), &[GOOD, Chunk(PING), Wait(10)], ABORT, 0),
        ("Messages, without", (MESSAGES, B, &disabled), &[GOOD, Chunk(STARTED), Wait(10)], ABORT, 0),
        ("Messages, a small cap", (MESSAGES, B, &adaptive), &[GOOD, Chunk(STARTED), Wait(10)], ABORT, 70),
        ("Messages, by the name", (MESSAGES, B, named), &[GOOD, Chunk(STARTED), Wait(10)], ABORT, 1000),
        ("generate-content", (STREAM_C, C, generate), &[GOOD, Chunk(EMPTY), Wait(10)], ABORT, 1000),
        ("generate-content, without", (STREAM_C, C, &budget), &[GOOD, Chunk(EMPTY), Wait(10)], ABORT, 0),
    ];
    for (case, (request, headers, body), steps, details, want) in cases {
        let call = EstimatedRequest {
            request,
            headers,
            body,
        };
        assert_eq!(output_of(&call, steps, details), *want, "{case}");
    }
}

#[test]
fn an_estimate_keeps_to_the_cap_that_the_endpoint_knows() {
    let words = WORD.repeat(32);
    let more = WORD.repeat(33);
    let chat = |caps: &str| format!(r#"{{"model":"m","stream":true,{caps}"messages":[]}}"#);
    let whole = |caps: &str| format!(r#"{{"model":"m",{caps}"messages":[]}}"#);
    let message =
        r#"{"model":"m-x-1","max_tokens":100,"max_output_tokens":1,"max_completion_tokens":1}"#;
    let response = r#"{"model":"m","max_tokens":1,"max_completion_tokens":1,"input":""}"#;
    type Case<'a> = (
        &'a str,
        &'a str,
        &'a [&'a str],
        String,
        Vec<ResponseStep<'a>>,
        u64,
    );
    let cases: &[Case<'_>] = &[
        (
            "a stream within its cap",
            CHAT,
            A,
            chat(r#""max_tokens":999,"#),
            vec![GOOD, Chunk(WORD)],
            2,
        ),
        (
            "a stream beyond it",
            CHAT,
            A,
            chat(r#""max_tokens":1,"#),
            vec![GOOD, Chunk(&words)],
            1,
        ),
        (
            "two answers",
            CHAT,
            A,
            chat(r#""max_completion_tokens":3,"n":2,"#),
            vec![GOOD, Chunk(&words)],
            6,
        ),
        (
            "so much that it was not kept",
            CHAT,
            A,
            chat(r#""max_tokens":1,"#),
            vec![GOOD, Chunk(&more)],
            66,
        ),
        (
            "one of another endpoint",
            CHAT,
            A,
            chat(r#""max_output_tokens":1,"#),
            vec![GOOD, Chunk(&words)],
            64,
        ),
        (
            "an answer that was not awaited",
            CHAT,
            A,
            whole(r#""max_output_tokens":1,"#),
            vec![Wait(5)],
            500,
        ),
        (
            "the same of Messages",
            MESSAGES,
            B,
            message.to_owned(),
            vec![Wait(5)],
            100,
        ),
        (
            "the same of Responses",
            RESPONSES,
            A,
            response.to_owned(),
            vec![Wait(5)],
            500,
        ),
    ];
    for (case, request, headers, body, steps, want) in cases {
        let call = EstimatedRequest {
            request,
            headers,
            body,
        };
        assert_eq!(output_of(&call, steps, ABORT), *want, "{case}");
    }
}

#[test]
fn what_is_no_text_in_a_stream_that_is_left() {
    let tool = |more: &str| {
        format!(
            r#"{{"model":"m","stream":true,"input":"","tools":[{{"type":"image_generation"{more}}}]}}"#
        )
    };
    let named = tool(r#","model":"pic","quality":"low""#);
    let unnamed = tool(r#","size":"1024x1536""#);
    let partial = "data: {\"type\":\"response.image_generation_call.partial_image\",\"partial_image_b64\":\"AAAA\"}\n\n";
    let begun = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"image_generation_call\"}}\n\n";
    let searching = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"web_search_call\"}}\n\n";
    let search = "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"server_tool_use\",\"name\":\"web_search\",\"input\":{}}}\n\n";
    let picture = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"AAAA\"}}]}}]}\n\n";
    let cut = &picture[..picture.len() - 12];
    let sound = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"audio\":{{\"data\":\"{}\"}}}}}}]}}\n\n",
        "A".repeat(6400)
    );
    let drawn = "data: {\"choices\":[{\"delta\":{\"images\":[{\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]}}]}\n\n";
    let chat = r#"{"model":"m","stream":true,"messages":[]}"#;
    let pcm = r#"{"model":"m","stream":true,"audio":{"format":"pcm16"},"messages":[]}"#;
    let large = r#"{"contents":[],"generationConfig":{"imageConfig":{"imageSize":"4K"}}}"#;
    let pictures = r#"{"model":"pic","stream":true,"quality":"medium","prompt":"p"}"#;
    let partial_picture =
        "data: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AAAA\"}\n\n";
    // (case, request, steps, output of the model, and in all what it costs without its input)
    type Case<'a> = (
        &'a str,
        (&'a str, &'a [&'a str], &'a str),
        String,
        u64,
        &'a str,
    );
    #[rustfmt::skip]
    let cases: &[Case<'_>] = &[
        ("a partial picture", (RESPONSES, A, &named), partial.to_owned(), 0, "0.00372"),
        ("three of one picture", (RESPONSES, A, &named), partial.repeat(3), 0, "0.00572"),
        ("a picture that has begun", (RESPONSES, A, &named), begun.to_owned(), 0, "0.00272"),
        ("a tool that names no model", (RESPONSES, A, &unnamed), begun.to_owned(), 0, "0.0624"),
        ("searches that have begun", (RESPONSES, A, r#"{"model":"m","stream":true,"input":""}"#), searching.repeat(3), 0, "0.03"),
        ("searches of Messages", (MESSAGES, B, r#"{"model":"m-x-1","stream":true,"max_tokens":900}"#), search.repeat(5), 13, "0.126"),
        ("a picture", (STREAM_C, C, r#"{"contents":[]}"#), picture.to_owned(), 1290, "0.645"),
        ("nearly all of a picture", (STREAM_C, C, r#"{"contents":[]}"#), cut.to_owned(), 1290, "0.645"),
        ("two large pictures", (STREAM_C, C, large), picture.repeat(2), 4000, "2"),
        ("pictures of another vendor", (CHAT, A, chat), drawn.to_owned(), 1290, "1.29"),
        ("sound", (CHAT, A, chat), sound.repeat(2), 20, "0.02"),
        ("sound that is not compressed", (CHAT, A, pcm), sound.repeat(2), 5, "0.005"),
        ("a picture of the images endpoint", ("POST /v1/images/generations", A, pictures), partial_picture.to_owned(), 1156, "0.01156"),
    ];
    for (case, (request, headers, body), stream, output, want) in cases {
        let call = EstimatedRequest {
            request,
            headers,
            body,
        };
        let record = play(&call, &[GOOD, Chunk(stream)], ABORT);
        assert_eq!(record.status, UsageStatus::Estimated, "{case}");
        let usage = record.usage().unwrap();
        assert_eq!(usage.output_tokens(), *output, "{case}");
        let of_all = |factor: &str| rust_decimal::Decimal::from_str_exact(factor).unwrap();
        let factor = match headers[0] {
            "x-api-key: k-b" => "0.000002",
            "x-goog-api-key: k-c" => "0.0000005",
            _ => "0.000001",
        };
        let input = of_all(factor) * rust_decimal::Decimal::from(usage.input_tokens());
        let output = record.charge.unwrap().value() - input;
        assert_eq!(output.normalize().to_string(), *want, "{case}");
        assert!(record.uncovered.is_empty(), "{case}");
    }
}

#[test]
fn complete_json_that_was_released_was_sent() {
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    enum Then {
        Leaves,
        More(&'static str),
        Timeout,
    }
    let cases = [
        (
            "its end never comes",
            body,
            Then::Leaves,
            Ending::ClientAbort,
            UsageStatus::Estimated,
        ),
        (
            "half of it",
            &body[..30],
            Then::Leaves,
            Ending::ClientAbort,
            UsageStatus::None,
        ),
        (
            "Envoy waits in vain",
            body,
            Then::Timeout,
            Ending::Refused,
            UsageStatus::Estimated,
        ),
        (
            "Envoy waits for half of it",
            &body[..30],
            Then::Timeout,
            Ending::Refused,
            UsageStatus::None,
        ),
        (
            "something behind it",
            body,
            Then::More("x"),
            Ending::Refused,
            UsageStatus::Estimated,
        ),
        (
            "white space behind it",
            body,
            Then::More(" "),
            Ending::ClientAbort,
            UsageStatus::Estimated,
        ),
        (
            "broken",
            &body[..30],
            Then::More("\n"),
            Ending::Refused,
            UsageStatus::None,
        ),
    ];
    for (case, sent, then, ending, status) in cases {
        let (in_force, world) = setting();
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head(CHAT, A), false, Some(&in_force), &world);
        exchange.on_request_body(sent.as_bytes(), false, &world);
        match then {
            Then::Leaves => {}
            Then::More(bytes) => drop(exchange.on_request_body(bytes.as_bytes(), false, &world)),
            Then::Timeout => drop(exchange.on_response_head(
                &FakeHead {
                    status: 408,
                    details: "request_overall_timeout",
                },
                false,
                &world,
            )),
        }
        let record = exchange.on_done(&FakeEnd(ABORT), &world).unwrap();
        assert_eq!((record.ending, record.status), (ending, status), "{case}");
        let charged = record.charge.is_some();
        assert_eq!(charged, status == UsageStatus::Estimated, "{case}");
    }
}

/// A number that no answer comes to is not reported: the rest stands, and the estimate for it.
#[test]
fn a_count_beyond_all_measure_is_estimated() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":9000000000000}}\n\n";
    let call = EstimatedRequest {
        request: CHAT,
        headers: A,
        body: STREAM,
    };
    let record = play(
        &call,
        &[GOOD, Chunk(WORD), Chunk(usage), Chunk(DONE), End],
        "",
    );
    assert_eq!(record.status, UsageStatus::Estimated);
    let tokens = record
        .usage()
        .map(|usage| (usage.input_tokens(), usage.output_tokens()));
    assert_eq!(tokens, Some((30, 2)));
    assert!(record.reading.excessive);
}

#[test]
fn embeddings_are_input_alone() {
    // 40 bytes: 10 tokens.
    const ASKED: &str = r#"{"model":"m","input":"0123456789012345"}"#;
    let embeddings = EstimatedRequest {
        request: "POST /v1/embeddings",
        headers: A,
        body: ASKED,
    };
    const VECTOR: &str = r#"{"object":"list","data":[{"embedding":"AAAAAAAAAAAAAAAAAAAAAAAA"}]"#;
    // (case, what comes, how it ends, the status, the charge)
    #[rustfmt::skip]
    let cases: [(&str, &[ResponseStep<'_>], &str, UsageStatus, &str); 5] = [
        ("reported", &[GOOD, Chunk(VECTOR), Chunk(r#","usage":{"prompt_tokens":4,"total_tokens":4}}"#), End], "", UsageStatus::Complete, "0.000004"),
        ("not reported", &[GOOD, Chunk(VECTOR), Chunk("}"), End], "", UsageStatus::Estimated, "0.00001"),
        ("the client leaves behind a part", &[GOOD, Chunk(VECTOR), Wait(9)], ABORT, UsageStatus::Estimated, "0.00001"),
        ("it leaves before", &[Wait(9)], ABORT, UsageStatus::Estimated, "0.00001"),
        ("in no form that is known", &[GOOD, Chunk("<html>"), End], "", UsageStatus::Estimated, "0.00001"),
    ];
    for (case, steps, details, status, want) in cases {
        let record = play(&embeddings, steps, details);
        assert_eq!(record.status, status, "{case}");
        assert_eq!(record.usage().unwrap().output_tokens(), 0, "{case}");
        assert_eq!(record.charge.unwrap().to_string(), want, "{case}");
        assert_eq!(record.operation, Some("embeddings"), "{case}");
    }
}

#[test]
fn a_compaction_is_charged_as_a_response_is() {
    let asked = EstimatedRequest {
        request: "POST /v1/responses/compact",
        headers: A,
        body: r#"{"model":"m","input":"0123456789012345"}"#,
    };
    let repeated = r#"{"object":"response.compaction","output":[{"type":"message","role":"user","content":[{"text":"0123456789012345"}]},{"type":"compaction","encrypted_content":"01234567"}]"#;
    let usage = r#","usage":{"input_tokens":30,"output_tokens":5,"total_tokens":35}}"#;
    for (case, rest, status, want) in [
        ("reported", usage, UsageStatus::Complete, "0.00503"),
        ("not reported", "}", UsageStatus::Estimated, "0.00201"),
    ] {
        let steps = [GOOD, Chunk(repeated), Chunk(rest), End];
        let record = play(&asked, &steps, "");
        assert_eq!(record.status, status, "{case}");
        assert_eq!(record.charge.unwrap().to_string(), want, "{case}");
    }
}
