//! Sources in sequence: which of them a request may go to, in which order, and what it costs where it was answered.

use super::*;
use crate::failover::AccountPlace;

/// Four sources of Chat Completions with one account each, and a Mixed group that asks them one after the other.
fn document(order: &str, fields: &[(&str, Value)]) -> Value {
    let source = |id: &str, multiplier: &str, model: Value| {
        let mut group = json!({
            "id": id, "protocol": "A", "multiplier": multiplier, "models": [model],
            "accounts": [{"id": "x", "url": "https://h", "credential": id}],
        });
        for (at, value) in fields {
            if let Some(field) = at.strip_prefix(&format!("{id}.")) {
                group[field] = value.clone();
            }
        }
        group
    };
    let mut mixed = json!({
        "id": "all", "protocol": "Mixed",
        "entries": {"responses": {"order": order, "sources": [
            {"source": "one"}, {"source": "two", "extra_multiplier": "2"}, {"source": "three"}, {"source": "four"}]}},
        "models": [{"id": "m", "entry": "responses", "sources": ["one", "two", "three", "four"]}],
    });
    let mut one = source(
        "one",
        "1",
        json!({"id": "m", "prices": {"input": "10", "output": "20"}}),
    );
    one["fallback"] = json!(["two", "four"]);
    for (at, value) in fields {
        if let Some(field) = at.strip_prefix("all.") {
            mixed[field] = value.clone();
        }
    }
    json!({
        "groups": [
            one,
            source("two", "3", json!({"id": "m", "upstream": "two/m", "prices": {"input": "1", "output": "2"}})),
            source("three", "1", json!({"id": "m"})),
            source("four", "0.5", json!({"id": "m", "upstream": "four/m", "prices": {"input": "2", "output": "4"}})),
            mixed,
        ],
        "keys": [{"id": "k", "sha256": sha256("k"), "group": "all"}, {"id": "k-one", "sha256": sha256("k-one"), "group": "one"}],
    })
}

const BODY: &[u8] = br#"{"model":"m","messages":[]}"#;

/// Sends a request; gives the exchange.
fn sent(document: &Value, key: &str, body: &[u8]) -> (Exchange, FakeWorld) {
    let (in_force, world) = setting_of(document);
    let key = format!("authorization: Bearer {key}");
    let head = head("POST /v1/chat/completions", &[&key]);
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    let outcome = exchange.on_request_body(body, true, &world);
    assert!(matches!(outcome, Outcome::Continue(_)), "{outcome:?}");
    (exchange, world)
}

/// The accounts that a request is sent to when each fails: the cluster, and the model's new name.
fn asked(world: &FakeWorld) -> Vec<(String, Option<String>)> {
    let attempts = world.attempts();
    let mut asked = Vec::new();
    while let Some(place) = attempts.next(&|_| Rc::default(), 0) {
        attempts.ask(place, true);
        let cluster = attempts.cluster(place).unwrap().to_string();
        let id = attempts.account(place).unwrap().id.clone();
        attempts.record(place, FailedAttempt::answered(id, 503, ""));
        asked.push((cluster, attempts.renamed(place).map(String::from)));
    }
    asked
}

/// An account that is asked, and the model's new name, if the body that goes there has another.
fn at(source: &str, renamed: Option<&str>) -> (String, Option<String>) {
    (format!("account/{source}/x"), renamed.map(str::to_owned))
}

#[test]
fn who_is_asked_in_which_order() {
    let (one, three) = (at("one", None), at("three", None));
    let two = at("two", Some("two/m"));
    let four = at("four", Some("four/m"));
    let all = [one.clone(), two.clone(), three.clone(), four.clone()];
    // (case, order, key, who is asked under which name)
    for (case, order, key, want) in [
        ("as listed", "listed", "k", all.to_vec()),
        (
            "the cheapest first, the unpriced last",
            "cheapest",
            "k",
            // The body goes to the first under its name.
            vec![
                at("four", None),
                two.clone(),
                at("one", Some("m")),
                at("three", Some("m")),
            ],
        ),
        (
            "a fallback of a fallback is none",
            "listed",
            "k-one",
            vec![one, two, four],
        ),
    ] {
        let (_, world) = sent(&document(order, &[]), key, BODY);
        assert_eq!(asked(&world), want, "{case}");
    }
}

