//! Requests that leave: accounts, paths and times. What is changed of a head is in the cases of `tests/golden`.

use super::*;
use crate::config::policy::GroupKind;
use crate::failover::{Bounds, ModelMark};
use crate::host::Clocks;
use crate::host::fake::FakeProcess;

const V: &str = "anthropic-version: 2023-06-01";

#[test]
fn what_chooses_among_accounts() {
    let (in_force, mut world) = setting();
    let leaves = |world: &FakeWorld, key: &str, session: &str| {
        let key = format!("x-api-key: {key}");
        let head = head("POST /v1/messages", &[&key, V, session]);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), world);
        let outcome = exchange.on_request_body(br#"{"model":"claude-z-2"}"#, true, world);
        let Outcome::Continue(edits) = outcome else {
            panic!("{outcome:?}");
        };
        exchange.on_done(&FakeEnd(""), world).expect("a record");
        let value = |name| set(&edits, name).map(str::to_owned);
        (
            value("x-trilane-cluster").unwrap(),
            value("x-envoy-upstream-rq-per-try-timeout-ms"),
        )
    };
    let limit = Some("70000".to_owned());
    // Until an account has answered, by way of the hop.
    let unknown = leaves(&world, "k-b-accounts", "session-id: s1");
    assert_eq!(unknown, ("account/hop".to_owned(), limit.clone()));
    world.accounts = FakeAccounts(Some(FakeHost::of(&FakeProcess::start())));
    let group = in_force.policy.groups();
    let group = group.iter().find(|group| group.id == "b-accounts").unwrap();
    let GroupKind::Source(source) = &group.kind else {
        panic!("a source");
    };
    let accounts = source.accounts.as_deref().unwrap();
    for index in 0..2 {
        world.note(
            failover::AccountEvent::Answered,
            "b-accounts",
            accounts,
            index,
        );
    }
    let mut homes = Vec::new();
    for session in 0..20 {
        let one = leaves(&world, "k-b-accounts", &format!("session-id: s{session}"));
        let again = leaves(&world, "k-b-accounts", &format!("session_id: s{session}"));
        assert_eq!(one, again, "{session}: the same conversation");
        assert_eq!(one.1, limit, "{session}");
        homes.push(one.0);
    }
    for account in ["account/b-accounts/one", "account/b-accounts/two"] {
        assert!(
            homes.iter().any(|home| home == account),
            "{account}: {homes:?}"
        );
    }
    // One account, or a cluster written by hand: there is nothing to choose.
    let alone = leaves(&world, "k-b-account", "session-id: s1");
    assert_eq!(alone, ("source/b-account".to_owned(), None));
    assert_eq!(
        leaves(&world, "k-b", "session-id: s1"),
        ("cb".to_owned(), None)
    );
}

