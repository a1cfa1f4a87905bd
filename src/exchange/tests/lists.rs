//! Replies from the policy: model lists, health.

use super::*;

/// (case, request, credential, ids in order)
type ListCase<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

#[test]
fn lists_show_what_the_key_may_use() {
    let (in_force, world) = setting();
    let cases: &[ListCase<'_>] = &[
        (
            "A",
            "GET /v1/models",
            "authorization: Bearer k-a",
            &["gpt-x", "gpt-r"],
        ),
        (
            "B, without what is not entitled",
            "GET /v1/models",
            "x-api-key: k-b",
            &["claude-x-4-5", "claude-z-2"],
        ),
        (
            "B, bearer, current",
            "GET /v1/models",
            "authorization: Bearer k-b-current",
            &["claude-z-2"],
        ),
        (
            "Mixed, bearer",
            "GET /v1/models",
            "authorization: Bearer k-mixed",
            &["claude-x-4-5", "gpt-x", "gem-1"],
        ),
        (
            "Mixed, x-api-key",
            "GET /v1/models",
            "x-api-key: k-mixed",
            &["claude-x-4-5", "gpt-x", "gem-1"],
        ),
        (
            "Mixed, empty",
            "GET /v1/models",
            "x-api-key: k-mixed-no-b",
            &[],
        ),
        (
            "a page",
            "GET /v1/models?limit=1&after_id=claude-x-4-5",
            "x-api-key: k-b",
            &["claude-z-2"],
        ),
        (
            "C",
            "GET /v1beta/models",
            "x-goog-api-key: k-c",
            &["models/gem-1", "models/gem-2"],
        ),
        (
            "C under /v1, current",
            "GET /v1/models",
            "x-goog-api-key: k-c-current",
            &["models/gem-1"],
        ),
        (
            "C of a Mixed key",
            "GET /v1beta/models",
            "x-goog-api-key: k-mixed",
            &["models/gem-1"],
        ),
        (
            "C of a Mixed key without C",
            "GET /v1beta/models",
            "x-goog-api-key: k-mixed-no-b",
            &[],
        ),
    ];
    for (case, request, credential, want) in cases {
        let head = head(request, &[credential]);
        let outcome = Exchange::default().on_request_head(&head, true, Some(&in_force), &world);
        let (status, _, body) = reply_of(&outcome).unwrap();
        assert_eq!(status, 200, "{case}: {body}");
        let field = |list: &str, id: &str| {
            let items = body[list].as_array()?.iter();
            Some(
                items
                    .map(|m| m[id].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let got = field("data", "id").or_else(|| field("models", "name"));
        assert_eq!(got.unwrap(), *want, "{case}");
    }
}

#[test]
fn a_mixed_list_names_entry_and_final_multiplier() {
    let (in_force, world) = setting();
    let cases = [
        (
            "GET /v1/models/claude-x-4.5-thinking",
            "authorization",
            "Bearer k-mixed",
            "claude-x-4-5",
            "vb_messages",
            "2.0000",
        ),
        (
            "GET /v1/models/gpt-x",
            "x-api-key",
            "k-mixed",
            "gpt-x",
            "responses",
            "0.2000",
        ),
        (
            "GET /v1beta/models/gem-1",
            "x-goog-api-key",
            "k-mixed",
            "models/gem-1",
            "vc_generate_content",
            "0.5000",
        ),
    ];
    for (request, header, value, id, entry, multiplier) in cases {
        let head = head(request, &[&format!("{header}: {value}")]);
        let outcome = Exchange::default().on_request_head(&head, true, Some(&in_force), &world);
        let (_, _, body) = reply_of(&outcome).unwrap();
        let name = body.get("id").or(body.get("name"));
        assert_eq!(name.unwrap(), id, "{request}");
        assert_eq!(body["entry"], entry, "{request}");
        assert_eq!(body["multiplier"], multiplier, "{request}");
    }
}

#[test]
fn health() {
    let (in_force, world) = setting();
    for (case, in_force, want) in [("ready", Some(&in_force), 200), ("not ready", None, 503)] {
        let outcome =
            Exchange::default().on_request_head(&head("GET /healthz", &[]), true, in_force, &world);
        assert_eq!(reply_of(&outcome).unwrap().0, want, "{case}");
    }
}

#[test]
fn the_sample_document_compiles_without_a_warning() {
    let sample = include_bytes!("../../../envoy/gateway.json");
    let compiled = Document::parse(sample)
        .and_then(|document| compile(&document))
        .unwrap();
    assert_eq!(compiled.warnings, []);
    assert!(!compiled.keys.is_empty());
}
