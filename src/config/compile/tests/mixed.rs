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

/// A Mixed group whose entry `responses` has two sources.
fn several() -> Value {
    json!({
        "groups": [
            {"id": "all", "protocol": "Mixed",
             "entries": {"responses": {"sources": [{"source": "a", "extra_multiplier": "1.5"}, {"source": "r"}]},
                         "vb_messages": {"sources": [{"source": "b"}]}},
             "models": [{"id": "gpt-x", "entry": "responses", "source": "a"},
                        {"id": "deep", "entry": "responses", "source": "r"},
                        {"id": "claude-x-4-5", "entry": "vb_messages"}]},
            {"id": "a", "protocol": "A", "multiplier": "0.2", "cluster": "a",
             "models": [{"id": "gpt-x", "aliases": ["gpt"]}, {"id": "gpt-y", "merge_dated": true}]},
            {"id": "r", "protocol": "A", "multiplier": "3", "cluster": "r",
             "models": [{"id": "deep"}, {"id": "gpt-x"}, {"id": "gpt"}, {"id": "gpt-y-2026-01-01"}]},
            {"id": "b", "protocol": "B", "multiplier": "2", "cluster": "b",
             "models": [{"id": "claude-x-4-5"}, {"id": "deep"}]},
            {"id": "c", "protocol": "C", "multiplier": "1", "cluster": "c", "account_resources": true, "models": [{"id": "gem"}]},
            {"id": "d", "protocol": "C", "multiplier": "1", "cluster": "d", "account_resources": true, "models": [{"id": "gim"}]}
        ],
        "keys": []
    })
}

#[test]
fn a_model_leads_to_the_source_that_it_names() {
    let mut document = several();
    put(
        &mut document,
        "/groups/0/models/3",
        json!({"id": "gpt-y", "entry": "responses", "source": "a"}),
    );
    put(
        &mut document,
        "/groups/0/models/4",
        json!({"id": "gpt-y-2026-01-01", "entry": "responses", "source": "r"}),
    );
    let compiled = compile_value(&document).unwrap();
    assert_eq!(compiled.warnings, []);
    let GroupKind::Mixed(mixed) = &compiled.policy.groups()[0].kind else {
        panic!("Mixed");
    };
    for (entry, name, want) in [
        (Entry::Responses, "gpt-x", "a gpt-x 0.3000"),
        (Entry::Responses, "gpt", "a gpt-x 0.3000"),
        (Entry::Responses, "deep", "r deep 3.0000"),
        (Entry::Responses, "gpt-y-2026-02-02", "a gpt-y 0.3000"),
        (
            Entry::Responses,
            "gpt-y-2026-01-01",
            "r gpt-y-2026-01-01 3.0000",
        ),
        (Entry::Responses, "claude-x-4-5", ""),
        (Entry::VbMessages, "claude-x-4.5", "b claude-x-4-5 2.0000"),
        (Entry::VbMessages, "deep", ""),
        (Entry::VcGenerateContent, "deep", ""),
    ] {
        let found = mixed.find(entry, name).map(|(offer, model)| {
            format!("{} {} {}", offer.source.group, model.id, offer.multiplier)
        });
        assert_eq!(found.unwrap_or_default(), want, "{entry} {name}");
    }
}

