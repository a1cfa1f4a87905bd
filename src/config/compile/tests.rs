use super::*;
use crate::config::policy::GroupKind;
use crate::limits::budget::{Budget, SpentBy};
use crate::limits::shared::OnFailure;
use crate::limits::{Amount, Limits, Rate, Scope, Subject};
use crate::model::Price;
use crate::protocol::Entry;
use serde_json::{Value, json};

const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn sample() -> Value {
    json!({
        "groups": [
            {"id": "mixed", "protocol": "Mixed",
             "entries": {"responses": {"source": "a", "extra_multiplier": "1.5000"},
                         "anthropic_messages": {"source": "b"}},
             "models": [{"id": "claude-x-4-5", "entry": "vb_messages"}, {"id": "gpt-x", "entry": "responses"}]},
            {"id": "a", "protocol": "A", "multiplier": "0.2000", "cluster": "a1", "models": [{"id": "gpt-x"}]},
            {"id": "b", "protocol": "B", "multiplier": "2", "cluster": "b1", "count_tokens": true,
             "models": [{"id": "claude-x-4-5", "upstream": "claude-x-4-5-20251101", "aliases": ["claude-x-latest"]}]}
        ],
        "keys": [{"id": "key_01", "sha256": DIGEST, "group": "mixed", "owner": "Zoë, sales",
                  "expires_at": "2027-01-01T00:00:00Z"}]
    })
}

/// The sample, with models that cost nothing, so that budgets can be there.
fn free_sample() -> Value {
    let mut document = sample();
    put(&mut document, "/groups/1/models/0/free", json!(true));
    put(&mut document, "/groups/2/models/0/free", json!(true));
    document
}

fn compile_value(value: &Value) -> Result<Compiled, Problems> {
    Document::parse(value.to_string().as_bytes()).and_then(|document| compile(&document))
}

#[test]
fn references_are_resolved() {
    let compiled = compile_value(&sample()).unwrap();
    assert_eq!(compiled.warnings, []);
    let policy = &compiled.policy;
    let GroupKind::Mixed(mixed) = &policy.group("mixed").unwrap().kind else {
        panic!("mixed is not Mixed");
    };
    let cases = [
        ("A", Entry::Responses, Some(("a", "0.3000"))),
        (
            "B, under the vendor's name",
            Entry::VbMessages,
            Some(("b", "2.0000")),
        ),
        ("C, not configured", Entry::VcGenerateContent, None),
    ];
    for (case, entry, want) in cases {
        let got = mixed
            .entry(entry)
            .map(|e| (e.source.group.as_str(), e.multiplier.to_string()));
        assert_eq!(got, want.map(|(id, m)| (id, m.to_owned())), "{case}");
    }
    assert_eq!(
        compiled.keys,
        [(
            KeyDigest::from_hex(DIGEST).unwrap(),
            KeyRecord {
                id: "key_01".to_owned(),
                group: "mixed".to_owned(),
                owner: Some("Zoë, sales".to_owned()),
                expires_at: Some(1_798_761_600),
                disabled: false,
                limits: None,
            }
        )]
    );
}

#[test]
fn where_a_feed_is() {
    let cases = [
        ("none", json!(null), None),
        (
            "defaults",
            json!({"cluster": "c"}),
            Some(("c", "/keys", "c")),
        ),
        (
            "all of it",
            json!({"cluster": "outbound|80||keys", "path": "/k?tenant=1", "authority": "keys.internal:80"}),
            Some(("outbound|80||keys", "/k?tenant=1", "keys.internal:80")),
        ),
    ];
    for (case, feed, want) in cases {
        let mut document = sample();
        document["keys_feed"] = feed;
        let compiled = compile_value(&document).unwrap();
        let source = compiled.policy.keys_feed.as_ref();
        let got = source.map(|s| (&*s.cluster, &*s.path, &*s.authority));
        assert_eq!(got, want, "{case}");
    }
}

#[test]
fn what_a_failing_limits_service_means() {
    let cases = [
        ("not named", json!(null), None),
        ("default", json!({}), Some(OnFailure::Open)),
        ("open", json!({"failure": "open"}), Some(OnFailure::Open)),
        (
            "closed",
            json!({"failure": "closed"}),
            Some(OnFailure::Closed),
        ),
    ];
    for (case, service, want) in cases {
        let mut document = sample();
        document["limits_service"] = service;
        let compiled = compile_value(&document).unwrap();
        assert_eq!(compiled.policy.limits_service, want, "{case}");
        // The filter reads it from the snapshot, which has no keys.
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        let (policy, _) = compile_policy(&document.without_keys()).unwrap();
        assert_eq!(policy.limits_service, want, "{case}: in the snapshot");
    }
}