/// The hop belongs to another VM where the gateway's filter alone was replaced (ECDS). Accounts are asked directly there,
/// and one that fails is ejected all the same.
#[test]
fn a_hop_of_another_vm() {
    const UPSTREAM: &str = "via_upstream";
    // (case, status, details, whether the client gets it, whether the account is ejected)
    for (case, status, details, relayed, ejected) in [
        ("an answer", 200, UPSTREAM, true, false),
        ("an error of the request", 400, UPSTREAM, true, false),
        ("the account's last word", 429, UPSTREAM, true, true),
        ("refused by the hop", 408, UPSTREAM, false, true),
        ("refused by the hop, as Envoy's own", 408, "", false, true),
        ("no cluster", 503, "cluster_not_found", false, true),
    ] {
        let (in_force, mut world) = setting();
        world.foreign_hop = true;
        world.accounts = FakeAccounts(Some(FakeHost::of(&FakeProcess::start())));
        let head = head("POST /v1/messages", &["x-api-key: k-b-accounts", V]);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let outcome = exchange.on_request_body(br#"{"model":"claude-z-2"}"#, true, &world);
        let Outcome::Continue(edits) = outcome else {
            panic!("{case}: {outcome:?}");
        };
        let cluster = set(&edits, "x-trilane-cluster").unwrap();
        assert!(
            cluster.starts_with("account/b-accounts/"),
            "{case}: {cluster}"
        );
        let attempts = world.attempts();
        let (place, _) = attempts.last().expect("asked directly");
        let outcome = after_answer(&mut exchange, &Last { status, details }, &world);
        let got = match &outcome {
            Outcome::Reply(reply) => {
                assert_eq!(reply.status, 502, "{case}");
                false
            }
            _ => true,
        };
        assert_eq!(got, relayed, "{case}: {outcome:?}");
        let states = world.account_states("b-accounts");
        let marks = attempts.accounts(place).unwrap().marks[place.account];
        let now_us = world.accounts.0.as_ref().unwrap().steady_us();
        let model = Some(ModelMark::of("claude-z-2"));
        assert_eq!(
            states.is_set_aside(&marks, model, now_us),
            ejected,
            "{case}"
        );
    }
}

/// Two requests may have the same id where Envoy lets clients choose ids. The second one leaves the first one's attempts alone:
/// it asks one account, directly, and never comes to the hop, where it would be taken for the first.
#[test]
fn two_requests_with_one_id() {
    let (in_force, mut world) = setting();
    world.accounts = FakeAccounts(Some(FakeHost::of(&FakeProcess::start())));
    let head = head("POST /v1/messages", &["x-api-key: k-b-accounts", V]);
    let forward = || {
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let outcome = exchange.on_request_body(br#"{"model":"claude-z-2"}"#, true, &world);
        let Outcome::Continue(edits) = outcome else {
            panic!("{outcome:?}");
        };
        let value = |name| set(&edits, name).map(str::to_owned);
        (
            exchange,
            value("x-trilane-cluster").unwrap(),
            value("x-envoy-max-retries"),
        )
    };
    let (mut first, cluster, retries) = forward();
    assert_eq!((cluster.as_str(), retries), ("account/hop", None));
    let of_first = world.attempts();
    let (mut second, cluster, retries) = forward();
    assert!(cluster.starts_with("account/b-accounts/"), "{cluster}");
    assert_eq!(retries.as_deref(), Some("0"));
    second.on_done(&FakeEnd(""), &world).expect("a record");
    assert!(Rc::ptr_eq(&of_first, &world.attempts()), "the first one's");
    first.on_done(&FakeEnd(""), &world).expect("a record");
    assert!(world.requests.find(b"req-1").is_none(), "both are over");
}

/// A group with accounts of these URLs, and what its requests bring along in `x-trilane-path`.
fn path_for(protocol: &str, urls: &[&str], request: &str, body: &[u8]) -> Option<String> {
    let mut document = document();
    let accounts: Vec<Value> = urls
        .iter()
        .enumerate()
        .map(|(i, url)| json!({"id": format!("a{i}"), "url": url, "credential": "k"}))
        .collect();
    let mut group = json!({"id": "v", "protocol": protocol, "multiplier": "1", "clients": "current",
        "models": [{"id": "m", "upstream": "m-1"}], "accounts": accounts});
    if protocol == "C" && urls.len() == 1 {
        group["account_resources"] = true.into();
    }
    document["groups"].as_array_mut().unwrap().push(group);
    let key = json!({"id": "v", "sha256": sha256("k-v"), "group": "v"});
    document["keys"].as_array_mut().unwrap().push(key);
    let (in_force, world) = setting_of(&document);
    let headers = [
        match protocol {
            "A" => "authorization: Bearer k-v",
            "B" => "x-api-key: k-v",
            _ => "x-goog-api-key: k-v",
        },
        "x-trilane-path: /from/the/client",
    ];
    let mut exchange = Exchange::default();
    let outcome = exchange.on_request_head(
        &head(request, &headers),
        body.is_empty(),
        Some(&in_force),
        &world,
    );
    let outcome = match outcome {
        Outcome::Pause => exchange.on_request_body(body, true, &Unlimited),
        outcome => outcome,
    };
    let Outcome::Continue(edits) = outcome else {
        panic!("{request}: {outcome:?}");
    };
    assert!(
        removed(&edits).contains(&"x-trilane-path"),
        "the client's own: {request}"
    );
    set(&edits, "x-trilane-path").map(str::to_owned)
}

#[test]
fn the_path_without_its_version() {
    const CHAT: &str = "POST /v1/chat/completions?x=1";
    const OWN: &str = "https://h/api/paas/v4";
    const VERTEX: &str = "https://h/v1/projects/p/locations/l/publishers/google";
    #[rustfmt::skip]
    let cases: [(&str, &[&str], &str, Option<&str>); 14] = [
        ("A", &["https://h"], CHAT, None),
        ("A", &["https://h/openai/v1"], CHAT, None),
        // The account before may have left its own base there.
        ("A", &["https://h/v1", "https://h/openai/v1"], CHAT, Some("/chat/completions")),
        ("A", &["https://h/v1", "https://other"], CHAT, None),
        ("A", &[OWN], CHAT, Some("/chat/completions")),
        ("A", &[OWN], "POST /chat/completions", Some("/chat/completions")),
        ("A", &["https://h/v1", OWN], "POST /responses", Some("/responses")),
        ("B", &["https://h/v1"], "POST /v1/messages", None),
        ("B", &["https://h/v2"], "POST /v1/messages", Some("/messages")),
        ("C", &["https://h/v1beta"], "POST /v1/models/m:generateContent", None),
        ("C", &["https://h/v1"], "POST /v1/models/m:generateContent", Some("/models/m-1:generateContent")),
        ("C", &[VERTEX], "POST /v1beta/models/m:streamGenerateContent?alt=sse", Some("/models/m-1:streamGenerateContent")),
        ("C", &["https://h/v1"], "GET /v1beta/files/f?key=k", Some("/files/f")),
        ("C", &["https://h/v1beta"], "GET /v1beta/files/f", None),
    ];
    for (protocol, urls, request, want) in cases {
        let body: &[u8] = match protocol {
            _ if request.starts_with("GET") => b"",
            "C" => br#"{"contents":[]}"#,
            _ => br#"{"model":"m"}"#,
        };
        let got = path_for(protocol, urls, request, body);
        assert_eq!(got.as_deref(), want, "{protocol} {urls:?} {request}");
    }
}

#[test]
fn how_long_an_account_may_take() {
    let (in_force, world) = setting();
    let whole = [
        (
            "a stream",
            &[r#"{"stream":true,"model":"claude-z-2"}"#][..],
            "7000",
        ),
        ("none", &[r#"{"model":"claude-z-2"}"#], "70000"),
        (
            "said so",
            &[r#"{"model":"claude-z-2","stream":false}"#],
            "70000",
        ),
        (
            "said behind the model",
            &[r#"{"model":"claude-z-2","x":1"#, r#","stream":true"#, "}"],
            "7000",
        ),
    ];
    for (case, pieces, want) in whole {
        let head = head("POST /v1/messages", &["x-api-key: k-b-accounts", V]);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let mut gone = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            let end = i + 1 == pieces.len();
            match exchange.on_request_body(piece.as_bytes(), end, &world) {
                Outcome::Continue(edits) if !edits.headers.is_empty() => gone.push(edits),
                Outcome::Continue(_) | Outcome::Pause => {}
                Outcome::Reply(reply) => panic!("{case}: {reply:?}"),
            }
        }
        let [edits] = &gone[..] else {
            panic!("{case}: one head: {gone:?}");
        };
        let limit = set(edits, "x-envoy-upstream-rq-per-try-timeout-ms");
        assert_eq!(limit, Some(want), "{case}");
        let Bounds {
            attempts: tries,
            until_us: until,
        } = world.attempts().bounds();
        exchange.on_done(&FakeEnd(""), &world).expect("a record");
        assert_eq!(tries, 2, "{case}: one for each account");
        assert!(
            (100_000_000..101_000_000).contains(&until),
            "{case}: {until}"
        );
    }
    // Nobody waits for it behind the inspect window.
    let head = head("POST /v1/messages", &["x-api-key: k-b-accounts", V]);
    let mut exchange = Exchange::default();
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    let long = format!(r#"{{"model":"claude-z-2","x":"{}"#, "x".repeat(1024));
    let outcome = exchange.on_request_body(long.as_bytes(), false, &Unlimited);
    let Outcome::Continue(edits) = outcome else {
        panic!("{outcome:?}");
    };
    let limit = set(&edits, "x-envoy-upstream-rq-per-try-timeout-ms");
    assert_eq!(limit, Some("70000"));
}

/// A body is held for the word that it streams: whole if it fits into the window, or else its first 64 KiB.
#[test]
fn how_long_a_body_is_held_for_its_pace() {
    const KIB: usize = 1024;
    let mut document = document();
    document["inspect_window"] = json!(256 * KIB);
    document["max_body"] = json!(4 * KIB * KIB);
    let (in_force, world) = setting_of(&document);
    let long = Some(1024 * KIB);
    let cases = [
        ("long, little of it", long, 60 * KIB, false),
        ("long, its beginning", long, 64 * KIB, true),
        ("as long as the window", Some(256 * KIB), 255 * KIB, false),
        ("longer by one byte", Some(256 * KIB + 1), 64 * KIB, true),
        ("of no known length", None, 255 * KIB, false),
        ("of no known length, the window", None, 256 * KIB, true),
    ];
    for (case, length, come, released) in cases {
        let length = length.map(|length| format!("content-length: {length}"));
        let mut headers = vec!["x-api-key: k-b-accounts", V];
        headers.extend(length.as_deref());
        let head = head("POST /v1/messages", &headers);
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let mut bytes = br#"{"model":"claude-z-2","x":""#.to_vec();
        bytes.resize(come, b'x');
        let outcome = exchange.on_request_body(&bytes, false, &world);
        match outcome {
            Outcome::Continue(edits) if released => {
                let limit = set(&edits, "x-envoy-upstream-rq-per-try-timeout-ms");
                assert_eq!(limit, Some("70000"), "{case}");
            }
            Outcome::Pause if !released => {}
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn an_idempotency_key_leaves_as_a_digest_of_it_and_the_api_key() {
    let (in_force, world) = setting();
    let leaves = |key: &str, headers: &[&str]| {
        let key = format!("authorization: Bearer k-{key}");
        let headers: Vec<&str> = headers.iter().copied().chain([key.as_str()]).collect();
        let mut exchange = Exchange::default();
        let head = head("POST /v1/responses", &headers);
        exchange.on_request_head(&head, false, Some(&in_force), &world);
        let outcome = exchange.on_request_body(br#"{"model":"gpt-x"}"#, true, &Unlimited);
        let Outcome::Continue(edits) = outcome else {
            panic!("{headers:?}: {outcome:?}");
        };
        edits
    };
    let digest = |key: &str, headers: &[&str]| {
        let edits = leaves(key, headers);
        set(&edits, "idempotency-key").map(str::to_owned)
    };
    let one = digest("a", &["idempotency-key: order-1"]);
    let value = one.clone().unwrap();
    assert_eq!(value.len(), 64, "{value}");
    assert!(value.bytes().all(|b| b.is_ascii_hexdigit()), "{value}");
    assert_eq!(
        one,
        digest("a", &["idempotency-key: order-1"]),
        "sent again"
    );
    let others = [
        ("another request", "a", vec!["idempotency-key: order-2"]),
        ("another key", "a-text", vec!["idempotency-key: order-1"]),
        (
            "more than one",
            "a",
            vec!["idempotency-key: order-1", "idempotency-key: order-2"],
        ),
    ];
    for (case, key, headers) in others {
        let other = digest(key, &headers);
        assert!(other.is_some() && other != one, "{case}");
    }
    assert_eq!(digest("a", &[]), None, "none");
    let edits = leaves("a", &["x-idempotency-key: order-1"]);
    assert_eq!(set(&edits, "x-idempotency-key"), Some(value.as_str()));
    let edits = leaves("a", &["vendor-idempotency-key: order-1"]);
    let gone = HeaderEdit::Remove("vendor-idempotency-key".into());
    assert!(edits.headers.contains(&gone), "{edits:?}");
}

#[test]
fn parameters_that_did_not_go_on_are_named_in_the_response() {
    let (in_force, world) = setting();
    let cases = [
        (
            "POST /v1/responses",
            &["authorization: Bearer k-a"][..],
            None,
        ),
        (
            "POST /v1/responses?beta=1",
            &["authorization: Bearer k-a"],
            None,
        ),
        (
            "POST /v1/responses?model=s3cret&beta=1&key=s3cret",
            &["authorization: Bearer k-a"],
            Some("Query parameters that are not known here did not go on: model, key."),
        ),
        (
            "POST /v1beta/models/gem-1:generateContent?key=s3cret",
            &["x-goog-api-key: k-c"],
            None,
        ),
    ];
    for (request, headers, want) in cases {
        let ask = |body: &[u8]| {
            let mut exchange = Exchange::default();
            let head = head(request, headers);
            exchange.on_request_head(&head, false, Some(&in_force), &world);
            let outcome = exchange.on_request_body(body, true, &Unlimited);
            (exchange, outcome)
        };
        let (mut good, _) = match request.contains("v1beta") {
            true => ask(br#"{"contents":[]}"#),
            false => ask(br#"{"model":"gpt-x"}"#),
        };
        let answer = FakeHead {
            status: 200,
            details: UPSTREAM,
        };
        let Outcome::Continue(edits) = good.on_response_head(&answer, false, &Unlimited) else {
            panic!("{request}");
        };
        assert_eq!(set(&edits, "x-trilane-detail"), want, "{request}");
        let (_, outcome) = ask(b"{");
        let Outcome::Reply(reply) = outcome else {
            panic!("{request}: {outcome:?}");
        };
        let mut told = reply.headers.iter();
        let told = told.find(|(name, _)| *name == "x-trilane-detail");
        assert_eq!(
            told.map(|(_, text)| text.as_str()),
            want,
            "{request}, refused"
        );
    }
}
