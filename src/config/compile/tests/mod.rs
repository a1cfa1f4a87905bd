//! Compiling documents, by what in them is compiled.

mod accounts;
mod coverage;
mod keys;
mod limits;
mod mixed;
mod model;
mod policy;
mod prices;
mod sequence;
mod source;

use serde_json::{Value, json};

use super::*;
use crate::config::policy::GroupKind;
use crate::protocol::Entry;

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

/// Lists the problems of a document, a line each.
fn problems_of(document: &Value) -> Vec<String> {
    let problems = compile_value(document).err().unwrap_or_default();
    problems.0.iter().map(ToString::to_string).collect()
}

/// Each of these changes makes a good document one with this problem.
///
/// (case, JSON pointer, what to put there, or null to take it out, the problem)
fn each_is_named<const N: usize>(cases: [(&str, &str, Value, &str); N]) {
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
            .and_then(|e| e.sources.first())
            .map(|of| (of.source.group.as_str(), of.multiplier.to_string()));
        assert_eq!(got, want.map(|(id, m)| (id, m.to_owned())), "{case}");
    }
    assert_eq!(
        compiled.keys,
        [(
            KeyDigest::from_hex(DIGEST).unwrap(),
            KeyRecord {
                id: "key_01".into(),
                group: "mixed".into(),
                owner: Some("Zoë, sales".into()),
                expires_at: Some(1_798_761_600),
                ..KeyRecord::default()
            }
        )]
    );
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
    assert_eq!(written, sample());
}
