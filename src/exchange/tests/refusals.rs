//! Rejections on the head: every step of the decision, and the order of the steps.

use super::*;

const V: &str = "anthropic-version: 2023-06-01";

/// (case, request, headers, status, code) of a refusal.
type RefusalCase<'a> = (&'a str, &'a str, &'a [&'a str], u16, &'a str);

#[test]
fn refusals() {
    let (in_force, world) = setting();
    let cases: &[RefusalCase<'_>] = &[
        ("1: unknown path", "POST /v1/nothing", &[], 404, "not_found"),
        (
            "1: before the credential",
            "POST /v1/v1/messages",
            &["x-api-key: nonsense"],
            404,
            "not_found",
        ),
        (
            "1: method",
            "GET /v1/messages",
            &["x-api-key: k-b"],
            405,
            "method_not_allowed",
        ),
        (
            "1: websocket",
            "GET /v1/responses",
            &["upgrade: websocket"],
            426,
            "upgrade_required",
        ),
        (
            "1: bytes that are no ASCII",
            "POST /v1/responses?x=ö",
            &[],
            400,
            "bad_path",
        ),
        (
            "2: no credential",
            "POST /v1/responses",
            &[],
            401,
            "invalid_api_key",
        ),
        (
            "2: another protocol's header",
            "POST /v1/responses",
            &["x-api-key: k-a"],
            401,
            "invalid_api_key",
        ),
        (
            "2: bearer on strict B",
            "POST /v1/messages",
            &["authorization: Bearer k-b", V],
            401,
            "invalid_api_key",
        ),
        (
            "2: query key without leave",
            "POST /v1beta/models/gem-1:generateContent?key=k-c",
            &[],
            401,
            "invalid_api_key",
        ),
        (
            "2: query key on A",
            "POST /v1/responses?key=k-a",
            &[],
            401,
            "invalid_api_key",
        ),
        (
            "2: both C names, two keys",
            "GET /v1beta/models",
            &["x-vc-api-key: k-c", "x-goog-api-key: k-a"],
            401,
            "invalid_api_key",
        ),
        (
            "4: unknown",
            "POST /v1/responses",
            &["authorization: Bearer k-z"],
            401,
            "invalid_api_key",
        ),
        (
            "4: disabled",
            "POST /v1/responses",
            &["authorization: Bearer k-off"],
            401,
            "invalid_api_key",
        ),
        (
            "4: expired",
            "POST /v1/responses",
            &["authorization: Bearer k-old"],
            401,
            "invalid_api_key",
        ),
        (
            "4: A key in B's header on the list",
            "GET /v1/models",
            &["x-api-key: k-a"],
            401,
            "invalid_api_key",
        ),
        (
            "4: strict B key as bearer on the list",
            "GET /v1/models",
            &["authorization: Bearer k-b"],
            401,
            "invalid_api_key",
        ),
        (
            "4: strict C key on the list",
            "GET /v1/models",
            &["x-goog-api-key: k-c"],
            401,
            "invalid_api_key",
        ),
        (
            "4: C key as bearer on the list",
            "GET /v1/models",
            &["authorization: Bearer k-c-current"],
            401,
            "invalid_api_key",
        ),
        (
            "4: first malformed, second good",
            "POST /v1/messages",
            &["x-api-key: a b", "authorization: Bearer k-b-current"],
            401,
            "invalid_api_key",
        ),
        (
            "5: B key on A",
            "POST /v1/responses",
            &["authorization: Bearer k-b"],
            403,
            "protocol_not_allowed",
        ),
        (
            "5: A key on B",
            "POST /v1/messages",
            &["x-api-key: k-a", V],
            403,
            "protocol_not_allowed",
        ),
        (
            "5: A key on C",
            "POST /v1beta/models/gem-1:generateContent",
            &["x-goog-api-key: k-a"],
            403,
            "protocol_not_allowed",
        ),
        (
            "5: A key on C's list",
            "GET /v1beta/models",
            &["x-goog-api-key: k-a"],
            403,
            "protocol_not_allowed",
        ),
        (
            "5: Mixed without the entry",
            "POST /v1/messages",
            &["x-api-key: k-mixed-no-b", V],
            403,
            "protocol_not_allowed",
        ),
        (
            "5: before 6",
            "POST /v1/messages",
            &["x-api-key: k-a"],
            403,
            "protocol_not_allowed",
        ),
        (
            "6: no version",
            "POST /v1/messages",
            &["x-api-key: k-b"],
            400,
            "invalid_version",
        ),
        (
            "6: another version",
            "POST /v1/messages",
            &["x-api-key: k-b", "anthropic-version: 2026-10-21"],
            400,
            "invalid_version",
        ),
        (
            "6: two names, two versions",
            "POST /v1/messages",
            &["x-api-key: k-b", V, "vb-version: 2024-01-01"],
            400,
            "invalid_version",
        ),
        (
            "6: no date, current",
            "POST /v1/messages",
            &["x-api-key: k-b-current", "anthropic-version: latest"],
            400,
            "invalid_version",
        ),
        (
            "6: before 7",
            "POST /v1/messages/count_tokens",
            &["x-api-key: k-b-low"],
            400,
            "invalid_version",
        ),
        (
            "7: no images",
            "POST /v1/images/generations",
            &["authorization: Bearer k-a-text"],
            404,
            "images_not_supported",
        ),
        (
            "7: Mixed never",
            "POST /v1/images/edits",
            &["authorization: Bearer k-mixed"],
            404,
            "images_not_supported",
        ),
        (
            "7: no token counting",
            "POST /v1/messages/count_tokens",
            &["x-api-key: k-b-low", V],
            404,
            "count_tokens_not_supported",
        ),
        (
            "strict C under /v1",
            "POST /v1/models/gem-1:generateContent",
            &["x-goog-api-key: k-c"],
            404,
            "not_found",
        ),
        (
            "strict B without /v1",
            "POST /messages",
            &["x-api-key: k-b", V],
            404,
            "not_found",
        ),
        (
            "strict B without /v1, before 6",
            "POST /messages/count_tokens",
            &["x-api-key: k-b"],
            404,
            "not_found",
        ),
        (
            "strict Mixed without /v1",
            "POST /messages",
            &["x-api-key: k-mixed", V],
            404,
            "not_found",
        ),
        (
            "2: no credential, without /v1",
            "POST /messages",
            &[],
            401,
            "invalid_api_key",
        ),
        (
            "5: A key on B without /v1",
            "POST /messages",
            &["x-api-key: k-a", V],
            403,
            "protocol_not_allowed",
        ),
        (
            "1: not served here",
            "POST /v1/embeddings",
            &["authorization: Bearer k-a"],
            404,
            "not_found",
        ),
        (
            "1: not served here, before the credential",
            "POST /v1/messages/batches",
            &[],
            404,
            "not_found",
        ),
        (
            "account resources off",
            "GET /v1beta/files",
            &["x-goog-api-key: k-c"],
            404,
            "not_found",
        ),
        (
            "account resources of a Mixed key",
            "GET /v1beta/files",
            &["x-goog-api-key: k-mixed"],
            404,
            "not_found",
        ),
        (
            "9: C model unknown",
            "POST /v1beta/models/gem-9:generateContent",
            &["x-goog-api-key: k-c"],
            404,
            "model_not_found",
        ),
        (
            "9: C model of the source only",
            "POST /v1beta/models/gem-2:generateContent",
            &["x-goog-api-key: k-mixed"],
            404,
            "model_not_found",
        ),
        (
            "9: path tricks are no model",
            "POST /v1beta/models/gem-1%3Fx:generateContent",
            &["x-goog-api-key: k-c"],
            404,
            "model_not_found",
        ),
        (
            "encoding left",
            "POST /v1/responses",
            &["authorization: Bearer k-a", "content-encoding: deflate"],
            415,
            "request_body_encoding_unsupported",
        ),
        (
            "too long by its head",
            "POST /v1/responses",
            &["authorization: Bearer k-a", "content-length: 4097"],
            413,
            "request_too_large",
        ),
        (
            "form without boundary",
            "POST /v1/images/edits",
            &[
                "authorization: Bearer k-a",
                "content-type: multipart/form-data",
            ],
            400,
            "invalid_body",
        ),
        (
            "unknown model on the list",
            "GET /v1/models/gpt-9",
            &["authorization: Bearer k-a"],
            404,
            "model_not_found",
        ),
        (
            "bad page",
            "GET /v1/models?limit=0",
            &["x-api-key: k-b"],
            400,
            "invalid_parameter",
        ),
    ];
    for (case, request, headers, status, code) in cases {
        let head = head(request, headers);
        let end = is_get(request);
        let mut exchange = Exchange::default();
        let outcome = exchange.on_request_head(&head, end, Some(&in_force), &world);
        let got = reply_of(&outcome).unwrap_or_else(|| panic!("{case}: {outcome:?}"));
        assert_eq!((got.0, got.1), (*status, Some(*code)), "{case}");
        assert!(
            matches!(exchange.phase, Phase::Replied(_)),
            "{case}: {exchange:?}"
        );
    }
}