#[test]
fn every_problem_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
        (
            "no groups",
            "/groups",
            json!([]),
            "groups: is missing or empty",
        ),
        ("no keys", "/keys", Value::Null, "keys: is missing"),
        (
            "window too great",
            "/inspect_window",
            json!(2_000_000),
            "inspect_window: must be between",
        ),
        (
            "body limit too small",
            "/max_body",
            json!(1),
            "max_body: must be between",
        ),
        (
            "feed without a cluster",
            "/keys_feed",
            json!({}),
            "keys_feed.cluster: must be 1 to 128",
        ),
        (
            "feed with an odd cluster",
            "/keys_feed",
            json!({"cluster": "a b"}),
            "keys_feed.cluster: must be 1 to 128",
        ),
        (
            "feed with an odd path",
            "/keys_feed",
            json!({"cluster": "c", "path": "keys"}),
            "keys_feed.path: must start with /",
        ),
        (
            "feed with a fragment",
            "/keys_feed",
            json!({"cluster": "c", "path": "/keys#a"}),
            "keys_feed.path: must start with /",
        ),
        (
            "feed with an odd authority",
            "/keys_feed",
            json!({"cluster": "c", "authority": "a\nb"}),
            "keys_feed.authority: must be visible ASCII",
        ),
        (
            "limits service that fails in an unknown way",
            "/limits_service",
            json!({"failure": "ajar"}),
            "limits_service.failure: must be \"open\"",
        ),
        (
            "currency",
            "/currency",
            json!("dollars"),
            "currency: must be a code of three letters",
        ),
        (
            "usage option of another protocol",
            "/groups/2/include_usage",
            json!(true),
            "groups[2].include_usage: has a meaning in protocol A",
        ),
        (
            "price as a number's text with a sign",
            "/groups/1/models/0/prices",
            json!({"input": "-1", "output": "1"}),
            "groups[1].models[0].prices.input: must be a plain decimal number",
        ),
        (
            "price too fine",
            "/groups/1/models/0/prices",
            json!({"input": "1", "output": "1", "cache_write_1h": "0.0000001"}),
            "groups[1].models[0].prices.cache_write_1h: has more than 6",
        ),
        (
            "price per image",
            "/groups/1/models/0/prices",
            json!({"image": "1000001"}),
            "groups[1].models[0].prices.image: is out of range",
        ),
        (
            "no price at all",
            "/groups/1/models/0/prices",
            json!({}),
            "groups[1].models[0].prices: is empty",
        ),
        (
            "id missing",
            "/groups/1/id",
            Value::Null,
            "groups[1].id: is missing",
        ),
        (
            "id odd",
            "/groups/1/id",
            json!("a b"),
            "groups[1].id: must be 1 to 64",
        ),
        (
            "id twice",
            "/groups/2/id",
            json!("a"),
            "groups[2].id: \"a\" is the id of another group too",
        ),
        (
            "name odd",
            "/groups/1/name",
            json!("a\nb"),
            "groups[1].name: must be",
        ),
        (
            "protocol",
            "/groups/1/protocol",
            json!("D"),
            "groups[1].protocol: must be",
        ),
        (
            "clients",
            "/groups/1/clients",
            json!("lax"),
            "groups[1].clients: must be",
        ),
        (
            "multiplier missing",
            "/groups/1/multiplier",
            Value::Null,
            "groups[1].multiplier: is missing",
        ),
        (
            "multiplier too fine",
            "/groups/1/multiplier",
            json!("0.20001"),
            "groups[1].multiplier: has more than 4",
        ),
        (
            "multiplier negative",
            "/groups/1/multiplier",
            json!("-1"),
            "groups[1].multiplier: must be",
        ),
        (
            "multiplier a number",
            "/groups/1/multiplier",
            json!(0.2),
            "groups[1].multiplier: must be a string",
        ),
        (
            "cluster missing",
            "/groups/1/cluster",
            Value::Null,
            "groups[1].cluster: must be",
        ),
        (
            "cluster odd",
            "/groups/1/cluster",
            json!("a\r\nx: y"),
            "groups[1].cluster: must be",
        ),
        (
            "flag of another protocol",
            "/groups/1/count_tokens",
            json!(true),
            "groups[1].count_tokens: has a meaning in protocol B",
        ),
        (
            "images on B",
            "/groups/2/image_generation",
            json!(true),
            "groups[2].image_generation: has a meaning in protocol A",
        ),
        (
            "entries on a source",
            "/groups/1/entries",
            json!({}),
            "groups[1].entries: only a Mixed",
        ),
        (
            "model id missing",
            "/groups/1/models/0/id",
            Value::Null,
            "groups[1].models[0].id: is missing",
        ),
        (
            "model id not canonical",
            "/groups/2/models/0/id",
            json!("claude-x-4.5"),
            "groups[2].models[0].id: is not canonical: write \"claude-x-4-5\"",
        ),
        (
            "model id odd",
            "/groups/1/models/0/id",
            json!("gpt x"),
            "groups[1].models[0].id: must be",
        ),
        (
            "model upstream odd",
            "/groups/2/models/0/upstream",
            json!("x\""),
            "groups[2].models[0].upstream: must be",
        ),
        (
            "model kind",
            "/groups/1/models/0/kind",
            json!("video"),
            "groups[1].models[0].kind: must be",
        ),
        (
            "model time",
            "/groups/1/models/0/created_at",
            json!("yesterday"),
            "groups[1].models[0].created_at: must be",
        ),
        (
            "model merge_dated on B",
            "/groups/2/models/0/merge_dated",
            json!(true),
            "groups[2].models[0].merge_dated: has a meaning",
        ),
        (
            "model entry on a source",
            "/groups/1/models/0/entry",
            json!("responses"),
            "groups[1].models[0].entry: has a meaning",
        ),
        (
            "alias taken",
            "/groups/2/models/0/aliases/0",
            json!("claude-x-4.5"),
            "groups[2].models[0]: its id or an alias means the same name as model \"claude-x-4-5\"",
        ),
        (
            "unknown field",
            "/groups/1/colour",
            json!("red"),
            "groups[1].colour: unknown field",
        ),
        (
            "entry unknown",
            "/groups/0/entries/other",
            json!({"source": "a"}),
            "groups[0].entries.other: is no entry",
        ),
        (
            "entry under two names",
            "/groups/0/entries/vb_messages",
            json!({"source": "b"}),
            "groups[0].entries.vb_messages: is given under two names",
        ),
        (
            "entry without source",
            "/groups/0/entries/responses/source",
            Value::Null,
            "groups[0].entries.responses.source: is missing",
        ),
        (
            "entry dangling",
            "/groups/0/entries/responses/source",
            json!("z"),
            "groups[0].entries.responses.source: there is no group \"z\"; there are mixed, ",
        ),
        (
            "entry to a Mixed group",
            "/groups/0/entries/responses/source",
            json!("mixed"),
            "groups[0].entries.responses.source: \"mixed\" is a Mixed group",
        ),
        (
            "entry to another protocol",
            "/groups/0/entries/responses/source",
            json!("b"),
            "groups[0].entries.responses.source: \"b\" speaks protocol B",
        ),
        (
            "entry multiplier",
            "/groups/0/entries/responses/extra_multiplier",
            json!("x"),
            "groups[0].entries.responses.extra_multiplier: must be",
        ),
        (
            "entries missing",
            "/groups/0/entries",
            Value::Null,
            "groups[0].entries: is missing or empty",
        ),
        (
            "Mixed with a cluster",
            "/groups/0/cluster",
            json!("a1"),
            "groups[0].cluster: belongs to the source",
        ),
        (
            "Mixed with images",
            "/groups/0/image_generation",
            json!(true),
            "groups[0].image_generation: belongs to the source",
        ),
        (
            "Mixed model unknown to its source",
            "/groups/0/models/0/id",
            json!("claude-z-1"),
            "groups[0].models[0].id: the source of entry vb_messages has no model",
        ),
        (
            "Mixed model of an unconfigured entry",
            "/groups/0/models/0/entry",
            json!("vc_generate_content"),
            "groups[0].models[0].entry: this group has no usable entry",
        ),
        (
            "Mixed model with upstream",
            "/groups/0/models/0/upstream",
            json!("y"),
            "groups[0].models[0].upstream: belongs to the model",
        ),
        (
            "Mixed model twice",
            "/groups/0/models/2",
            json!({"id": "gpt-x", "entry": "responses"}),
            "groups[0].models[2].id: is listed twice",
        ),
        (
            "key id missing",
            "/keys/0/id",
            Value::Null,
            "keys[0].id: is missing",
        ),
        (
            "owner with a control character",
            "/keys/0/owner",
            json!("x\u{7f}"),
            "keys[0].owner: must be 1 to 128 bytes without control characters",
        ),
        (
            "owner that is too long",
            "/keys/0/owner",
            json!("é".repeat(65)),
            "keys[0].owner: must be 1 to 128 bytes without control characters",
        ),
        (
            "key digest short",
            "/keys/0/sha256",
            json!("abc"),
            "keys[0].sha256: must be the 64",
        ),
        (
            "key group dangling",
            "/keys/0/group",
            json!("z"),
            "keys[0].group: names no group of this document; there are mixed, ",
        ),
        (
            "key expiry",
            "/keys/0/expires_at",
            json!("2027-01-01"),
            "keys[0].expires_at: must be a time",
        ),
        (
            "key digest twice",
            "/keys/1",
            json!({"id": "k2", "sha256": DIGEST, "group": "a"}),
            "keys[1].sha256: is the digest of keys[0] too",
        ),
        (
            "key id twice",
            "/keys/1",
            json!({"id": "key_01", "sha256": DIGEST.replace('b', "c"), "group": "a"}),
            "keys[1].id: is the id of another key too",
        ),
    ];
    for (case, pointer, value, want) in cases {
        let mut document = sample();
        put(&mut document, pointer, value);
        let problems = compile_value(&document).expect_err(case);
        assert!(
            problems.0.iter().any(|p| p.to_string().starts_with(want)),
            "{case}: {problems}"
        );
    }
}