#[test]
fn who_lacks_what_is_asked_is_skipped() {
    let passes = [
        ("one.passes", json!(["provider"])),
        ("four.passes", json!(["provider"])),
    ];
    // (case, fields of groups, what the body has besides, the sources that are asked)
    type Case<'a> = (&'a str, &'a [(&'a str, Value)], &'a str, &'a [&'a str]);
    let cases: [Case<'_>; 4] = [
        (
            "a member that passes",
            &passes,
            r#""provider":{}"#,
            &["one", "four"],
        ),
        (
            "usage is asked where there are prices",
            &[],
            r#""stream":true"#,
            &["one", "two", "four"],
        ),
        (
            "who asks for usage gets it anywhere",
            &[],
            r#""stream":true,"stream_options":{"include_usage":true}"#,
            &["one", "two", "three", "four"],
        ),
        (
            "another model that one of them has",
            &[
                (
                    "four.models",
                    json!([{"id": "m", "upstream": "four/m"}, {"id": "advisor"}]),
                ),
                ("one.models", json!([{"id": "m"}, {"id": "advisor"}])),
                (
                    "all.models",
                    json!([{"id": "m", "entry": "responses", "sources": ["one", "two", "three", "four"]},
                    {"id": "advisor", "entry": "responses", "sources": ["one", "four"]}]),
                ),
            ],
            r#""tools":[{"type":"advisor","model":"advisor"}]"#,
            &["one", "four"],
        ),
    ];
    for (case, fields, member, want) in cases {
        let body = format!(r#"{{"model":"m","messages":[],{member}}}"#);
        let (_, world) = sent(&document("listed", fields), "k", body.as_bytes());
        let clusters: Vec<String> = asked(&world).into_iter().map(|(of, _)| of).collect();
        let want: Vec<String> = want.iter().map(|id| format!("account/{id}/x")).collect();
        assert_eq!(clusters, want, "{case}");
    }
}

#[test]
fn the_source_that_answers_is_paid() {
    // (how many fail, the source, multiplier, charge of a million tokens each way, the name upstream)
    for (failing, source, multiplier, charge, upstream) in [
        (0, "one", "1.0000", Some("30"), "m"),
        (1, "two", "6.0000", Some("18"), "two/m"),
        (2, "three", "1.0000", None, "m"),
        (3, "four", "0.5000", Some("3"), "four/m"),
    ] {
        let (mut exchange, world) = sent(&document("listed", &[]), "k", BODY);
        let attempts = world.attempts();
        for place in 0..=failing {
            let place = AccountPlace {
                source: place,
                account: 0,
            };
            attempts.ask(place, true);
            if place.source < failing {
                attempts.record(place, FailedAttempt::answered("x".into(), 503, ""));
            }
        }
        let head = FakeHead {
            status: 200,
            details: UPSTREAM,
        };
        exchange.on_response_head(&head, false, &world);
        let answer = br#"{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"usage":{"prompt_tokens":1000000,"completion_tokens":1000000,"total_tokens":2000000}}"#;
        exchange.on_response_body(answer, answer.len(), true, &world);
        let record = exchange.on_done(&FakeEnd(""), &world).expect("a record");
        let route = record.route.as_ref().expect("a route");
        assert_eq!(route.source, source);
        assert_eq!(route.multiplier.to_string(), multiplier, "{source}");
        assert_eq!(
            record.charge.map(|it| it.to_string()).as_deref(),
            charge,
            "{source}"
        );
        assert_eq!(record.upstream_model.as_deref(), Some(upstream), "{source}");
        let tried = record.attempts.as_ref().expect("attempts");
        assert_eq!(
            (tried.last.as_deref(), tried.count),
            (Some("x"), failing as u64 + 1),
            "{source}"
        );
        let failed: Vec<_> = tried.failed.iter().map(|it| it.source.as_deref()).collect();
        let want = [Some("one"), Some("two"), Some("three")];
        assert_eq!(failed, want[..failing], "{source}");
    }
}

#[test]
fn a_key_that_pays_no_more_skips_dearer_sources() {
    // (the key's greatest multiplier, the sources that are asked, the multiplier in the list)
    for (most, want, listed) in [
        ("6", &["one", "two", "three", "four"][..], Some("1.0000")),
        ("5.9999", &["one", "three", "four"], Some("1.0000")),
        ("0.5", &["four"], Some("0.5000")),
        ("0.4", &[], None),
    ] {
        let mut document = document("listed", &[]);
        document["keys"][0]["max_multiplier"] = json!(most);
        let (in_force, world) = setting_of(&document);
        let key = "authorization: Bearer k";
        let list = Exchange::default().on_request_head(
            &head("GET /v1/models", &[key]),
            true,
            Some(&in_force),
            &world,
        );
        let (_, _, list) = reply_of(&list).expect("a list");
        assert_eq!(list["data"][0]["multiplier"].as_str(), listed, "{most}");
        let mut exchange = Exchange::default();
        let head = head("POST /v1/chat/completions", &[key]);
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let outcome = exchange.on_request_body(BODY, true, &world);
        let clusters: Vec<String> = match reply_of(&outcome) {
            Some((status, code, _)) => {
                assert_eq!((status, code), (403, Some("model_above_multiplier")));
                Vec::new()
            }
            None => asked(&world).into_iter().map(|(of, _)| of).collect(),
        };
        let want: Vec<String> = want.iter().map(|id| format!("account/{id}/x")).collect();
        assert_eq!(clusters, want, "{most}");
    }
}

#[test]
fn a_body_longer_than_envoy_keeps_is_not_sent_on() {
    let mut document = document("listed", &[]);
    document["inspect_window"] = json!(1024);
    let (in_force, world) = setting_of(&document);
    let head = head("POST /v1/chat/completions", &["authorization: Bearer k"]);
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    let begin = br#"{"model":"m","stream":false,"messages":[""#;
    exchange.on_request_body(begin, false, &world);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..17 {
        exchange.on_request_body(&piece, false, &world);
    }
    exchange.on_request_body(b"\"]}", true, &world);
    let attempts = world.attempts();
    let place = AccountPlace {
        source: 0,
        account: 0,
    };
    attempts.ask(place, true);
    attempts.record(place, FailedAttempt::answered("x".into(), 503, ""));
    let answer = FakeHead {
        status: 503,
        details: UPSTREAM,
    };
    exchange.on_response_head(&answer, true, &world);
    let record = exchange.on_done(&FakeEnd(""), &world).expect("a record");
    let tried = record.attempts.expect("attempts");
    assert_eq!(tried.count, 1);
    let failed: Vec<_> = tried
        .failed
        .iter()
        .map(|it| (it.source.as_deref(), it.kind.name()))
        .collect();
    assert_eq!(
        failed,
        [(None, "overloaded"), (Some("two"), "body_too_large")]
    );
}
