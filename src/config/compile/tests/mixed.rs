use super::*;

#[test]
fn every_problem_of_mixed_groups_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
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
    ];
    each_is_named(cases);
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