/// Sets what stands at a JSON pointer; null takes it out; one past a list's end appends.
fn put(document: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(map) if value.is_null() => {
            map.remove(last);
        }
        Value::Object(map) => {
            map.insert(last.to_owned(), value);
        }
        Value::Array(list) => {
            let index: usize = last.parse().unwrap();
            if index == list.len() {
                list.push(value);
            } else {
                list[index] = value;
            }
        }
        other => panic!("{pointer}: {other}"),
    }
}

#[test]
fn problems_of_different_places_come_together() {
    let mut document = sample();
    put(&mut document, "/groups/1/cluster", json!(""));
    put(
        &mut document,
        "/groups/0/entries/responses/source",
        json!("z"),
    );
    put(&mut document, "/keys/0/group", json!("z"));
    let problems = compile_value(&document).unwrap_err();
    assert!(problems.0.len() >= 3, "{problems}");
}

#[test]
fn a_mixed_group_without_the_b_entry_is_a_warning() {
    let mut document = sample();
    put(
        &mut document,
        "/groups/0/entries/anthropic_messages",
        Value::Null,
    );
    put(
        &mut document,
        "/groups/0/models/0",
        json!({"id": "gpt-x", "entry": "responses"}),
    );
    put(
        &mut document,
        "/groups/0/models",
        json!([{"id": "gpt-x", "entry": "responses"}]),
    );
    let compiled = compile_value(&document).unwrap();
    assert_eq!(compiled.warnings.len(), 1, "{:?}", compiled.warnings);
    assert_eq!(compiled.warnings[0].path, "groups[0].entries");
}

#[test]
fn prices_are_those_of_the_document() {
    use crate::usage::Kind;
    let mut document = sample();
    document["currency"] = json!("EUR");
    let prices = json!({"input": "5", "output": "25.5", "cache_read": "0.500000", "image": "0.04"});
    put(&mut document, "/groups/1/models/0/prices", prices);
    let compiled = compile_value(&document).unwrap();
    assert_eq!(compiled.policy.currency.as_deref(), Some("EUR"));
    let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
        panic!("a source");
    };
    let prices = source.catalog.models()[0].prices.clone().unwrap();
    let shown = |kind| prices.tokens(kind).map(|price| price.value().to_string());
    let want = [
        (Kind::Input, "5"),
        (Kind::CacheRead, "0.500000"),
        (Kind::CacheWrite1h, "5"),
        (Kind::Output, "25.5"),
    ];
    for (kind, text) in want {
        assert_eq!(shown(kind).as_deref(), Some(text), "{kind:?}");
    }
    let image = prices.image().map(|price| price.value().to_string());
    assert_eq!(image.as_deref(), Some("0.04"));
}

#[test]
fn a_price_that_seems_forgotten_is_a_warning() {
    let cases = [
        ("output", json!({"input": "1"}), Some("no price for output")),
        ("input", json!({"output": "1"}), Some("no price for input")),
        ("both there", json!({"input": "1", "output": "0"}), None),
        ("per image", json!({"image": "1"}), None),
    ];
    for (case, prices, want) in cases {
        let mut document = sample();
        put(&mut document, "/groups/1/models/0/prices", prices);
        let warnings = compile_value(&document).unwrap().warnings;
        let found = warnings.iter().any(|warning| {
            let text = warning.to_string();
            text.starts_with("groups[1].models[0].prices: ")
                && want.is_some_and(|want| text.contains(want))
        });
        assert_eq!(found, want.is_some(), "{case}: {warnings:?}");
    }
}

fn with_accounts(accounts: Value, failover: Value) -> Value {
    let mut document = sample();
    let group = &mut document["groups"][1];
    group.as_object_mut().unwrap().remove("cluster");
    group["accounts"] = accounts;
    group["failover"] = failover;
    document
}

