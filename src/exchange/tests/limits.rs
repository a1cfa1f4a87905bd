//! Limits: who is refused before anything leaves, what each ending settles, and what clients are told.

mod reserving;
mod spend;
mod usage_report;

use proptest::prelude::*;

use super::records::{ExchangeEvent, HALF, MESSAGE, MESSAGE_END, WHOLE};
use super::*;
use crate::body::BodyScanner;
use crate::ledger::{Ending, UsageStatus};
use crate::limits::{Limit, Limiter, Limits, Now, Rate, SubjectKind, Window};
use crate::money::Amount;
use crate::reply::Reply;
use crate::shared_data::fake::FakeSharedData;
use ExchangeEvent::{Answer, Body, Chunk, End};

const SECOND: u64 = 1_000_000;
/// Noon of a Sunday, UTC.
const NOON: u64 = 1_795_348_800 * SECOND;

/// A world in which requests are counted.
#[derive(Debug)]
struct Limited {
    world: FakeWorld,
    shared: FakeSharedData,
    limiter: Limiter,
    /// By both clocks.
    now_us: Cell<u64>,
    /// The number of reads of the remaining limits: host calls.
    looks: Cell<u32>,
}

impl KeyStore for Limited {
    fn record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        self.world.record(digest)
    }

    fn now(&self) -> i64 {
        self.world.now()
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        self.world.latest_policy()
    }
}

impl Clock for Limited {
    fn now_us(&self) -> u64 {
        self.now_us.get()
    }

    fn wall_us(&self) -> u64 {
        self.now_us.get()
    }
}

impl AccountStates for Limited {}

impl Origin for Limited {}

impl Trace for Limited {}

impl LedgerState for Limited {}

impl Quotas for Limited {
    fn admit(&self, subjects: &[Subject], estimate: Estimate) -> Result<Reservation, AdmitError> {
        let now = Now::both(self.now_us());
        self.limiter.admit(subjects, estimate, &self.shared, now)
    }

    fn extend(&self, reservation: &mut Reservation, charge: Amount) -> Result<(), AdmitError> {
        let now = Now::both(self.now_us());
        self.limiter.extend(reservation, charge, &self.shared, now)
    }

    fn settle(&self, grant: Reservation, used: Consumption) -> Settlement {
        let now = Now::both(self.now_us());
        self.limiter.settle(grant, used, &self.shared, now)
    }

    fn has_budget(&self, subjects: &[Subject]) -> bool {
        self.limiter.has_budget(subjects, &self.shared)
    }

    fn figures(&self, subjects: &[Subject]) -> Figures {
        self.looks.set(self.looks.get() + 1);
        self.limiter
            .figures(subjects, &self.shared, Now::both(self.now_us()))
    }

    fn figures_of_each(&self, subjects: &[Subject]) -> Result<Vec<SubjectFigures>, AdmitError> {
        let now = Now::both(self.now_us());
        self.limiter.figures_of_each(subjects, &self.shared, now)
    }

    fn figures_after(&self, reservation: &Reservation) -> Figures {
        reservation.figures(self.now_us())
    }
}

/// The policy of all tests, with limits for all groups and all keys.
fn limited(of_key: &Value, of_group: &Value) -> (InForce, Limited) {
    let mut document = document();
    document["currency"] = json!("USD");
    document["contact"] = json!("ops");
    for (list, limits) in [("keys", of_key), ("groups", of_group)] {
        for item in document[list].as_array_mut().unwrap() {
            item["limits"] = limits.clone();
        }
    }
    // A budget needs models with prices, or models that cost nothing.
    for group in document["groups"].as_array_mut().unwrap() {
        let sources = group["protocol"] != "Mixed";
        for model in group["models"].as_array_mut().unwrap() {
            if sources && model["prices"].is_null() {
                model["free"] = json!(true);
            }
        }
    }
    let (in_force, world) = setting_of(&document);
    let limited = Limited {
        world,
        shared: FakeSharedData::default(),
        limiter: Limiter::new(1),
        now_us: Cell::new(NOON),
        looks: Cell::new(0),
    };
    (in_force, limited)
}

#[derive(Clone, Copy)]
struct LimitedRequest {
    id: &'static str,
    request: &'static str,
    headers: &'static [&'static str],
    body: &'static [u8],
}

const A: LimitedRequest = LimitedRequest {
    id: "a",
    request: "POST /v1/responses",
    headers: &["authorization: Bearer k-a"],
    body: br#"{"model":"gpt-x","input":"hello"}"#,
};
const B: LimitedRequest = LimitedRequest {
    id: "b",
    request: "POST /v1/messages",
    headers: &["x-api-key: k-b", "anthropic-version: 2023-06-01"],
    body: WHOLE,
};
const C: LimitedRequest = LimitedRequest {
    id: "c",
    request: "POST /v1beta/models/gem-1:generateContent",
    headers: &["x-goog-api-key: k-c"],
    body: br#"{"contents":[]}"#,
};

