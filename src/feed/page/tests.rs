use super::*;
use serde_json::{Value, json};

const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn sample() -> Value {
    json!({
        "feed": "8f3a", "version": 18, "cursor": "f/18?&", "more": false,
        "changes": [
            {"version": 17, "sha256": DIGEST, "id": "key_01", "group": "mixed", "owner": "Zoë, sales",
             "expires_at": "2027-01-01T00:00:00Z", "disabled": true},
            {"version": 18, "sha256": DIGEST, "removed": true},
            {"version": 1, "sha256": DIGEST, "id": "k", "group": "g", "removed": false},
        ],
    })
}

fn problems(text: &str) -> Vec<String> {
    match Page::parse(text.as_bytes()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_page() {
    let text = sample().to_string();
    let page = Page::parse(text.as_bytes()).unwrap();
    assert_eq!((&*page.feed, page.version), ("8f3a", 18));
    assert_eq!((&*page.cursor, page.more), ("f/18?&", false));
    assert!(matches!(page.feed, Cow::Borrowed(_)), "nothing is copied");
    let changes: Vec<_> = page.changes().map(|c| (c.version, c.terms)).collect();
    let first = KeyTerms {
        id: "key_01",
        group: "mixed",
        owner: Some("Zoë, sales"),
        expires_at: Some(1_798_761_600),
        disabled: true,
        ..KeyTerms::default()
    };
    let third = KeyTerms {
        id: "k",
        group: "g",
        ..KeyTerms::default()
    };
    assert_eq!(changes, [(17, Some(first)), (18, None), (1, Some(third))]);
    let digest = KeyDigest::from_hex(DIGEST).unwrap();
    assert!(page.changes().all(|change| change.digest == digest));
}

#[test]
fn the_longest_texts() {
    for (path, longest) in [("feed", MAX_FEED), ("cursor", MAX_CURSOR)] {
        for (len, good) in [(1, true), (longest, true), (longest + 1, false), (0, false)] {
            let mut page = sample();
            page[path] = json!("c".repeat(len));
            let problems = problems(&page.to_string());
            assert_eq!(problems.is_empty(), good, "{path} of {len}: {problems:?}");
        }
    }
}

#[test]
fn an_escaped_text_is_read_too() {
    let text = sample().to_string().replace("key_01", "\\u006bey_01");
    let page = Page::parse(text.as_bytes()).unwrap();
    let first = page.changes().next().unwrap();
    assert_eq!(first.terms.map(|terms| terms.id), Some("key_01"));
}

#[test]
fn what_a_key_has_of_its_own() {
    let mut text = sample();
    text["changes"][0]["team"] = json!("east");
    text["changes"][0]["counts_as"] = json!("key_00");
    text["changes"][0]["models"] = json!(["gpt-x", "\u{67}pt-y"]);
    text["changes"][0]["multiplier"] = json!("0.1500");
    let text = text.to_string();
    let page = Page::parse(text.as_bytes()).unwrap();
    let found: Vec<_> = page.changes().map(|change| change.terms).collect();
    let first = found[0].unwrap();
    let access = first.access.unwrap();
    assert_eq!(
        (first.team, first.counts_as),
        (Some("east"), Some("key_00"))
    );
    assert_eq!(access.multiplier.unwrap().to_string(), "0.1500");
    for (model, allowed) in [("gpt-x", true), ("gpt-y", true), ("gpt-z", false)] {
        assert_eq!(access.allows(model), allowed, "{model}");
    }
    assert_eq!(found[2].unwrap().access, None);
    for (member, value, want) in [
        ("models", json!([]), "changes[0].models: must name 1 to 64"),
        (
            "models",
            json!(vec!["m"; 65]),
            "changes[0].models: must name 1 to 64",
        ),
        (
            "models",
            json!([7]),
            "changes[0].models[0]: must be a string",
        ),
        (
            "models",
            json!(["m", "m"]),
            "changes[0].models[1]: is listed twice",
        ),
        (
            "models",
            json!(["sk secret"]),
            "changes[0].models[0]: must be 1 to 128 letters",
        ),
        (
            "multiplier",
            json!("-1"),
            "changes[0].multiplier: must be a plain decimal",
        ),
        (
            "multiplier",
            json!(1),
            "changes[0].multiplier: must be a string",
        ),
        (
            "team",
            json!("sk secret"),
            "changes[0].team: must be 1 to 64",
        ),
    ] {
        let mut page = sample();
        page["changes"][0][member] = value;
        let problems = problems(&page.to_string());
        assert!(
            !problems.is_empty() && problems[0].starts_with(want),
            "{want}: {problems:?}"
        );
        assert!(
            problems.iter().all(|problem| !problem.contains("secret")),
            "{problems:?}"
        );
    }
}

#[test]
fn limits() {
    use crate::limits::{Limit, Rate, Window};
    use crate::money::Amount;

    let mut text = sample();
    text["changes"][0]["limits"] = json!({
        "requests_per_minute": 60, "input_tokens_per_minute": null, "concurrent_requests": 4,
        "budget": {"per_day": "10.00", "spent": {"at": "2026-11-22T00:00:00Z", "in_day": "0.5"}},
    });
    // Of a key that is gone nothing else is looked at.
    text["changes"][1]["limits"] = json!({"requests_per_minute": 0});
    text["changes"][2]["limits"] = Value::Null;
    let text = text.to_string();
    let page = Page::parse(text.as_bytes()).unwrap();
    let found: Vec<_> = page.changes().map(|change| change.terms).collect();
    let limits = found[0].unwrap().limits.unwrap();
    let spent = limits.budget.spent.unwrap();
    let of = |limit| match limit {
        Limit::Rate(rate) => limits.per_minute(rate),
        Limit::Concurrency => limits.concurrent_requests,
        Limit::Budget(_) | Limit::Reserved(_) => None,
    };
    assert_eq!(of(Limit::Rate(Rate::Requests)), Some(60));
    assert_eq!(of(Limit::Rate(Rate::InputTokens)), None);
    assert_eq!(of(Limit::Concurrency), Some(4));
    assert_eq!(limits.budget.of(Window::Day), Amount::parse("10").ok());
    assert_eq!(
        (spent.at, spent.in_day.to_string()),
        (1_795_305_600, "0.5".to_owned())
    );
    assert_eq!(found[1], None);
    assert_eq!(found[2].unwrap().limits, None, "null is none");
}

#[test]
fn every_problem_of_limits_is_named() {
    let cases = [
        (json!({}), "changes[2].limits: limits nothing"),
        (
            json!({"requests_per_minute": 0}),
            "changes[2].limits.requests_per_minute: must be between 1",
        ),
        (
            json!({"requests_per_minute": "sk-secret"}),
            "changes[2].limits.requests_per_minute: must be a whole number from 0 to 4294967295",
        ),
        (
            json!({"output_tokens_per_minute": 5_000_000_000_u64}),
            "changes[2].limits.output_tokens_per_minute: must be a whole number from 0 to 4294967295",
        ),
        (
            json!({"requests_per_hour": 7}),
            "changes[2].limits.requests_per_hour: unknown field `requests_per_hour`",
        ),
        (
            json!({"concurrent_requests": 0}),
            "changes[2].limits.concurrent_requests: must be between 1",
        ),
        (
            json!({"budget": {}}),
            "changes[2].limits.budget: needs per_day or per_month",
        ),
        (
            json!({"budget": {"per_day": "sk-secret"}}),
            "changes[2].limits.budget.per_day: must be a plain decimal",
        ),
        (
            json!({"budget": {"per_month": 7}}),
            "changes[2].limits.budget.per_month: must be a string",
        ),
        (
            json!({"budget": {"per_day": "1", "spent": {"in_day": "1"}}}),
            "changes[2].limits.budget.spent.at: is missing",
        ),
        (
            json!({"budget": {"per_day": "1",
                "spent": {"at": "2026-11-22T00:00:00Z", "in_day": "2", "in_month": "1"}}}),
            "changes[2].limits.budget.spent.in_month: is less than in_day",
        ),
        (
            json!({"budget": {"per_day": "1", "spent": {"at": "sk-secret"}}}),
            "changes[2].limits.budget.spent.at: must be a time",
        ),
    ];
    for (limits, want) in cases {
        let mut page = sample();
        page["changes"][2]["limits"] = limits.clone();
        let got = problems(&page.to_string());
        assert_eq!(got.len(), 1, "{limits}: {got:?}");
        assert!(got[0].starts_with(want), "{limits}: {got:?}, want {want}");
        assert!(!got[0].contains("secret"), "{limits}: {got:?}");
    }
    // One bad key spoils the page; all that is wrong with it is told at once.
    let mut page = sample();
    page["changes"][0]["group"] = json!("no group");
    page["changes"][0]["limits"] = json!({"requests_per_minute": 0, "budget": {"per_day": "0"}});
    assert_eq!(problems(&page.to_string()).len(), 3);
}

#[test]
fn every_problem_is_named() {
    let long = |length: usize| json!("f".repeat(length));
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
        ("no feed", "/feed", Value::Null, "feed: must be 1 to 64"),
        ("feed too long", "/feed", long(65), "feed: must be 1 to 64"),
        ("feed odd", "/feed", json!("a b"), "feed: must be 1 to 64"),
        ("feed no text", "/feed", json!(1), "feed: must be"),
        ("no version", "/version", Value::Null, "version: is missing"),
        (
            "version below 0",
            "/version",
            json!(-1),
            "version: must be a whole number from 0 to 18446744073709551615",
        ),
        (
            "no cursor",
            "/cursor",
            json!(""),
            "cursor: must be 1 to 256",
        ),
        (
            "cursor too long",
            "/cursor",
            long(257),
            "cursor: must be 1 to 256",
        ),
        ("more unsaid", "/more", Value::Null, "more: is missing"),
        ("no changes", "/changes", Value::Null, "changes: is missing"),
        (
            "typo",
            "/feeed",
            json!("sk-secret"),
            "feeed: unknown field `feeed`",
        ),
        (
            "change's typo",
            "/changes/1/gone",
            json!("sk-secret"),
            "changes[1].gone: unknown field `gone`",
        ),
        (
            "no object",
            "/changes/1",
            json!("sk-secret"),
            "changes[1]: must be",
        ),
        (
            "no version of it",
            "/changes/1/version",
            Value::Null,
            "changes[1].version: must be 1 or more",
        ),
        (
            "version 0",
            "/changes/1/version",
            json!(0),
            "changes[1].version: must be 1 or more",
        ),
        (
            "above the page's",
            "/changes/0/version",
            json!(19),
            "changes[0].version: is above",
        ),
        (
            "no digest",
            "/changes/0/sha256",
            Value::Null,
            "changes[0].sha256: must be the 64",
        ),
        (
            "odd digest",
            "/changes/0/sha256",
            json!("sk-secret"),
            "changes[0].sha256: must be the 64",
        ),
        (
            "removed, odd digest",
            "/changes/1/sha256",
            json!("sk-secret"),
            "changes[1].sha256: must be the 64",
        ),
        (
            "no id",
            "/changes/0/id",
            Value::Null,
            "changes[0].id: is missing",
        ),
        (
            "odd id",
            "/changes/0/id",
            json!("sk secret"),
            "changes[0].id: must be 1 to 64",
        ),
        (
            "no group",
            "/changes/2/group",
            Value::Null,
            "changes[2].group: is missing",
        ),
        (
            "empty owner",
            "/changes/2/owner",
            json!(""),
            "changes[2].owner: must be 1 to 128 bytes without control characters",
        ),
        (
            "odd group",
            "/changes/2/group",
            long(65),
            "changes[2].group: must be 1 to 64",
        ),
        (
            "no time",
            "/changes/0/expires_at",
            json!("sk-secret"),
            "changes[0].expires_at: must be a time",
        ),
        (
            "not said so",
            "/changes/1/removed",
            json!(false),
            "changes[1].id: is missing",
        ),
    ];
    for (case, pointer, put, want) in cases {
        let mut page = sample();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match page.pointer_mut(parent).unwrap() {
            Value::Object(map) if put.is_null() => drop(map.remove(name)),
            Value::Object(map) => drop(map.insert(name.to_owned(), put)),
            Value::Array(list) => list[name.parse::<usize>().unwrap()] = put,
            other => panic!("{case}: {other}"),
        }
        let got = problems(&page.to_string());
        assert!(
            got.iter().any(|problem| problem.starts_with(want)),
            "{case}: {got:?}, want {want}"
        );
        assert!(
            got.iter().all(|problem| !problem.contains("secret")),
            "{case}: {got:?}"
        );
    }
}

#[test]
fn problems_come_all_at_once_until_there_are_many() {
    let mut page = sample();
    page["changes"][0]["group"] = json!("no group");
    page["changes"][0]["id"] = json!("");
    page["changes"][1]["version"] = json!(0);
    assert_eq!(problems(&page.to_string()).len(), 3);
    page["changes"] = json!(vec![json!({"version": 1}); 5000]);
    let count = problems(&page.to_string()).len();
    assert!((20..=23).contains(&count), "{count}");
}

#[test]
fn what_is_no_page() {
    for text in [
        "",
        "{",
        "<html>",
        "[]",
        "null",
        "{\"feed\": \"a\", \"feed\": \"b\"}",
        "{} {}",
    ] {
        assert!(!problems(text).is_empty(), "{text}");
    }
    assert!(Page::parse(&[0xff; 100]).is_err());
}