#[test]
fn accounts_are_those_of_the_document() {
    use crate::config::account::{CredentialHeader, HttpVersion};
    let accounts = json!([
        {"id": "one", "url": "https://api.example.com/base/", "credential": "one.key"},
        {"id": "two", "url": "http://127.0.0.1:9101", "credential": "/run/secrets/two", "header": "x-api-key",
         "weight": 3, "priority": 1, "http": "2", "proxy": "http://proxy:3128"}
    ]);
    let compiled = compile_value(&with_accounts(accounts, json!({"tries": 2}))).unwrap();
    let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
        panic!("a source");
    };
    assert_eq!(source.cluster, "source/a");
    let accounts = source.accounts.as_ref().unwrap();
    assert_eq!(accounts.failover.tries, 2);
    assert_eq!(accounts.failover.total_seconds, 600, "the default");
    let shown: Vec<_> = accounts
        .accounts
        .iter()
        .map(|a| {
            (
                a.id.as_str(),
                a.origin.to_string(),
                a.header,
                a.weight,
                a.priority,
                a.http,
            )
        })
        .collect();
    let want = [
        (
            "one",
            "https://api.example.com/base".to_owned(),
            CredentialHeader::Bearer,
            1,
            0,
            HttpVersion::Negotiated,
        ),
        (
            "two",
            "http://127.0.0.1:9101".to_owned(),
            CredentialHeader::XApiKey,
            3,
            1,
            HttpVersion::Two,
        ),
    ];
    assert_eq!(shown, want);
}

#[test]
fn every_problem_of_an_account_is_named() {
    let good = json!({"id": "one", "url": "https://h", "credential": "one.key"});
    let with = |field: &str, value: Value| {
        let mut account = good.clone();
        account[field] = value;
        json!([account])
    };
    let at = "groups[1].accounts[0]";
    let cases = [
        (
            "none",
            json!([]),
            json!(null),
            "groups[1].accounts: must be 1 to 64".to_owned(),
        ),
        (
            "id twice",
            json!([good, good]),
            json!(null),
            "groups[1].accounts[1].id: is the id of another".to_owned(),
        ),
        (
            "id odd",
            with("id", json!("a/b")),
            json!(null),
            format!("{at}.id: must be 1 to 64"),
        ),
        (
            "url missing",
            with("url", json!(null)),
            json!(null),
            format!("{at}.url: is missing"),
        ),
        (
            "a credential in the url",
            with("url", json!("https://k@h")),
            json!(null),
            format!("{at}.url: must hold no credential"),
        ),
        (
            "an endpoint in the url",
            with("url", json!("https://h/v1/messages/")),
            json!(null),
            format!("{at}.url: ends in an endpoint: leave off what begins with /messages,"),
        ),
        (
            "a model's method in the url",
            with("url", json!("https://h/v1beta/models/m:generateContent")),
            json!(null),
            format!("{at}.url: ends in an endpoint: leave off what begins with :generateContent,"),
        ),
        (
            "a query in the url",
            with("url", json!("https://h/openai/v1?api-version=preview")),
            json!(null),
            format!("{at}.url: must have no query"),
        ),
        (
            "no credential",
            with("credential", json!(null)),
            json!(null),
            format!("{at}.credential: is missing"),
        ),
        (
            "header",
            with("header", json!("cookie")),
            json!(null),
            format!("{at}.header: must be"),
        ),
        (
            "weight",
            with("weight", json!(0)),
            json!(null),
            format!("{at}.weight: must be between 1 and 1000"),
        ),
        (
            "priority",
            with("priority", json!(10)),
            json!(null),
            format!("{at}.priority: must be between 0 and 9"),
        ),
        (
            "http",
            with("http", json!("3")),
            json!(null),
            format!("{at}.http: must be"),
        ),
        (
            "http negotiated without TLS",
            json!([{"id": "x", "url": "http://h", "credential": "k", "http": "auto"}]),
            json!(null),
            format!("{at}.http: can be \"auto\" for https only"),
        ),
        (
            "retries",
            with("retries", json!(4)),
            json!(null),
            format!("{at}.retries: must be between 0 and 3"),
        ),
        (
            "proxy with a path",
            with("proxy", json!("https://p/x")),
            json!(null),
            format!("{at}.proxy: must be http://"),
        ),
        (
            "tries",
            with("weight", json!(1)),
            json!({"tries": 11}),
            "groups[1].failover.tries: must be between".to_owned(),
        ),
    ];
    for (case, accounts, failover, want) in cases {
        let problems = compile_value(&with_accounts(accounts, failover)).expect_err(case);
        let found = problems.0.iter().any(|p| p.to_string().starts_with(&want));
        assert!(found, "{case}: {problems:?}");
    }
    let mut stateful = sample();
    stateful["groups"][1] = json!({"id": "c", "protocol": "C", "multiplier": "1", "models": [],
        "account_resources": true, "accounts": [good, {"id": "y", "url": "https://h", "credential": "k"}]});
    let problems = compile_value(&stateful).expect_err("state of one of several accounts");
    let at = "groups[1].account_resources: cannot be there with several";
    assert!(
        problems.0.iter().any(|p| p.to_string().starts_with(at)),
        "{problems:?}"
    );
    let mut both = with_accounts(json!([good]), json!(null));
    both["groups"][1]["cluster"] = json!("a1");
    assert!(compile_value(&both).is_err(), "accounts and a cluster");
}

/// All limits that there are.
fn all_limits() -> Value {
    json!({
        "requests_per_minute": 1,
        "input_tokens_per_minute": 1_000_000_000,
        "output_tokens_per_minute": 3,
        "concurrent_requests": 4,
        "budget": {"per_day": "10.00", "per_month": "200",
                   "spent": {"at": "2026-11-22T12:00:00Z", "in_day": "0.5", "in_month": "7"}},
    })
}

