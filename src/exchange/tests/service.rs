//! The limits service: when it is asked and about what, what its answers become, what it is told at the end.

use super::*;
use crate::limits::service::{OnFailure, ServiceTokens};

const V: &str = "anthropic-version: 2023-06-01";
const B: &[&str] = &["x-api-key: k-b-low", V];
const MESSAGES: &str = "POST /v1/messages";
const BODY: &[u8] = br#"{"model":"claude-z-2-20260101","stream":true,"max_tokens":700}"#;

/// The answer of a filter of Envoy's, or of an upstream.
#[derive(Debug, Clone, Copy)]
struct Answered(u16, &'static str, Option<&'static str>);

impl ResponseHeaders for Answered {
    fn status(&self) -> u16 {
        self.0
    }

    fn details(&self) -> Vec<u8> {
        self.1.as_bytes().to_vec()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        let reset = self.2.filter(|_| name == "x-ratelimit-reset");
        reset.map(str::to_owned)
    }

    fn withheld_headers(&self) -> Vec<String> {
        Vec::new()
    }
}

fn with(failure: Option<OnFailure>) -> (InForce, FakeWorld) {
    let (mut in_force, mut world) = setting();
    in_force.policy.limits_service = failure;
    world.service = true;
    (in_force, world)
}

/// An exchange whose request has gone upstream, and what the service is asked about.
fn sent(
    failure: Option<OnFailure>,
    request: &str,
    headers: &[&str],
    body: &[u8],
) -> (Exchange, FakeWorld, Vec<(&'static str, String)>) {
    let (in_force, world) = with(failure);
    let mut exchange = Exchange::default();
    let first = exchange.on_request_head(&head(request, headers), false, Some(&in_force), &world);
    assert_eq!(first, Outcome::Pause, "{request}");
    let Outcome::Continue(edits) = exchange.on_request_body(body, true, &world) else {
        panic!("{request}: not forwarded");
    };
    let state = edits.descriptors.iter().flat_map(|asked| asked.state());
    let state = state.map(|(name, value)| (name, value.to_owned()));
    (exchange, world, state.collect())
}

#[test]
fn what_it_is_asked_about() {
    let closed = [
        ("limit_closed_key", "b-low"),
        ("limit_closed_group", "b-low"),
        ("limit_closed_model", "claude-z-2"),
    ];
    let open = [
        ("limit_open_key", "mixed"),
        ("limit_open_group", "mixed"),
        ("limit_open_model", "gem-1"),
    ];
    let resource = [
        ("limit_open_key", "c-current"),
        ("limit_open_group", "c-current"),
    ];
    let generate = "POST /v1beta/models/gem-1:generateContent";
    let cases = [
        ("none is named", None, MESSAGES, B, BODY, &[][..]),
        (
            "closed, the model by its canonical name",
            Some(OnFailure::Closed),
            MESSAGES,
            B,
            BODY,
            &closed[..],
        ),
        (
            "open, the model in the path",
            Some(OnFailure::Open),
            generate,
            &["x-goog-api-key: k-mixed"],
            b"{}",
            &open,
        ),
        (
            "no model",
            Some(OnFailure::Open),
            "POST /v1beta/files",
            &["x-goog-api-key: k-c-current"],
            b"{}",
            &resource,
        ),
    ];
    for (case, failure, request, headers, body, want) in cases {
        let (_, _, state) = sent(failure, request, headers, body);
        let want: Vec<_> = want.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
        assert_eq!(state, want, "{case}");
    }
}

#[test]
fn where_envoy_cannot_ask() {
    let cases = [
        ("closed", Some(OnFailure::Closed), false),
        ("open", Some(OnFailure::Open), true),
        ("not named", None, true),
    ];
    for (case, failure, passes) in cases {
        let (in_force, mut world) = with(failure);
        world.service = false;
        let mut exchange = Exchange::default();
        let outcome = exchange.on_request_head(&head(MESSAGES, B), false, Some(&in_force), &world);
        match reply_of(&outcome) {
            Some((status, code, _)) => {
                assert!(!passes, "{case}");
                assert_eq!(
                    (status, code),
                    (503, Some("server_is_overloaded")),
                    "{case}"
                );
            }
            None => assert!(passes, "{case}: {outcome:?}"),
        }
    }
}

#[test]
fn what_its_answers_become() {
    const LIMITED: &str = "request_rate_limited";
    let cases = [
        (
            "over the limit",
            Answered(429, LIMITED, Some("42")),
            429,
            "rate_limit_exceeded",
            "42",
        ),
        (
            "nobody says for how long",
            Answered(429, LIMITED, None),
            429,
            "rate_limit_exceeded",
            "1",
        ),
        (
            "an odd time",
            Answered(429, LIMITED, Some("-1")),
            429,
            "rate_limit_exceeded",
            "1",
        ),
        (
            "no answer, closed",
            Answered(500, "rate_limiter_error", None),
            503,
            "server_is_overloaded",
            "1",
        ),
    ];
    for (case, answer, status, code, retry_after) in cases {
        let (mut exchange, world, _) = sent(Some(OnFailure::Closed), MESSAGES, B, BODY);
        let outcome = after_answer(&mut exchange, &answer, &world);
        let (got, got_code, _) = reply_of(&outcome).expect(case);
        assert_eq!((got, got_code), (status, Some(code)), "{case}");
        let Outcome::Reply(reply) = &outcome else {
            panic!("{case}");
        };
        let header = reply
            .headers
            .iter()
            .find(|(name, _)| *name == "retry-after");
        assert_eq!(header.map(|(_, v)| v.as_str()), Some(retry_after), "{case}");
        let record = exchange.on_done(&FakeEnd(""), &world).unwrap();
        assert_eq!(record.ending, crate::ledger::Ending::Refused, "{case}");
        assert_eq!(record.error.as_deref(), Some(code), "{case}");
        assert_eq!(record.counted, None, "{case}");
    }
    // An upstream's own 429 is another matter.
    let (mut exchange, world, _) = sent(Some(OnFailure::Open), MESSAGES, B, BODY);
    let head = Answered(429, UPSTREAM, Some("42"));
    let outcome = exchange.on_response_head(&head, false, &world);
    assert!(matches!(outcome, Outcome::Pause), "{outcome:?}");
    let outcome = exchange.on_held_response(&head, b"{}", &world);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
}

#[test]
fn what_it_is_told_was_used() {
    const STARTED: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":210,\"output_tokens\":3}}}\n\n";
    const ABORT: &str = "downstream_remote_disconnect";
    let delta = |output| {
        format!(
            "event: message_delta\ndata: {{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":{output}}}}}\n\n"
        )
    };
    let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let whole = format!("{STARTED}{}{stop}", delta(9));
    let beyond = format!("{STARTED}{}", delta(9001));
    let open = Some(OnFailure::Open);
    let tokens = |input, output| Some(ServiceTokens { input, output });
    let guess = Estimate::of((BODY.len() as u64).div_ceil(4), Some(700), 1);
    // The clock of these tests hardly moves: nothing was written in the time.
    let estimate = tokens(guess.input, 0);
    let good = Some(Answered(200, UPSTREAM, None));
    let cases = [
        (
            "as reported",
            open,
            good,
            whole.as_str(),
            "",
            tokens(210, 9),
        ),
        ("nobody asked it", None, good, whole.as_str(), "", None),
        (
            "cut after the beginning",
            open,
            good,
            STARTED,
            ABORT,
            tokens(210, 3),
        ),
        (
            "nothing behind its beginning",
            open,
            good,
            STARTED,
            "",
            None,
        ),
        (
            "cut, more written than the cap",
            open,
            good,
            beyond.as_str(),
            ABORT,
            tokens(210, 9001),
        ),
        ("cut, and not known", open, good, "", ABORT, estimate),
        ("cut before the answer", open, None, "", ABORT, estimate),
        (
            "an error",
            open,
            Some(Answered(529, UPSTREAM, None)),
            "",
            "",
            None,
        ),
    ];
    for (case, failure, answer, chunk, details, want) in cases {
        let (mut exchange, world, _) = sent(failure, MESSAGES, B, BODY);
        if let Some(answer) = answer {
            after_answer(&mut exchange, &answer, &world);
            exchange.on_response_body(chunk.as_bytes(), chunk.len(), details.is_empty(), &world);
        }
        let record = exchange.on_done(&FakeEnd(details), &world).unwrap();
        assert_eq!(record.counted, want, "{case}");
    }
    let (mut exchange, world, _) = sent(
        open,
        "POST /v1/messages/count_tokens",
        &["x-api-key: k-b", V],
        BODY,
    );
    exchange.on_response_head(&Answered(200, UPSTREAM, None), true, &world);
    let record = exchange.on_done(&FakeEnd(""), &world).unwrap();
    assert_eq!(record.counted, None, "what only counts uses nothing");
}
