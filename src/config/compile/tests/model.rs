use super::*;

#[test]
fn every_problem_of_models_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
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
    ];
    each_is_named(cases);
}

#[test]
fn what_reasons_is_marked_or_named_so() {
    // (case, members of the model, whether it reasons)
    let cases = [
        ("nothing says it", json!({"id": "m"}), false),
        ("marked", json!({"id": "m", "reasoning": true}), true),
        ("its id", json!({"id": "m-thinking"}), true),
        (
            "its id, marked otherwise",
            json!({"id": "m-thinking-2", "reasoning": false}),
            true,
        ),
        (
            "its name upstream",
            json!({"id": "m", "upstream": "vendor/m-thinking"}),
            true,
        ),
        (
            "another word",
            json!({"id": "thinking-m", "upstream": "m"}),
            false,
        ),
    ];
    for (case, model, want) in cases {
        let mut document = sample();
        put(&mut document, "/groups/1/models/1", model);
        let compiled = compile_value(&document).expect(case);
        let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
            panic!("a source");
        };
        assert_eq!(source.catalog.models()[1].reasoning, want, "{case}");
    }
}