#[test]
fn limits_are_those_of_the_document() {
    let amount = |text: &str| Amount::parse(text).unwrap();
    let rates = |rates: [Option<u32>; 3], slots: Option<u32>, budget: Budget| {
        let mut limits = Limits::default();
        for (rate, limit) in Rate::ALL.into_iter().zip(rates) {
            limits.set_per_minute(rate, limit);
        }
        limits.concurrent_requests = slots;
        limits.budget = budget;
        limits
    };
    let none = Budget::default();
    let day = |spent: Option<SpentBy>| Budget {
        per_day: Some(amount("10")),
        per_month: None,
        spent,
    };
    let spent = |in_day: &str, in_month: &str| {
        Some(SpentBy {
            at: 1_795_348_800,
            in_day: amount(in_day),
            in_month: amount(in_month),
        })
    };
    let month = Budget {
        per_day: None,
        per_month: Some(amount("0.00000000000000000001")),
        spent: None,
    };
    let told = |spent: Value| json!({"budget": {"per_day": "10", "spent": spent}});
    let at = "2026-11-22T12:00:00Z";
    let cases = [
        ("nothing", json!(null), None),
        (
            "all",
            all_limits(),
            Some(rates(
                [Some(1), Some(1_000_000_000), Some(3)],
                Some(4),
                Budget {
                    per_month: Some(amount("200")),
                    ..day(spent("0.5", "7"))
                },
            )),
        ),
        (
            "requests",
            json!({"requests_per_minute": 1_000_000_000}),
            Some(rates([Some(1_000_000_000), None, None], None, none)),
        ),
        (
            "input",
            json!({"input_tokens_per_minute": 2}),
            Some(rates([None, Some(2), None], None, none)),
        ),
        (
            "output",
            json!({"output_tokens_per_minute": 2}),
            Some(rates([None, None, Some(2)], None, none)),
        ),
        (
            "concurrency",
            json!({"concurrent_requests": 2}),
            Some(rates([None; 3], Some(2), none)),
        ),
        (
            "a day",
            json!({"budget": {"per_day": "10.000"}}),
            Some(rates([None; 3], None, day(None))),
        ),
        (
            "a month",
            json!({"budget": {"per_month": "0.00000000000000000001"}}),
            Some(rates([None; 3], None, month)),
        ),
        (
            "nothing spent",
            told(json!({"at": at})),
            Some(rates([None; 3], None, day(spent("0", "0")))),
        ),
        (
            "spent in the day, so in the month too",
            told(json!({"at": "2026-11-22T13:00:00+01:00", "in_day": "3"})),
            Some(rates([None; 3], None, day(spent("3", "3")))),
        ),
        (
            "spent in the month",
            told(json!({"at": at, "in_month": "3"})),
            Some(rates([None; 3], None, day(spent("0", "3")))),
        ),
    ];
    for (case, limits, want) in cases {
        let mut document = free_sample();
        put(&mut document, "/keys/0/limits", limits.clone());
        for group in 0..3 {
            put(
                &mut document,
                &format!("/groups/{group}/limits"),
                limits.clone(),
            );
        }
        let compiled = compile_value(&document).expect(case);
        assert_eq!(
            compiled.keys[0].1.limits.as_deref(),
            want.as_ref(),
            "{case}"
        );
        for group in compiled.policy.groups() {
            let subject = want.map(|want| Subject::new(Scope::Group, &group.id, want));
            assert_eq!(group.limits, subject, "{case}, {}", group.id);
        }
    }
}

#[test]
fn every_problem_of_limits_is_named() {
    let count = "must be between 1 and 1000000000";
    let plain = "must be a plain decimal";
    // (field, what to put there, or null to take it out, where the problem is, the problem)
    let cases = [
        (
            "/requests_per_minute",
            json!(0),
            ".requests_per_minute",
            count,
        ),
        (
            "/requests_per_minute",
            json!(1_000_000_001),
            ".requests_per_minute",
            count,
        ),
        (
            "/input_tokens_per_minute",
            json!(0),
            ".input_tokens_per_minute",
            count,
        ),
        (
            "/output_tokens_per_minute",
            json!(0),
            ".output_tokens_per_minute",
            count,
        ),
        (
            "/concurrent_requests",
            json!(0),
            ".concurrent_requests",
            count,
        ),
        (
            "/concurrent_requests",
            json!(-1),
            ".concurrent_requests",
            "",
        ),
        (
            "/requests_per_minute",
            json!("10"),
            ".requests_per_minute",
            "",
        ),
        (
            "/requests_per_minute",
            json!(1.5),
            ".requests_per_minute",
            "",
        ),
        (
            "/requests_per_hour",
            json!(1),
            ".requests_per_hour",
            "unknown field",
        ),
        ("", json!({}), "", "limits nothing"),
        (
            "/budget",
            json!({}),
            ".budget",
            "needs per_day or per_month",
        ),
        (
            "",
            json!({"budget": {}}),
            ".budget",
            "needs per_day or per_month",
        ),
        (
            "/budget/per_week",
            json!("1"),
            ".budget.per_week",
            "unknown field",
        ),
        (
            "/budget/per_day",
            json!("0"),
            ".budget.per_day",
            "must be more than 0",
        ),
        (
            "/budget/per_day",
            json!("0.00"),
            ".budget.per_day",
            "must be more than 0",
        ),
        ("/budget/per_day", json!("-1"), ".budget.per_day", plain),
        ("/budget/per_day", json!("1e2"), ".budget.per_day", plain),
        (
            "/budget/per_day",
            json!("1000000000.1"),
            ".budget.per_day",
            "is out of range",
        ),
        ("/budget/per_day", json!(10), ".budget.per_day", ""),
        (
            "/budget/per_month",
            json!("0"),
            ".budget.per_month",
            "must be more than 0",
        ),
        (
            "/budget/per_month",
            json!("1.000000000000000000001"),
            ".budget.per_month",
            "has more than 20",
        ),
        (
            "/budget/spent/at",
            json!(null),
            ".budget.spent.at",
            "is missing",
        ),
        (
            "/budget/spent/at",
            json!("2026-11-22"),
            ".budget.spent.at",
            "must be a time",
        ),
        (
            "/budget/spent/in_day",
            json!("x"),
            ".budget.spent.in_day",
            plain,
        ),
        (
            "/budget/spent/in_month",
            json!(""),
            ".budget.spent.in_month",
            plain,
        ),
        (
            "/budget/spent/in_month",
            json!("0.4"),
            ".budget.spent.in_month",
            "is less than in_day",
        ),
        (
            "/budget/spent/in_year",
            json!("1"),
            ".budget.spent.in_year",
            "unknown field",
        ),
    ];
    for (field, value, place, reason) in cases {
        for (at, pointer) in [
            ("keys[0].limits", "/keys/0/limits"),
            ("groups[0].limits", "/groups/0/limits"),
            ("groups[1].limits", "/groups/1/limits"),
        ] {
            let mut document = free_sample();
            put(&mut document, pointer, all_limits());
            put(&mut document, &format!("{pointer}{field}"), value.clone());
            let problems = compile_value(&document).expect_err(&format!("{pointer}{field}"));
            let want = format!("{at}{place}: {reason}");
            let found = problems.0.iter().any(|p| p.to_string().starts_with(&want));
            assert!(found, "{want}: {problems}");
            assert_eq!(problems.0.len(), 1, "{want}: {problems}");
        }
    }
    let mut document = free_sample();
    let wrong = json!({"requests_per_minute": 0, "concurrent_requests": 0,
        "budget": {"per_day": "0", "per_month": "x", "spent": {"in_day": "y", "in_month": "z"}}});
    put(&mut document, "/keys/0/limits", wrong);
    let problems = compile_value(&document).unwrap_err();
    assert_eq!(problems.0.len(), 7, "all at once: {problems}");
}