impl LimitedRequest {
    fn begin(&self, in_force: &InForce, world: &Limited) -> (Exchange, Outcome) {
        let mut exchange = Exchange::default();
        let head = head(self.request, self.headers);
        let outcome = exchange.on_request_head(&head, false, Some(in_force), world);
        (exchange, outcome)
    }

    /// Sends the whole request.
    fn send(&self, in_force: &InForce, world: &Limited) -> (Exchange, Outcome) {
        let (mut exchange, _) = self.begin(in_force, world);
        let outcome = exchange.on_request_body(self.body, true, world);
        (exchange, outcome)
    }

    /// Returns the amount that requests under way have reserved of the budget of its key, or of its group.
    fn reserved(&self, world: &Limited, scope: SubjectKind) -> Amount {
        let subject = Subject::new(scope, self.id, Limits::default());
        let figures = world.figures_of_each(&[subject]).unwrap();
        figures[0].reserved
    }

    /// Returns the units counted now against the limits of its key, or of its group.
    fn left(&self, world: &Limited, scope: SubjectKind) -> [Option<u64>; 3] {
        // The counters have no part in what a subject's own limits are.
        let mut limits = Limits::default();
        for rate in Rate::ALL {
            limits.set_per_minute(rate, Some(Limits::MAX));
        }
        let figures = world.figures(&[Subject::new(scope, self.id, limits)]);
        let used = |gauge: Option<crate::limits::Gauge>| {
            gauge.map(|gauge| u64::from(Limits::MAX) - gauge.remaining)
        };
        [
            used(figures.requests),
            used(figures.input_tokens),
            used(figures.output_tokens),
        ]
    }
}

fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    let mut found = reply.headers.iter().filter(|(n, _)| *n == name);
    found.next().map(|(_, value)| value.as_str())
}

fn reply(outcome: Outcome, case: &str) -> Reply {
    match outcome {
        Outcome::Reply(reply) => reply,
        other => panic!("{case}: {other:?}"),
    }
}

/// An answer's head with limits of the upstream's own.
struct OfUpstream(u16);

impl ResponseHeaders for OfUpstream {
    fn status(&self) -> u16 {
        self.0
    }

    fn details(&self) -> Vec<u8> {
        UPSTREAM.as_bytes().to_vec()
    }

    fn header(&self, _: &'static str) -> Option<String> {
        None
    }

    fn withheld_headers(&self) -> Vec<String> {
        ["x-ratelimit-limit-requests", "anthropic-ratelimit-x"]
            .map(str::to_owned)
            .to_vec()
    }
}

const FINISHED: &str = "";

#[test]
fn who_is_refused_has_sent_nothing_and_pays_nothing() {
    let none = json!(null);
    let cases = [
        (
            "requests",
            json!({"requests_per_minute": 1}),
            "rate_limit_exceeded",
            "60",
        ),
        (
            "input_tokens",
            json!({"input_tokens_per_minute": 1}),
            "rate_limit_exceeded",
            "60",
        ),
        (
            "output_tokens",
            json!({"output_tokens_per_minute": 500}),
            "rate_limit_exceeded",
            "60",
        ),
        (
            "concurrent_requests",
            json!({"concurrent_requests": 1}),
            "rate_limit_exceeded",
            "1",
        ),
    ];
    for (name, limits, code, retry_after) in &cases {
        for (scope, of_key, of_group) in [
            (SubjectKind::Key, limits, &none),
            (SubjectKind::Group, &none, limits),
            (
                SubjectKind::Key,
                limits,
                &json!({"requests_per_minute": 99, "concurrent_requests": 9}),
            ),
        ] {
            let (in_force, world) = limited(of_key, of_group);
            for client in [A, B, C] {
                let case = format!("{name} of the {scope:?}, {}", client.id);
                let (_first, outcome) = client.send(&in_force, &world);
                assert!(matches!(outcome, Outcome::Continue(_)), "{case}");
                let before = world.shared.values.borrow().clone();
                let (mut exchange, outcome) = client.begin(&in_force, &world);
                assert_eq!(outcome, Outcome::Pause, "{case}: the head");
                let (begin, end) = client.body.split_at(5);
                let outcome = exchange.on_request_body(begin, false, &world);
                let outcome = if outcome == Outcome::Pause {
                    exchange.on_request_body(end, true, &world)
                } else {
                    outcome
                };
                let reply = reply(outcome, &case);
                assert_eq!(reply.status, 429, "{case}");
                assert_eq!(header(&reply, "x-trilane-error"), Some(*code), "{case}");
                assert_eq!(header(&reply, "retry-after"), Some(*retry_after), "{case}");
                let late = exchange.on_request_body(b"more", true, &world);
                assert_eq!(late, Outcome::Pause, "{case}: nothing goes after it");
                let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
                assert_eq!(record.ending, Ending::Refused, "{case}");
                assert_eq!(record.status, UsageStatus::None, "{case}");
                let (whose, which) = record.limit.unwrap();
                assert_eq!((whose, which.name()), (scope, *name), "{case}");
                assert_eq!(record.settled, Settlement::default(), "{case}");
                assert_eq!(record.error.as_deref(), Some(*code), "{case}");
                assert_eq!(
                    *world.shared.values.borrow(),
                    before,
                    "{case}: costs nothing"
                );
            }
        }
    }
}