#[test]
fn every_problem_of_several_sources_is_named() {
    let (entry, models) = ("/groups/0/entries/responses", "/groups/0/models");
    // (case, place, value, the problems)
    let cases: [(&str, String, Value, &[&str]); 14] = [
        (
            "no source",
            format!("{models}/0/source"),
            Value::Null,
            &[
                "groups[0].models[0].source: is missing: which source of entry responses; there are a, r",
            ],
        ),
        (
            "another source",
            format!("{models}/0/source"),
            json!("b"),
            &["groups[0].models[0].source: is no source of entry responses"],
        ),
        (
            "another source than the only one",
            format!("{models}/2/source"),
            json!("a"),
            &["groups[0].models[2].source: is no source of entry vb_messages"],
        ),
        (
            "a model of another source",
            format!("{models}/1/source"),
            json!("a"),
            &["groups[0].models[1].id: \"a\" has no model with this id"],
        ),
        (
            "one model at two sources",
            format!("{models}/3"),
            json!({"id": "gpt-x", "entry": "responses", "source": "r"}),
            &["groups[0].models[3].id: is listed twice"],
        ),
        (
            "an alias of another",
            format!("{models}/3"),
            json!({"id": "gpt", "entry": "responses", "source": "r"}),
            &[
                "groups[0].models[3].id: it or an alias means the same name as model \"gpt-x\" of \"a\"",
            ],
        ),
        (
            "under two entries",
            format!("{models}/3"),
            json!({"id": "deep", "entry": "vb_messages"}),
            &[
                "groups[0].models[3].id: is listed twice: under two entries it can stand where \"lists\" is \"by_protocol\"",
            ],
        ),
        (
            "a source twice",
            format!("{entry}/sources/2"),
            json!({"source": "a"}),
            &["groups[0].entries.responses.sources[2].source: is listed twice"],
        ),
        (
            "a source of another protocol, with its models",
            format!("{entry}/sources/1/source"),
            json!("b"),
            &[
                "groups[0].entries.responses.sources[1].source: \"b\" speaks protocol B, this entry needs A",
                "groups[0].models[1].source: is no source of entry responses",
            ],
        ),
        (
            "itself",
            format!("{entry}/sources/1/source"),
            json!("all"),
            &[
                "groups[0].entries.responses.sources[1].source: \"all\" is a Mixed group, which is no source",
                "groups[0].models[1].source: is no source of entry responses",
            ],
        ),
        (
            "beside one",
            format!("{entry}/source"),
            json!("a"),
            &[
                "groups[0].entries.responses.source: stands in each of sources, where there are sources",
            ],
        ),
        (
            "none",
            format!("{entry}/sources"),
            json!([]),
            &[
                "groups[0].entries.responses.sources: must have 1 to 64 sources",
                "groups[0].models[0].entry: this group has no usable entry responses",
                "groups[0].models[1].entry: this group has no usable entry responses",
            ],
        ),
        (
            "files at two of them",
            "/groups/0/entries/vc_generate_content".to_owned(),
            json!({"sources": [{"source": "c"}, {"source": "d"}]}),
            &[
                "groups[0].entries.vc_generate_content.sources[1]: has account_resources, as \"c\" has",
            ],
        ),
        (
            "other lists",
            "/groups/0/lists".to_owned(),
            json!("all"),
            &["groups[0].lists: must be \"whole\" or \"by_protocol\""],
        ),
    ];
    for (case, place, value, want) in cases {
        let mut document = several();
        put(&mut document, &place, value);
        let found = problems_of(&document);
        assert_eq!(found.len(), want.len(), "{case}: {found:#?}");
        for (found, want) in found.iter().zip(want) {
            assert!(found.starts_with(want), "{case}: {found}");
        }
    }
}

#[test]
fn a_model_has_two_entries_where_lists_are_by_protocol() {
    let mut document = several();
    put(
        &mut document,
        "/groups/0/models/3",
        json!({"id": "deep", "entry": "vb_messages"}),
    );
    put(&mut document, "/groups/0/lists", json!("by_protocol"));
    assert_eq!(compile_value(&document).unwrap().warnings, []);
    put(
        &mut document,
        "/groups/0/models/4",
        json!({"id": "deep", "entry": "vb_messages"}),
    );
    assert_eq!(
        problems_of(&document),
        ["groups[0].models[4].id: is listed twice"]
    );
}

#[test]
fn a_source_that_no_model_names_is_a_warning() {
    let mut document = several();
    put(
        &mut document,
        "/groups/0/models/1",
        json!({"id": "gpt-y", "entry": "responses", "source": "a"}),
    );
    let warnings = compile_value(&document).unwrap().warnings;
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["groups[0].entries.responses.sources[1]: no model of this group names \"r\""]
    );
}

#[test]
fn where_no_source_speaks_b_no_entry_for_it_is_missed() {
    let mut document = several();
    put(&mut document, "/groups/0/entries/vb_messages", Value::Null);
    document["groups"][0]["models"]
        .as_array_mut()
        .unwrap()
        .pop();
    let warnings = compile_value(&document).unwrap().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    document["groups"].as_array_mut().unwrap().remove(3);
    assert_eq!(compile_value(&document).unwrap().warnings, []);
}