/// What is wrong with a document, a line each.
fn problems_of(document: &Value) -> Vec<String> {
    let problems = compile_value(document).err().unwrap_or_default();
    problems.0.iter().map(ToString::to_string).collect()
}

#[test]
fn a_budget_needs_prices() {
    let budget = json!({"budget": {"per_day": "1"}});
    let rates = json!({"requests_per_minute": 1, "concurrent_requests": 1});
    let prices = json!({"input": "1", "output": "1"});
    let give = "would not count every model: give prices, or \"free\": true, to";
    let (x, y) = ("/groups/1/models/0", "/groups/2/models/0");
    // (case, where the limits are, those, what is priced, what is free, the models that lack a price)
    type Case<'a> = (
        &'a str,
        &'a str,
        &'a Value,
        &'a [&'a str],
        &'a [&'a str],
        &'a str,
    );
    let (source, mixed, key) = ("/groups/1", "/groups/0", "/keys/0");
    let cases: &[Case<'_>] = &[
        (
            "a source without prices",
            source,
            &budget,
            &[],
            &[],
            "gpt-x",
        ),
        ("a source with prices", source, &budget, &[x], &[], ""),
        ("a source that is free", source, &budget, &[], &[x], ""),
        (
            "another source's prices",
            source,
            &budget,
            &[y],
            &[],
            "gpt-x",
        ),
        ("no budget", source, &rates, &[], &[], ""),
        (
            "Mixed",
            mixed,
            &budget,
            &[],
            &[],
            "claude-x-4-5 (of b), gpt-x (of a)",
        ),
        (
            "Mixed, one priced",
            mixed,
            &budget,
            &[y],
            &[],
            "gpt-x (of a)",
        ),
        (
            "Mixed, one free",
            mixed,
            &budget,
            &[],
            &[x],
            "claude-x-4-5 (of b)",
        ),
        ("Mixed, priced and free", mixed, &budget, &[y], &[x], ""),
        ("Mixed without a budget", mixed, &rates, &[], &[], ""),
        ("a key", key, &budget, &[], &[x], "claude-x-4-5 (of b)"),
        ("a key, priced and free", key, &budget, &[x], &[y], ""),
        ("a key without a budget", key, &rates, &[], &[], ""),
    ];
    for (case, place, limits, priced, free, lacking) in cases {
        let mut document = sample();
        put(&mut document, &format!("{place}/limits"), (*limits).clone());
        for model in *priced {
            put(&mut document, &format!("{model}/prices"), prices.clone());
        }
        for model in *free {
            put(&mut document, &format!("{model}/free"), json!(true));
        }
        let at = place[1..].replacen('/', "[", 1) + "].limits.budget";
        let want = match *lacking {
            "" => vec![],
            lacking => vec![format!("{at}: {give} {lacking}")],
        };
        assert_eq!(problems_of(&document), want, "{case}");
    }
    // What a group does not show, or its account may not use, costs nobody anything.
    let mut document = free_sample();
    for place in [source, mixed, key] {
        put(&mut document, &format!("{place}/limits"), budget.clone());
    }
    let unpriced = json!({"id": "gpt-y", "entitled": false});
    put(&mut document, "/groups/1/models/1", unpriced);
    assert_eq!(problems_of(&document), [""; 0], "not entitled");
    put(&mut document, "/groups/1/models/1/entitled", json!(true));
    let source_alone = format!("groups[1].limits.budget: {give} gpt-y");
    assert_eq!(problems_of(&document), [source_alone], "not shown");
    // Not every name of very many.
    let many: Vec<Value> = (0..12).map(|i| json!({"id": format!("m{i}")})).collect();
    for (count, more) in [(10, ""), (11, " and 1 more"), (12, " and 2 more")] {
        let mut document = sample();
        document["groups"][0] = json!({"id": "mixed", "protocol": "A", "multiplier": "1", "cluster": "c", "models": many[..count]});
        put(&mut document, "/keys/0/limits", budget.clone());
        let names = "m0, m1, m2, m3, m4, m5, m6, m7, m8, m9";
        let want = format!("keys[0].limits.budget: {give} {names}{more}");
        assert_eq!(problems_of(&document), [want], "{count} models");
    }
    // A group that has a problem itself is not taken for another one.
    let mut document = free_sample();
    put(&mut document, "/groups/1/protocol", json!("D"));
    put(&mut document, "/keys/0/group", json!("a"));
    put(&mut document, "/keys/0/limits", budget);
    put(&mut document, "/groups/2/models/0/free", Value::Null);
    let said = problems_of(&document);
    assert!(said.iter().all(|p| !p.contains("budget")), "{said:?}");
}