#[test]
fn a_spent_budget_refuses_until_the_next_day() {
    let budget = json!({"budget": {"per_day": "0.006"}});
    for scope in [SubjectKind::Key, SubjectKind::Group] {
        let none = json!(null);
        let (of_key, of_group) = if scope == SubjectKind::Key {
            (&budget, &none)
        } else {
            (&none, &budget)
        };
        let (in_force, world) = limited(of_key, of_group);
        // 1234 tokens at 3 and 56 at 15 a million, twice: 0.009084.
        for (spent, want) in [("0.009084", None), ("", Some(429))] {
            let (mut exchange, outcome) = B.send(&in_force, &world);
            assert_eq!(reply_of(&outcome).map(|(status, ..)| status), want);
            if want.is_some() {
                let reply = reply(outcome, "spent");
                assert_eq!(header(&reply, "x-should-retry"), Some("false"));
                assert_eq!(header(&reply, "retry-after"), None, "nobody sleeps on it");
                let said = String::from_utf8_lossy(&reply.body);
                let when =
                    "begins anew at 00:00 UTC, in 12 h 0 min. For more before then, ask: ops";
                assert!(said.contains(when), "{said}");
                assert_eq!(
                    header(&reply, "x-trilane-error"),
                    Some("insufficient_quota")
                );
                let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
                assert_eq!(record.limit, Some((scope, Limit::Budget(Window::Day))));
                continue;
            }
            exchange.on_response_head(&OfUpstream(200), false, &world);
            for text in [MESSAGE, MESSAGE_END] {
                exchange.on_response_body(text.as_bytes(), text.len(), false, &world);
            }
            exchange.on_response_body(&[], 0, true, &world);
            let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
            let [of_one] = record.settled.spent.as_slice() else {
                panic!("{:?}", record.settled);
            };
            assert_eq!(of_one.scope, scope);
            assert_eq!(of_one.in_day.to_string(), spent);
            assert_eq!(of_one.in_month.to_string(), spent);
        }
        world.now_us.set(NOON + 43_200 * SECOND);
        let (_, outcome) = B.send(&in_force, &world);
        assert!(matches!(outcome, Outcome::Continue(_)), "tomorrow");
    }
}