/// (case, request, headers, where the key stood, whose it is, what is read, what more current groups take).
type Misplaced<'a> = (
    &'a str,
    &'a str,
    &'a [&'a str],
    &'a str,
    &'a str,
    &'a str,
    &'a str,
);

#[test]
fn a_good_key_in_the_wrong_place_leaves_a_trace() {
    let (in_force, world) = setting();
    let cases: &[Misplaced<'_>] = &[
        (
            "bearer on strict B",
            "POST /v1/messages",
            &["authorization: Bearer k-b"],
            "authorization",
            "b",
            "reads keys of this key's group from x-api-key",
            "allows authorization: Bearer",
        ),
        (
            "bearer on strict Mixed, beside a vendor's key",
            "POST /v1/messages/count_tokens",
            &["x-api-key: sk-x", "authorization: Bearer k-mixed"],
            "authorization",
            "mixed",
            "from x-api-key",
            "allows authorization: Bearer",
        ),
        (
            "bearer on strict B, beside something malformed",
            "POST /messages",
            &["x-api-key: a b", "authorization: Bearer k-b"],
            "authorization",
            "b",
            "from x-api-key",
            "allows authorization: Bearer",
        ),
        (
            "x-api-key on A",
            "POST /v1/responses",
            &["x-api-key: k-a"],
            "x-api-key",
            "a",
            "from authorization: Bearer",
            "",
        ),
        (
            "bearer on C",
            "POST /v1beta/models/gem-1:generateContent",
            &["authorization: Bearer k-c"],
            "authorization",
            "c",
            "from x-goog-api-key or x-vc-api-key",
            "",
        ),
        (
            "C's header on B, for current clients",
            "POST /v1/messages",
            &["x-goog-api-key: k-b-current"],
            "x-goog-api-key",
            "b-current",
            "from x-api-key or authorization: Bearer",
            "",
        ),
        (
            "C's neutral header on A",
            "POST /v1/responses",
            &["x-vc-api-key: k-a"],
            "x-vc-api-key",
            "a",
            "from authorization: Bearer",
            "",
        ),
        (
            "in the query, where that is not allowed",
            "POST /v1beta/models/gem-1:generateContent?key=k-c",
            &[],
            "query",
            "c",
            "from x-goog-api-key or x-vc-api-key",
            "",
        ),
        (
            "another protocol's key in its own header",
            "POST /v1/responses",
            &["x-api-key: k-b"],
            "x-api-key",
            "b",
            "reads keys from authorization: Bearer, and this key's group does not serve it",
            "",
        ),
        (
            "the list, strict C",
            "GET /v1/models",
            &["x-goog-api-key: k-c"],
            "x-goog-api-key",
            "c",
            "list models at /v1beta/models",
            "allows x-goog-api-key or x-vc-api-key",
        ),
        (
            "the list, strict B",
            "GET /v1/models",
            &["authorization: Bearer k-b"],
            "authorization",
            "b",
            "from x-api-key",
            "allows authorization: Bearer",
        ),
        (
            "a model of the list, strict Mixed",
            "GET /v1/models/gpt-x",
            &["x-goog-api-key: k-mixed"],
            "x-goog-api-key",
            "mixed",
            "from x-api-key or authorization: Bearer",
            "allows x-goog-api-key or x-vc-api-key",
        ),
        (
            "the list, C for current clients",
            "GET /v1/models",
            &["authorization: Bearer k-c-current"],
            "authorization",
            "c-current",
            "from x-goog-api-key or x-vc-api-key",
            "",
        ),
    ];
    for (case, request, headers, place, key, read, more) in cases {
        let ask = |headers: &[&str]| {
            let mut exchange = Exchange::default();
            let head = head(request, headers);
            let outcome = exchange.on_request_head(&head, is_get(request), Some(&in_force), &world);
            let Outcome::Reply(reply) = outcome else {
                panic!("{case}: {outcome:?}");
            };
            let record = exchange.on_done(&FakeEnd(""), &world);
            (reply, record.unwrap())
        };
        let (mut reply, record) = ask(headers);
        assert_eq!(record.key.as_deref(), Some(*key), "{case}");
        assert_eq!(record.group.as_deref(), Some(*key), "{case}");
        assert_eq!(record.key_found_in, Some(*place), "{case}");
        assert_eq!(record.error.as_deref(), Some("invalid_api_key"), "{case}");
        let details: Vec<_> = reply
            .headers
            .extract_if(.., |(name, _)| *name == "x-trilane-detail")
            .collect();
        let [(_, detail)] = details.as_slice() else {
            panic!("{case}: {details:?}");
        };
        assert!(
            detail.starts_with(&format!("The key came in {place}, but ")),
            "{case}: {detail}"
        );
        assert!(detail.contains(read), "{case}: {detail}");
        let current = r#""clients": "current" on the group also "#;
        assert_eq!(
            detail.contains(current),
            !more.is_empty(),
            "{case}: {detail}"
        );
        assert!(detail.ends_with(&format!("{more}.")), "{case}: {detail}");
        assert!(
            detail.bytes().all(|b| b == b' ' || b.is_ascii_graphic()),
            "{case}: {detail}"
        );
        assert!(!detail.contains("k-"), "{case}: {detail}");
        // A key that nobody has gets the same answer, without that header, and leaves no trace.
        for bad in ["k-nobody", "k-off", "k-old"] {
            let good = format!("k-{key}");
            let headers: Vec<String> = headers.iter().map(|h| h.replace(&good, bad)).collect();
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            let request = request.replace(&good, bad);
            let head = head(&request, &headers);
            let mut exchange = Exchange::default();
            let end = is_get(&request);
            let outcome = exchange.on_request_head(&head, end, Some(&in_force), &world);
            assert_eq!(outcome, Outcome::Reply(reply.clone()), "{case}: {bad}");
            let record = exchange.on_done(&FakeEnd(""), &world).unwrap();
            let trace = (record.key, record.group, record.key_found_in);
            assert_eq!(trace, (None, None, None), "{case}: {bad}");
        }
    }
}