#[test]
fn what_a_document_without_the_new_fields_means() {
    let compiled = compile_value(&sample()).unwrap();
    assert_eq!(compiled.warnings, []);
    for group in &compiled.policy.groups()[1..] {
        let GroupKind::Source(source) = &group.kind else {
            panic!("a source");
        };
        assert_eq!(source.include_usage, None);
        assert!(!source.unreported_free && !group.priced);
        assert!(source.catalog.models().iter().all(|model| !model.free));
    }
    let document = Document::parse(sample().to_string().as_bytes()).unwrap();
    let written = serde_json::to_value(&document).unwrap();
    assert_eq!(written, sample(), "an older release reads it all");
}

#[test]
fn fields_of_a_source_that_say_how_usage_is_told() {
    // (field, value, the option and whether what is not reported costs nothing)
    let cases = [
        ("/include_usage", json!(true), (Some(true), false)),
        ("/include_usage", json!(false), (Some(false), false)),
        ("/unreported", json!("estimate"), (None, false)),
        ("/unreported", json!("free"), (None, true)),
    ];
    for (field, value, want) in cases {
        let mut document = sample();
        put(&mut document, &format!("/groups/1{field}"), value.clone());
        let compiled = compile_value(&document).unwrap();
        let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
            panic!("a source");
        };
        let got = (source.include_usage, source.unreported_free);
        assert_eq!(got, want, "{field} {value}");
    }
    let mut document = sample();
    put(&mut document, "/groups/2/unreported", json!("free"));
    put(&mut document, "/groups/2/include_usage", json!(false));
    let compiled = compile_value(&document).unwrap();
    let GroupKind::Source(source) = &compiled.policy.groups()[2].kind else {
        panic!("a source");
    };
    assert!(source.unreported_free, "of any protocol");
}

#[test]
fn prices_of_calls_and_classes_of_service() {
    use crate::usage::{Call, Kind};
    let prices = json!({
        "input": "1", "output": "4", "input_audio": "10", "output_audio": "20", "output_image": "30", "image": "0.04",
        "per_call": {"web_search": "0.01", "code_execution": "0.03", "file_search": "0.0025", "maps_search": "0.025"},
        "tiers": {"priority": {"input": "2", "output": "8", "image": "0.08"}, "flex": {"input": "0.5", "output": "2"}}
    });
    let mut document = sample();
    put(&mut document, "/groups/1/models/0/prices", prices);
    let compiled = compile_value(&document).unwrap();
    assert_eq!(compiled.warnings, []);
    let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
        panic!("a source");
    };
    let prices = source.catalog.models()[0].prices.as_ref().unwrap();
    let shown = |price: Option<crate::model::Price>| price.unwrap().value().to_string();
    // (class of service, input audio, output audio, output images, an image, each kind of call)
    let cases = [
        (None, ["10", "20", "30", "0.04"]),
        (Some("priority"), ["2", "8", "8", "0.08"]),
        (Some("flex"), ["0.5", "2", "2", "0.04"]),
    ];
    for (tier, want) in cases {
        let prices = tier.map_or(prices, |tier| prices.tier(tier).unwrap());
        let got = [
            prices.tokens(Kind::InputAudio),
            prices.tokens(Kind::OutputAudio),
            prices.tokens(Kind::OutputImage),
            prices.image(),
        ];
        assert_eq!(got.map(shown), want, "{tier:?}");
        let calls = Call::ALL.map(|call| shown(prices.call(call)));
        assert_eq!(calls, ["0.01", "0.03", "0.0025", "0.025"], "{tier:?}");
    }
    assert!(source.catalog.models()[0].is_priced());
    let names: Vec<&str> = prices.tiers().map(|(name, _)| name).collect();
    assert_eq!(names, ["flex", "priority"]);
}

