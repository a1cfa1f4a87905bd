use super::*;
use AttemptFailure::{NoModel, Overloaded, RateLimited, ServerError, Unauthorized};
use Want::{Failed, Held, Passes};

/// A verdict without the words of a failure.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Want {
    Held,
    Passes,
    Failed(AttemptFailure),
}

impl From<Verdict> for Want {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Held => Held,
            Verdict::Passes => Passes,
            Verdict::Failed(told) => Failed(told.kind),
        }
    }
}

const CREDIT: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please"}}"#;
const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
const PING: &str = ": a comment\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n";
const CREATED: &str = "data: {\"type\":\"response.created\"}\r\n\r\ndata: {\"type\":\"response.in_progress\"}\r\n\r\n";

#[test]
fn heads() {
    // (case, status, nothing follows; the verdict)
    let cases = [
        ("a stream", 200, false, Held),
        ("nothing at all", 200, true, Failed(ServerError)),
        ("no content", 204, true, Passes),
        ("an error of the request", 400, false, Held),
        ("without a word", 404, true, Passes),
    ];
    for (case, status, end, want) in cases {
        let got = Judge::on_head(end, || status);
        assert_eq!(Want::from(got), want, "{case}");
    }
}

/// Whole answers: (case, status, its body, the verdict).
fn answers() -> Vec<(&'static str, u16, String, Want)> {
    let event = |data: &str| format!("data: {data}\n\n");
    vec![
        ("no credit", 400, CREDIT.to_owned(), Failed(Unauthorized)),
        (
            "no credit, in a 429",
            429,
            r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#.to_owned(),
            Failed(Unauthorized),
        ),
        (
            "at its limit",
            429,
            r#"{"error":{"type":"requests","code":"rate_limit_exceeded"}}"#.to_owned(),
            Failed(RateLimited),
        ),
        ("at its limit, without words", 429, "{}".to_owned(), Passes),
        (
            "the request's fault",
            400,
            r#"{"error":{"type":"invalid_request_error","message":"max_tokens: must be positive"}}"#
                .to_owned(),
            Passes,
        ),
        (
            "no such model",
            404,
            r#"{"error":{"code":"model_not_found"}}"#.to_owned(),
            Failed(NoModel),
        ),
        (
            "forbidden, for an unknown reason",
            403,
            r#"{"error":{"type":"permission_error","message":"x"}}"#.to_owned(),
            Failed(Unauthorized),
        ),
        ("forbidden, without a name", 403, r#"{"x":1}"#.to_owned(), Passes),
        ("an empty stream", 200, String::new(), Failed(ServerError)),
        ("a preamble alone", 200, START.to_owned(), Failed(ServerError)),
        (
            "overloaded at once",
            200,
            "event: error\n".to_owned()
                + &event(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            Failed(Overloaded),
        ),
        (
            "overloaded behind a preamble",
            200,
            START.to_owned() + PING + &event(r#"{"type":"error","error":{"type":"overloaded_error"}}"#),
            Failed(Overloaded),
        ),
        (
            "an error of the request in a stream",
            200,
            event(r#"{"type":"error","error":{"type":"invalid_request_error","message":"x"}}"#),
            Passes,
        ),
        (
            "a failed response",
            200,
            CREATED.to_owned()
                + &event(r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}"#),
            Failed(ServerError),
        ),
        (
            "a response that failed by its prompt",
            200,
            CREATED.to_owned()
                + &event(r#"{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"x"}}}"#),
            Passes,
        ),
        (
            "a chunk that is an error",
            200,
            event(r#"{"error":{"message":"x","code":429}}"#),
            Failed(RateLimited),
        ),
        (
            "a chunk that is an error, without its blank line",
            200,
            r#"data: {"error":{"message":"x","code":502}}"#.to_owned(),
            Failed(ServerError),
        ),
        (
            "text",
            200,
            START.to_owned() + &event(r#"{"type":"content_block_start"}"#),
            Passes,
        ),
        (
            "text that speaks of an error",
            200,
            event(r#"{"choices":[{"delta":{"content":"{\"error\":{\"code\":429}}"}}]}"#),
            Passes,
        ),
        ("no JSON", 200, event("[DONE]"), Passes),
        (
            "text, then an error",
            200,
            event(r#"{"choices":[]}"#) + &event(r#"{"error":{"code":500}}"#),
            Passes,
        ),
    ]
}

/// However an answer comes in pieces, it is judged as the whole, or goes on before its end.
#[test]
fn answers_split_at_every_byte() {
    for (case, status, body, want) in answers() {
        for split in 0..=body.len() {
            let mut judge = Judge::default();
            let (first, _) = body.as_bytes().split_at(split);
            let mut verdict = Want::from(judge.on_body(first, false, || status));
            if verdict == Held {
                verdict = judge.on_body(body.as_bytes(), true, || status).into();
            }
            assert_eq!(verdict, want, "{case}, split at {split}");
        }
    }
}

#[test]
fn what_is_too_long_goes_on() {
    // (case, status, the bytes so far; the verdict)
    let comment = format!(": {}\n", "x".repeat(98)).repeat(MAX_PREAMBLE / 100 + 1);
    let long = " ".repeat(MAX_ANSWER + 1);
    let cases = [
        ("an error", 400, long.get(1..).unwrap(), Held),
        ("an error", 400, long.as_str(), Passes),
        (
            "a preamble",
            200,
            comment.get(..MAX_PREAMBLE - 1).unwrap(),
            Held,
        ),
        (
            "a preamble",
            200,
            comment.get(..MAX_PREAMBLE).unwrap(),
            Passes,
        ),
    ];
    for (case, status, bytes, want) in cases {
        let mut judge = Judge::default();
        let got = Want::from(judge.on_body(bytes.as_bytes(), false, || status));
        assert_eq!(got, want, "{case} of {} bytes", bytes.len());
    }
}

/// A status is taken out of Envoy only where it decides, and once.
#[test]
fn statuses_that_are_asked_for() {
    let event = "data: {\"choices\":[]}\n\n";
    let overloaded = "data: {\"error\":{\"code\":503}}\n\n";
    // (case, status, the body in its order, and how often the status is asked for)
    let cases: [(&str, u16, &[&str], u32); 7] = [
        ("an event", 200, &[event], 0),
        ("a preamble, and an event", 200, &[START, event], 0),
        ("a comment, and an event", 200, &[": x\n\n", event], 0),
        ("a failure", 200, &[overloaded], 1),
        ("no event", 200, &["{}"], 1),
        ("an error", 400, &["{", "}"], 1),
        ("an event with an error's status", 400, &[event], 0),
    ];
    for (case, status, parts, want) in cases {
        let mut judge = Judge::default();
        let (mut body, mut asked) = (String::new(), 0);
        for part in parts {
            body.push_str(part);
            judge.on_body(body.as_bytes(), false, || {
                asked += 1;
                status
            });
        }
        assert_eq!(asked, want, "{case}");
    }
}

/// Nothing of an error is read before its end, or before it is too long.
#[test]
fn bytes_that_are_read() {
    // (case, status, bytes so far, nothing follows; bytes that are read)
    let cases = [
        ("a stream", 200, 9, false, MAX_PREAMBLE),
        ("an error", 400, MAX_ANSWER, false, 0),
        ("a whole error", 400, MAX_ANSWER, true, MAX_ANSWER + 1),
        ("a long error", 400, MAX_ANSWER + 1, false, MAX_ANSWER + 1),
    ];
    for (case, status, size, end, want) in cases {
        let mut judge = Judge::default();
        assert_eq!(judge.reads(size, end), MAX_PREAMBLE, "{case}: at first");
        judge.on_body(b"{", false, || status);
        assert_eq!(judge.reads(size, end), want, "{case}");
    }
}

/// Words of an answer that looks like a stream and is an error are read as those of an error.
#[test]
fn an_error_as_a_stream() {
    let body = "data: {\"error\":{\"code\":503}}\n\n";
    let mut judge = Judge::default();
    assert_eq!(judge.on_body(body.as_bytes(), false, || 400), Verdict::Held);
    assert_eq!(
        judge.on_body(body.as_bytes(), true, || 400),
        Verdict::Passes
    );
}