#[test]
fn no_trace_of_keys_that_are_read_or_not_asked_for() {
    let (in_force, world) = setting();
    let cases: [(&str, &str, &[&str], u16); 4] = [
        (
            "read, behind something malformed",
            "POST /v1/messages",
            &["x-api-key: a b", "authorization: Bearer k-b-current"],
            401,
        ),
        ("no such path", "POST /v1/nothing", &["x-api-key: k-a"], 404),
        (
            "not served",
            "POST /v1/embeddings",
            &["x-api-key: k-a"],
            404,
        ),
        (
            "another method",
            "GET /v1/responses",
            &["x-api-key: k-a"],
            405,
        ),
    ];
    for (case, request, headers, status) in cases {
        let mut exchange = Exchange::default();
        let outcome =
            exchange.on_request_head(&head(request, headers), true, Some(&in_force), &world);
        let Outcome::Reply(reply) = outcome else {
            panic!("{case}: {outcome:?}");
        };
        assert_eq!(reply.status, status, "{case}");
        let told = reply
            .headers
            .iter()
            .any(|(name, _)| *name == "x-trilane-detail");
        assert!(!told, "{case}: {reply:?}");
        let record = exchange.on_done(&FakeEnd(""), &world).unwrap();
        assert_eq!((record.key, record.key_found_in), (None, None), "{case}");
    }
}