#[test]
fn every_problem_of_prices_is_named() {
    let at = "groups[1].models[0]";
    let set = json!({"input": "1", "output": "1"});
    let tier =
        |name: &str, tier: Value| json!({"input": "1", "output": "1", "tiers": {name: tier}});
    let named = "must be named by 1 to 32 lower-case letters, digits or any of - _";
    let ordinary = "is ordinary service, which the prices of the model itself are for";
    let of_model = "belongs to the prices of the model, not to those of a class of service";
    let no_price = "has a price neither for tokens nor for images: one that is 0 must be written";
    let plain = "must be a plain decimal number in a string, such as \"1.25\"";
    let incomplete = "needs a price for input or output: what it leaves out is not taken from the prices of the model";
    let long = "x".repeat(33);
    let nine: serde_json::Map<_, _> = (0..9).map(|i| (format!("t{i}"), set.clone())).collect();
    let nine = json!({"input": "1", "output": "1", "tiers": nine});
    // (the prices, where the problem is, the problem)
    let cases = [
        (
            json!({}),
            "",
            "is empty: for a model that costs nothing write \"free\": true in place of prices",
        ),
        (json!({"per_call": {"web_search": "1"}}), "", no_price),
        (json!({"tiers": {"flex": set}}), "", no_price),
        (
            json!({"input": "1", "output": "1", "input_audio": "1e3"}),
            ".input_audio",
            plain,
        ),
        (
            json!({"input": "1", "output": "1", "output_audio": "-1"}),
            ".output_audio",
            plain,
        ),
        (
            json!({"input": "1", "output": "1", "output_image": ""}),
            ".output_image",
            plain,
        ),
        (
            json!({"image": "1", "per_call": {"maps_search": "0.0000001"}}),
            ".per_call.maps_search",
            "has more than 6 fractional digits",
        ),
        (
            json!({"image": "1", "per_call": {"file_search": "1000001"}}),
            ".per_call.file_search",
            "is out of range (at most 1000000)",
        ),
        (
            json!({"image": "1", "per_call": {"web_serch": "1"}}),
            ".per_call.web_serch",
            "unknown field `web_serch` (known: `web_search`, `code_execution`, `file_search`, `maps_search`)",
        ),
        (
            json!({"image": "1", "per_call": {"web_search": 1}}),
            ".per_call.web_search",
            "must be a string",
        ),
        (
            tier("flex", json!({"input": "x", "output": "1"})),
            ".tiers.flex.input",
            plain,
        ),
        (
            tier("flex", json!({"cache_read": "1"})),
            ".tiers.flex",
            incomplete,
        ),
        (
            tier("flex", json!({"image": "1"})),
            ".tiers.flex",
            incomplete,
        ),
        (
            tier("flex", json!({"input": "1", "output": "1", "per_call": {}})),
            ".tiers.flex.per_call",
            of_model,
        ),
        (
            tier("flex", json!({"input": "1", "output": "1", "tiers": {}})),
            ".tiers.flex.tiers",
            of_model,
        ),
        (tier("Flex", set.clone()), ".tiers.Flex", named),
        (tier("", set.clone()), ".tiers.", named),
        (tier(&long, set.clone()), &format!(".tiers.{long}"), named),
        (tier("auto", set.clone()), ".tiers.auto", ordinary),
        (tier("default", set.clone()), ".tiers.default", ordinary),
        (tier("standard", set.clone()), ".tiers.standard", ordinary),
        (
            tier("standard_only", set.clone()),
            ".tiers.standard_only",
            ordinary,
        ),
        (nine, ".tiers", "must be 8 at most"),
    ];
    for (prices, place, reason) in cases {
        let mut document = sample();
        put(&mut document, "/groups/1/models/0/prices", prices.clone());
        let want = format!("{at}.prices{place}: {reason}");
        assert_eq!(problems_of(&document), [want], "{prices}");
    }
    let good = tier(&long[..32], set.clone());
    let mut document = sample();
    put(&mut document, "/groups/1/models/0/prices", good);
    assert_eq!(problems_of(&document), [""; 0]);
    // (JSON pointer, what to put there, the problem)
    let cases = [
        (
            "/groups/1/models/0/free",
            json!(true),
            "groups[1].models[0].free: contradicts prices: leave one of the two out",
        ),
        ("/groups/1/models/0/free", json!(false), ""),
        (
            "/groups/1/models/0/free",
            json!("yes"),
            "groups[1].models[0].free: must be true or false",
        ),
        (
            "/groups/0/models/0/free",
            json!(true),
            "groups[0].models[0].free: belongs to the model of the source group",
        ),
        (
            "/groups/1/unreported",
            json!("ignore"),
            "groups[1].unreported: must be \"estimate\" or \"free\"",
        ),
        (
            "/groups/0/unreported",
            json!("estimate"),
            "groups[0].unreported: belongs to the source groups of a Mixed group, not to itself",
        ),
        (
            "/groups/2/include_usage",
            json!(true),
            "groups[2].include_usage: has a meaning in protocol A groups only",
        ),
        ("/groups/2/include_usage", json!(false), ""),
    ];
    for (pointer, value, want) in cases {
        let mut document = sample();
        put(&mut document, "/groups/1/models/0/prices", set.clone());
        put(&mut document, pointer, value.clone());
        let want: Vec<&str> = Some(want)
            .filter(|want| !want.is_empty())
            .into_iter()
            .collect();
        assert_eq!(problems_of(&document), want, "{pointer} {value}");
    }
}

#[test]
fn a_price_of_a_class_of_service_that_seems_forgotten_is_a_warning() {
    let at = "groups[1].models[0].prices";
    let tier = |kind: &str| {
        format!("{at}.tiers.fast: has no price for {kind}: it is free at this class of service")
    };
    let cases = [
        (
            json!({"input": "1", "output": "1", "tiers": {"fast": {"output": "2"}}}),
            vec![tier("input")],
        ),
        (
            json!({"input": "1", "output": "1", "tiers": {"fast": {"input": "2"}}}),
            vec![tier("output")],
        ),
        (
            json!({"input": "1", "output": "1", "tiers": {"fast": {"input": "2", "output": "0"}}}),
            vec![],
        ),
        (
            json!({"input": "1", "tiers": {"fast": {"input": "2"}}}),
            vec![format!("{at}: has no price for output: it is free")],
        ),
    ];
    for (prices, want) in cases {
        let mut document = sample();
        put(&mut document, "/groups/1/models/0/prices", prices.clone());
        let warnings = compile_value(&document).unwrap().warnings;
        let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said, want, "{prices}");
    }
}

#[test]
fn further_methods_of_protocol_c() {
    let compiled = |protocol: &str, methods: Value| {
        let document = json!({
            "groups": [{"id": "g", "protocol": protocol, "multiplier": "1", "cluster": "c", "methods": methods,
                        "models": [{"id": "m"}]}],
            "keys": [],
        });
        compile_value(&document)
    };
    let good = compiled(
        "C",
        json!({"predict": {"per_call": "0.04"}, "predictLongRunning": {"per_call": "0"}}),
    );
    let policy = good.unwrap().policy;
    let group = policy.group("g").unwrap();
    let GroupKind::Source(source) = &group.kind else {
        panic!("{group:?}");
    };
    let price = |text| Price::parse(text).ok();
    for (method, want) in [
        ("predict", price("0.04")),
        ("predictLongRunning", price("0")),
        ("generateContent", None),
        ("Predict", None),
        ("", None),
    ] {
        assert_eq!(source.method_price(method), want, "{method}");
    }
    let one = json!({"per_call": "1"});
    let cases = [
        (
            "A",
            json!({"predict": one}),
            "methods: has a meaning in protocol C",
        ),
        ("C", json!({"": one}), "methods.: is no method"),
        ("C", json!({"x".repeat(65): one}), "is no method"),
        (
            "C",
            json!({"pre-dict": one}),
            "methods.pre-dict: is no method",
        ),
        ("C", json!({"generateContent": one}), "is served already"),
        (
            "C",
            json!({"predict": {}}),
            "methods.predict.per_call: is missing",
        ),
        (
            "C",
            json!({"predict": {"per_call": "-1"}}),
            "methods.predict.per_call: must be a plain",
        ),
        (
            "C",
            json!({"predict": {"per_call": "0.0000001"}}),
            "has more than 6",
        ),
    ];
    for (protocol, methods, part) in cases {
        let problems = compiled(protocol, methods.clone()).unwrap_err();
        let listed: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
        assert!(
            listed.iter().any(|p| p.contains(part)),
            "{part}: {listed:?}"
        );
    }
}