#[test]
fn every_ending_gives_its_slot_back_and_settles() {
    const ABORT: &str = "downstream_remote_disconnect";
    const RESET: &str = "upstream_reset_after_response_started{connection_termination}";
    const GOOD: ExchangeEvent<'_> = Answer(200, UPSTREAM);
    let sent = Body(WHOLE, true);
    let start = Chunk(MESSAGE);
    // More than the window: the head leaves.
    let long = format!(
        r#"{{"model":"claude-z-2","stream":true,"pad":"{}""#,
        "x".repeat(1500)
    );
    let part = Body(long.as_bytes(), false);
    let guess = (WHOLE.len() as u64).div_ceil(4);
    // (case, events, details, requests, input and output tokens that are counted)
    type Case<'a> = (&'a str, Vec<ExchangeEvent<'a>>, &'a str, Ending, [u64; 3]);
    let cases: Vec<Case<'_>> = vec![
        (
            "finished",
            vec![sent, GOOD, start, Chunk(MESSAGE_END), End],
            "",
            Ending::Finished,
            [1, 1234, 56],
        ),
        (
            "aborted",
            vec![sent, GOOD, start],
            ABORT,
            Ending::ClientAbort,
            [1, 1234, 3],
        ),
        (
            "aborted before the answer",
            vec![sent],
            ABORT,
            Ending::ClientAbort,
            [1, guess, 0],
        ),
        (
            "aborted before it was whole",
            vec![part],
            ABORT,
            Ending::ClientAbort,
            [1, 0, 0],
        ),
        (
            "reset",
            vec![sent, GOOD, start],
            RESET,
            Ending::UpstreamReset,
            [1, 1234, 3],
        ),
        (
            "idle",
            vec![sent, GOOD, start],
            "stream_idle_timeout",
            Ending::Timeout,
            [1, 1234, 3],
        ),
        (
            "truncated",
            vec![sent, GOOD, start, End],
            "",
            Ending::Truncated,
            [1, 1234, 3],
        ),
        (
            "no usage",
            vec![sent, GOOD, Chunk("{}"), End],
            "",
            Ending::Finished,
            [1, guess, 0],
        ),
        (
            "the upstream's error",
            vec![sent, Answer(429, UPSTREAM), End],
            "",
            Ending::UpstreamError,
            [1, 0, 0],
        ),
        (
            "our account refused",
            vec![sent, Answer(401, UPSTREAM)],
            "",
            Ending::UpstreamFailed,
            [1, 0, 0],
        ),
        (
            "no connection",
            vec![sent, Answer(503, ENVOY)],
            "",
            Ending::UpstreamFailed,
            [1, 0, 0],
        ),
        (
            "refused mid-body",
            vec![part, Body(b"!", false)],
            "",
            Ending::Refused,
            [1, 0, 0],
        ),
        (
            "refused mid-body, answered",
            vec![part, GOOD, start, Body(b"!", true)],
            "",
            Ending::Refused,
            [1, 1234, 3],
        ),
        (
            "too large",
            vec![part, part, part],
            "",
            Ending::Refused,
            [1, 0, 0],
        ),
    ];
    let limits = json!({"requests_per_minute": 1000, "input_tokens_per_minute": 1_000_000,
        "output_tokens_per_minute": 1_000_000, "concurrent_requests": 1,
        "budget": {"per_day": "1000", "per_month": "1000"}});
    for (case, events, details, ending, counted) in cases {
        let (in_force, world) = limited(&limits, &limits);
        let (mut exchange, _) = B.begin(&in_force, &world);
        for event in &events {
            match *event {
                Body(bytes, end) => drop(exchange.on_request_body(bytes, end, &world)),
                Answer(status, details) => {
                    let head = FakeHead { status, details };
                    exchange.on_response_head(&head, false, &world);
                    if exchange.holds_response() {
                        exchange.on_held_response(&head, b"{}", &world);
                    }
                }
                Chunk(text) => {
                    drop(exchange.on_response_body(text.as_bytes(), text.len(), false, &world))
                }
                End => drop(exchange.on_response_body(&[], 0, true, &world)),
            }
        }
        let (_, while_under_way) = B.send(&in_force, &world);
        let met = reply_of(&while_under_way).map(|(status, ..)| status);
        assert_eq!(met, Some(429), "{case}: it has the only slot");
        let record = exchange.on_done(&FakeEnd(details), &world).unwrap();
        assert_eq!(record.ending, ending, "{case}");
        for scope in [SubjectKind::Key, SubjectKind::Group] {
            assert_eq!(
                B.left(&world, scope),
                counted.map(Some),
                "{case}, {scope:?}"
            );
        }
        let charge = record
            .charge
            .map_or_else(|| "0".to_owned(), |c| c.to_string());
        let scopes = record.settled.spent.iter().map(|spent| spent.scope);
        assert_eq!(
            scopes.collect::<Vec<_>>(),
            [SubjectKind::Key, SubjectKind::Group],
            "{case}"
        );
        for spent in &record.settled.spent {
            assert_eq!(spent.in_day.to_string(), charge, "{case}");
            assert_eq!(spent.in_month.to_string(), charge, "{case}");
        }
        assert!(
            exchange.on_done(&FakeEnd(details), &world).is_none(),
            "{case}: once"
        );
        let (_, next) = B.send(&in_force, &world);
        assert!(
            matches!(next, Outcome::Continue(_)),
            "{case}: the slot is free"
        );
    }
}