#[test]
fn without_a_policy_a_key_is_never_refused_as_wrong() {
    let (in_force, mut world) = setting();
    let ask = |in_force: Option<&InForce>, world: &FakeWorld, headers: &[&str]| {
        let head = head("POST /v1/responses", headers);
        let outcome = Exchange::default().on_request_head(&head, false, in_force, world);
        reply_of(&outcome).map(|(status, _, _)| status)
    };
    let key = &["authorization: Bearer k-a"];
    assert_eq!(ask(None, &world, key), Some(503), "no policy");
    assert_eq!(
        ask(None, &world, &[]),
        Some(401),
        "no policy, and no key either"
    );
    let name = KeyDigest::of(b"k-a").shared_name();
    let good = world.records[&name].clone();
    let decoded = StoredRecord::decode(Namespace::Document, &good);
    let good_key = decoded.unwrap().unwrap().key.unwrap();
    let stale = StoredRecord::plain(2, good_key.clone());
    let moved = KeyRecord {
        group: "elsewhere".into(),
        ..good_key
    };
    let records = [
        ("written by another release", vec![9, 9, 9], Some(503)),
        (
            "its group is not in force yet",
            StoredRecord::plain(3, moved).encode_named(),
            Some(503),
        ),
        (
            "left behind by an earlier loader",
            stale.encode_named(),
            Some(401),
        ),
        ("removed", vec![], Some(401)),
        ("good", good, None),
    ];
    for (case, record, want) in records {
        world.records.insert(name.clone(), record);
        assert_eq!(ask(Some(&in_force), &world, key), want, "{case}");
    }
}

#[test]
fn a_publication_between_policy_and_record_loses_no_request() {
    let (newer, mut world) = setting();
    let (mut older, _) = setting();
    // The older policy does not know the group that the key's record names by now.
    let text = document()
        .to_string()
        .replace(r#""id":"a","#, r#""id":"a-before","#);
    let text = text.replace(r#""source":"a""#, r#""source":"a-before""#);
    let text = text.replace(r#""group":"a","#, r#""group":"a-before","#);
    let renamed = Document::parse(text.as_bytes()).unwrap();
    older.policy = crate::config::compile::compile_policy(&renamed).unwrap().0;
    assert!(older.policy.group("a").is_none());
    let head = head("POST /v1/responses", &["authorization: Bearer k-a"]);
    let ask = |world: &FakeWorld| {
        let outcome = Exchange::default().on_request_head(&head, false, Some(&older), world);
        reply_of(&outcome).map(|(status, ..)| status)
    };
    assert_eq!(ask(&world), Some(503), "nothing newer is published");
    world.newer = Some(Rc::new(newer));
    assert_eq!(ask(&world), None, "the newer policy knows the group");
}

#[test]
fn the_clock_is_asked_only_where_a_key_expires() {
    let (in_force, world) = setting();
    for (key, reads) in [("k-a", 0), ("k-new", 1)] {
        world.clock_reads.set(0);
        let bearer = format!("authorization: Bearer {key}");
        let head = head("POST /v1/responses", &[&bearer]);
        let outcome = Exchange::default().on_request_head(&head, false, Some(&in_force), &world);
        assert_eq!(outcome, Outcome::Pause, "{key}");
        assert_eq!(world.clock_reads.get(), reads, "{key}");
    }
}