#[test]
fn what_never_left_counts_nowhere() {
    let limits = json!({"requests_per_minute": 1000, "concurrent_requests": 1,
        "output_tokens_per_minute": 1000, "budget": {"per_day": "1"}});
    let (in_force, world) = limited(&limits, &limits);
    let bodies: [(&[u8], bool); 3] = [
        (HALF, false),
        (br#"{"model":"claude-9-9"}"#, true),
        (br#"{"model":"#, true),
    ];
    for (body, end) in bodies {
        let (mut exchange, _) = B.begin(&in_force, &world);
        let outcome = exchange.on_request_body(body, end, &world);
        assert!(!matches!(outcome, Outcome::Continue(_)));
        let record = exchange.on_done(&FakeEnd("downstream_remote_disconnect"), &world);
        assert_eq!(record.unwrap().settled, Settlement::default());
    }
    assert!(world.shared.written.borrow().is_empty());
}

#[test]
fn clients_are_told_what_is_left() {
    let of_key = json!({"requests_per_minute": 10, "output_tokens_per_minute": 5000});
    let of_group = json!({"requests_per_minute": 600, "input_tokens_per_minute": 6000});
    // (client, limit, remaining and reset of requests after one; those of tokens)
    let told: [(LimitedRequest, &[(&str, &str)]); 3] = [
        (
            A,
            &[
                ("x-ratelimit-limit-requests", "10"),
                ("x-ratelimit-remaining-requests", "9"),
                ("x-ratelimit-reset-requests", "6s"),
                ("x-ratelimit-limit-tokens", "5000"),
                ("x-ratelimit-remaining-tokens", "4000"),
                ("x-ratelimit-reset-tokens", "12s"),
            ],
        ),
        (
            B,
            &[
                ("anthropic-ratelimit-requests-limit", "10"),
                ("anthropic-ratelimit-requests-remaining", "9"),
                ("anthropic-ratelimit-requests-reset", "2026-11-22T12:00:06Z"),
                ("anthropic-ratelimit-tokens-limit", "5000"),
                ("anthropic-ratelimit-tokens-remaining", "4000"),
                ("anthropic-ratelimit-tokens-reset", "2026-11-22T12:00:12Z"),
                ("anthropic-ratelimit-input-tokens-limit", "6000"),
                ("anthropic-ratelimit-input-tokens-remaining", "5987"),
                (
                    "anthropic-ratelimit-input-tokens-reset",
                    "2026-11-22T12:00:01Z",
                ),
                ("anthropic-ratelimit-output-tokens-limit", "5000"),
                ("anthropic-ratelimit-output-tokens-remaining", "4000"),
                (
                    "anthropic-ratelimit-output-tokens-reset",
                    "2026-11-22T12:00:12Z",
                ),
            ],
        ),
        (C, &[]),
    ];
    for (client, want) in told {
        let (in_force, world) = limited(&of_key, &of_group);
        let names = |headers: &[(&'static str, String)]| -> Vec<(String, String)> {
            let of_limits = headers
                .iter()
                .filter(|(name, _)| name.contains("ratelimit"));
            of_limits
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect()
        };
        let want: Vec<(String, String)> = want
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        for status in [200, 400, 429, 500] {
            let case = format!("{}, {status}", client.id);
            let (mut exchange, _) = client.send(&in_force, &world);
            let Outcome::Continue(edits) =
                exchange.on_response_head(&OfUpstream(status), true, &world)
            else {
                panic!("{case}");
            };
            assert_eq!(
                removed(&edits),
                ["x-ratelimit-limit-requests", "anthropic-ratelimit-x"],
                "{case}"
            );
            let last_removed = edits
                .headers
                .iter()
                .rposition(|e| matches!(e, HeaderEdit::Remove(_)));
            let mut set_ones = Vec::new();
            for (place, edit) in edits.headers.iter().enumerate() {
                if let HeaderEdit::Set(name, value) = edit
                    && name.contains("ratelimit")
                {
                    assert!(Some(place) > last_removed, "{case}: ours come after");
                    set_ones.push((*name, String::from_utf8(value.clone()).unwrap()));
                }
            }
            assert_eq!(names(&set_ones), want, "{case}");
            exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
            // So that the next finds the same.
            world.shared.values.borrow_mut().clear();
        }
        // Our own answers: an error before anything was counted, a failure upstream, a 429.
        let bad = LimitedRequest {
            body: b"{",
            ..client
        };
        let (_, outcome) = bad.send(&in_force, &world);
        let error = reply(outcome, client.id);
        assert_eq!(error.status, 400, "{}", client.id);
        assert_eq!(names(&error.headers).len(), want.len(), "{}", client.id);
        let (mut exchange, _) = client.send(&in_force, &world);
        let failed = exchange.on_response_head(&OfUpstream(401), true, &world);
        let failed = reply(failed, client.id);
        assert_eq!((failed.status, names(&failed.headers)), (502, want.clone()));
        let again = exchange.on_response_head(&OfUpstream(502), true, &world);
        assert_eq!(again, Outcome::pass(), "it has been told already");
        let refused = loop {
            if let (_, Outcome::Reply(reply)) = client.send(&in_force, &world) {
                break reply;
            }
        };
        assert_eq!(refused.status, 429, "{}", client.id);
        let told = names(&refused.headers);
        let same_names = |headers: &[(String, String)]| -> Vec<String> {
            headers.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(same_names(&told), same_names(&want), "{}", client.id);
        let looks = world.looks.get();
        assert_eq!(
            looks > 0,
            !want.is_empty(),
            "{}: no look for nothing",
            client.id
        );
    }
    let limits = json!({"concurrent_requests": 1});
    let (in_force, world) = limited(&limits, &limits);
    let (mut exchange, _) = A.send(&in_force, &world);
    exchange.on_response_head(&OfUpstream(200), true, &world);
    assert_eq!(world.looks.get(), 0, "no headers tell of slots");
}

/// The key's own and not the group's, in the words that all protocols have in common; what the request at hand costs is not
/// known yet.
#[test]
fn clients_are_told_what_is_left_of_budgets() {
    let told = |headers: &[(&'static str, String)]| -> Vec<String> {
        let of_budgets = headers.iter().filter(|(name, _)| name.contains("budget"));
        of_budgets
            .map(|(name, value)| {
                format!("{}: {value}", name.trim_start_matches("x-trilane-budget-"))
            })
            .collect()
    };
    let noon = "2026-11-22T12:00:00Z";
    let of_key = json!({"budget": {"per_day": "10.00", "per_month": "200",
        "spent": {"at": noon, "in_day": "2.5", "in_month": "20.000001"}}});
    let of_group = json!({"budget": {"per_month": "150",
        "spent": {"at": noon, "in_day": "1", "in_month": "20"}}});
    let want = [
        "limit-day: 10 USD",
        "remaining-day: 7.5 USD",
        "limit-month: 200 USD",
        "remaining-month: 179.999999 USD",
    ];
    for client in [A, B, C] {
        let (in_force, world) = limited(&of_key, &of_group);
        let (mut exchange, _) = client.send(&in_force, &world);
        let Outcome::Continue(edits) = exchange.on_response_head(&OfUpstream(200), true, &world)
        else {
            panic!("{}", client.id);
        };
        let set: Vec<(&'static str, String)> = edits
            .headers
            .iter()
            .filter_map(|edit| match edit {
                HeaderEdit::Set(name, value) => {
                    Some((*name, String::from_utf8(value.clone()).unwrap()))
                }
                HeaderEdit::Remove(_) => None,
            })
            .collect();
        assert_eq!(told(&set), want, "{}", client.id);
        assert_eq!(world.looks.get(), 0, "{}: the admission's own", client.id);
        // Our own answers say it as well.
        let bad = LimitedRequest {
            body: b"{",
            ..client
        };
        let (_, outcome) = bad.send(&in_force, &world);
        assert_eq!(
            told(&reply(outcome, client.id).headers),
            want,
            "{}",
            client.id
        );
    }
    let spent = json!({"budget": {"per_day": "1", "spent": {"at": noon, "in_day": "1.5", "in_month": "1.5"}}});
    let (in_force, world) = limited(&spent, &json!(null));
    let (_, outcome) = A.send(&in_force, &world);
    let refused = reply(outcome, "spent");
    assert_eq!(refused.status, 429);
    assert_eq!(
        told(&refused.headers),
        ["limit-day: 1 USD", "remaining-day: 0 USD"]
    );
}

#[test]
fn lists_tell_what_is_left_and_cost_nothing() {
    let limits = json!({"requests_per_minute": 10});
    let cases: [(&str, &[&str], Option<&str>); 3] = [
        (
            "GET /v1/models",
            &["authorization: Bearer k-a"],
            Some("x-ratelimit-remaining-requests"),
        ),
        (
            "GET /v1/models",
            &["x-api-key: k-b"],
            Some("anthropic-ratelimit-requests-remaining"),
        ),
        ("GET /v1beta/models", &["x-goog-api-key: k-c"], None),
    ];
    for (request, headers, name) in cases {
        let (in_force, world) = limited(&limits, &json!(null));
        let mut exchange = Exchange::default();
        let outcome =
            exchange.on_request_head(&head(request, headers), true, Some(&in_force), &world);
        let reply = reply(outcome, request);
        assert_eq!(reply.status, 200, "{request}");
        let told = reply.headers.iter().find(|(n, _)| n.contains("remaining"));
        let want = name.map(|name| (name, "10".to_owned()));
        assert_eq!(told.cloned(), want, "{request}");
        let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
        assert_eq!(record.settled, Settlement::default());
        assert!(world.shared.written.borrow().is_empty(), "{request}");
    }
}

#[test]
fn the_head_is_held_until_the_estimate_is_known() {
    let filler = format!(r#","pad":"{}""#, "x".repeat(300));
    let begin = r#"{"model":"gpt-x""#;
    let capped = format!(r#","max_output_tokens":77{filler}"#);
    let chunks = |middle: &[&str]| -> Vec<String> {
        let parts = core::iter::once(&begin).chain(middle).chain([&"}", &" "]);
        parts.map(|part| (*part).to_owned()).collect()
    };
    let filled = chunks(&[filler.as_str(); 2]);
    let longer = chunks(&[filler.as_str(); 6]);
    let with_cap = chunks(&[filler.as_str(), capped.as_str(), filler.as_str()]);
    let cap_and_greater = chunks(&[r#","max_tokens":0"#, filler.as_str(), capped.as_str()]);
    let requests = json!({"requests_per_minute": 100});
    let input = json!({"input_tokens_per_minute": 100_000});
    let output = json!({"output_tokens_per_minute": 100_000});
    let both = json!({"input_tokens_per_minute": 100_000, "output_tokens_per_minute": 100_000});
    let cases = [
        ("requests only", &requests, &filled, false),
        ("input", &input, &filled, false),
        ("input, the length being told", &input, &filled, true),
        ("output", &output, &filled, false),
        ("output, the length being told", &output, &filled, true),
        ("output with a cap", &output, &with_cap, false),
        (
            "a greater cap behind a cap",
            &output,
            &cap_and_greater,
            true,
        ),
        ("both", &both, &with_cap, false),
        ("both, the length being told", &both, &with_cap, true),
        ("no longer than the window", &both, &longer, false),
        ("no longer than the window, told", &both, &longer, true),
    ];
    for (case, limits, chunks, told) in cases {
        let (in_force, world) = limited(limits, &json!(null));
        let whole: usize = chunks.iter().map(String::len).sum();
        let length = format!("content-length: {whole}");
        let mut headers = A.headers.to_vec();
        headers.extend(told.then_some(length.as_str()));
        let mut exchange = Exchange::default();
        let head = head(A.request, &headers);
        let outcome = exchange.on_request_head(&head, false, Some(&in_force), &world);
        assert_eq!(outcome, Outcome::Pause, "{case}");
        let limits = |name: &str| limits.get(name).is_some();
        let input = limits("input_tokens_per_minute");
        let needs_all = input || limits("output_tokens_per_minute");
        let mut scanner = BodyScanner::json();
        let mut seen = 0;
        for (i, chunk) in chunks.iter().enumerate() {
            let _ = scanner.feed(chunk.as_bytes());
            seen += chunk.len();
            let waits = needs_all && !scanner.complete() && seen < 1024;
            let outcome = exchange.on_request_body(chunk.as_bytes(), i + 1 == chunks.len(), &world);
            assert_eq!(outcome == Outcome::Pause, waits, "{case}, {seen} bytes");
            if waits {
                continue;
            }
            let bytes = if told { whole } else { seen } as u64;
            let estimate = Estimate::of(bytes.div_ceil(4), scanner.output_cap(), 1);
            let counted = |name: &str, units: u64| if limits(name) { units } else { 0 };
            let want = [
                counted("requests_per_minute", 1),
                counted("input_tokens_per_minute", estimate.input),
                counted("output_tokens_per_minute", estimate.output),
            ];
            assert_eq!(A.left(&world, SubjectKind::Key), want.map(Some), "{case}");
            break;
        }
        let limited = world.shared.written.borrow();
        assert_eq!(*limited, ["trilane/limit/2/key/a"], "{case}: counted once");
    }
}

/// A picture counts as one, wherever it stands, and also where it is longer than the window.
#[test]
fn a_picture_in_base64_is_no_text() {
    let limits = json!({"input_tokens_per_minute": 100_000});
    let picture = |bytes: usize| {
        let data = format!("iVBORw0KGgo{}", "A".repeat(bytes));
        let part = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
        json!({"model": "claude-z-2", "max_tokens": 9, "messages": [{"role": "user", "content": [part]}]}).to_string()
    };
    let text = json!({"model": "claude-z-2", "max_tokens": 9, "system": "x ".repeat(1500)});
    let text = text.to_string();
    // (case, body, how much of it comes first, the input tokens that are counted: at least, and at most)
    let cases = [
        ("in one piece", picture(3000), 4000, 1600, 1700),
        ("in two pieces", picture(1400), 900, 1600, 1700),
        // A third has come when the head leaves.
        ("longer than the window", picture(3000), 1100, 4000, 5000),
        ("text that is longer than the window", text, 1100, 760, 800),
    ];
    for (case, body, first, least, most) in cases {
        let (in_force, world) = limited(&limits, &json!(null));
        let length = format!("content-length: {}", body.len());
        let headers = [B.headers, &[length.as_str()]].concat();
        let mut exchange = Exchange::default();
        let head = head(B.request, &headers);
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let (first, rest) = body.as_bytes().split_at(first.min(body.len()));
        exchange.on_request_body(first, rest.is_empty(), &world);
        if !rest.is_empty() {
            exchange.on_request_body(rest, true, &world);
        }
        let counted = B.left(&world, SubjectKind::Key)[1].unwrap();
        assert!((least..=most).contains(&counted), "{case}: {counted}");
        exchange.on_done(&FakeEnd("downstream"), &world).unwrap();
    }
}

#[test]
fn what_uses_no_tokens_waits_for_none() {
    let limits = json!({"input_tokens_per_minute": 100, "output_tokens_per_minute": 100});
    let (in_force, world) = limited(&limits, &limits);
    let count = LimitedRequest {
        request: "POST /v1/messages/count_tokens",
        ..B
    };
    let (mut exchange, _) = count.begin(&in_force, &world);
    let outcome = exchange.on_request_body(br#"{"model":"claude-z-2","#, false, &world);
    assert!(matches!(outcome, Outcome::Continue(_)));
    exchange.on_done(&FakeEnd("downstream"), &world).unwrap();
    assert_eq!(B.left(&world, SubjectKind::Key), [0; 3].map(Some));
}

#[test]
fn without_limits_nothing_is_counted() {
    let none = json!(null);
    let (in_force, world) = limited(&none, &none);
    // `Unlimited` panics if it is asked anything.
    let quotas = &Unlimited;
    for client in [A, B, C] {
        let (mut exchange, _) = client.begin(&in_force, &world);
        let outcome = exchange.on_request_body(client.body, true, quotas);
        assert!(matches!(outcome, Outcome::Continue(_)), "{}", client.id);
        let Outcome::Continue(edits) = exchange.on_response_head(&OfUpstream(200), true, quotas)
        else {
            panic!("{}", client.id);
        };
        let said =
            |edit: &HeaderEdit| matches!(edit, HeaderEdit::Set(n, _) if n.contains("ratelimit"));
        assert!(!edits.headers.iter().any(said), "{}", client.id);
        assert_eq!(
            removed(&edits).len(),
            2,
            "{}: those of the upstream",
            client.id
        );
        exchange.on_done(&FakeEnd(FINISHED), &world.world).unwrap();
    }
    assert!(world.shared.values.borrow().is_empty());
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Any course of events, wherever it ends: in the end every slot is free, and
    /// what has left was counted once.
    #[test]
    fn any_course_gives_its_slot_back(
        steps in proptest::collection::vec((0usize..4, 0u8..7), 0..60),
    ) {
        let budget = json!({"per_day": "1000"});
        let limits = json!({"requests_per_minute": 1000, "concurrent_requests": 2, "budget": budget});
        let (in_force, world) = limited(&limits, &limits);
        let mut exchanges: [Option<Exchange>; 4] = [const { None }; 4];
        let mut left = 0;
        let mut went = [false; 4];
        for (which, step) in steps {
            let Some(exchange) = &mut exchanges[which] else {
                exchanges[which] = Some(B.begin(&in_force, &world).0);
                went[which] = false;
                continue;
            };
            let outcome = match step {
                0 => exchange.on_request_body(HALF, false, &world),
                1 => exchange.on_request_body(br#""messages":[]}"#, true, &world),
                2 => exchange.on_request_trailers(&world),
                3 => exchange.on_response_head(&OfUpstream(200), false, &world),
                4 => exchange.on_response_head(&OfUpstream(401), false, &world),
                5 => {
                    exchange.on_response_body(MESSAGE.as_bytes(), MESSAGE.len(), false, &world);
                    continue;
                }
                _ => {
                    exchange.on_done(&FakeEnd("downstream"), &world);
                    exchanges[which] = None;
                    continue;
                }
            };
            if step < 3 && matches!(outcome, Outcome::Continue(_)) && !went[which] {
                went[which] = true;
                left += 1;
            }
            let under_way = went.iter().zip(&exchanges).filter(|(went, e)| **went && e.is_some());
            prop_assert!(under_way.count() <= 2, "more at a time than may be");
        }
        for exchange in exchanges.iter_mut().flatten() {
            exchange.on_done(&FakeEnd("downstream"), &world);
        }
        prop_assert_eq!(B.left(&world, SubjectKind::Key)[0], Some(left));
        prop_assert_eq!(B.reserved(&world, SubjectKind::Key), Amount::ZERO);
        prop_assert_eq!(B.reserved(&world, SubjectKind::Group), Amount::ZERO);
        let both: Vec<_> = (0..2).map(|_| B.send(&in_force, &world)).collect();
        for (_, outcome) in &both {
            prop_assert!(matches!(outcome, Outcome::Continue(_)), "both slots are free");
        }
        let third = B.send(&in_force, &world).1;
        prop_assert!(matches!(third, Outcome::Reply(_)));
    }
}

#[test]
fn no_cache_is_made_under_a_limit_that_its_cost_could_pass() {
    let make = LimitedRequest {
        id: "c-current",
        request: "POST /v1beta/cachedContents",
        headers: &["x-goog-api-key: k-c-current"],
        body: br#"{"model":"models/gem-1","contents":[]}"#,
    };
    let list = LimitedRequest {
        request: "GET /v1beta/cachedContents",
        body: b"",
        ..make
    };
    let none = Value::Null;
    let cases = [
        ("none", none.clone(), true),
        ("requests", json!({"requests_per_minute": 5}), true),
        ("at once", json!({"concurrent_requests": 5}), true),
        ("output", json!({"output_tokens_per_minute": 5000}), true),
        (
            "input",
            json!({"input_tokens_per_minute": 1_000_000}),
            false,
        ),
        ("a budget", json!({"budget": {"per_month": "1000"}}), false),
    ];
    for (case, limits, served) in cases {
        for (of_key, of_group) in [(&limits, &none), (&none, &limits)] {
            let (in_force, world) = limited(of_key, of_group);
            let (_, outcome) = make.begin(&in_force, &world);
            if served {
                assert_eq!(outcome, Outcome::Pause, "{case}");
            } else {
                let reply = reply(outcome, case);
                assert_eq!(reply.status, 404, "{case}");
                assert_eq!(
                    header(&reply, "x-trilane-error"),
                    Some("caches_not_supported"),
                    "{case}"
                );
            }
            let (_, outcome) = list.begin(&in_force, &world);
            assert_eq!(outcome, Outcome::Pause, "{case}: a list makes none");
        }
    }
}
