use super::*;
use crate::body::SteeringSet;
use crate::money::Price;

#[test]
fn every_problem_of_source_groups_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
        (
            "usage option of another protocol",
            "/groups/2/include_usage",
            json!(true),
            "groups[2].include_usage: has a meaning in protocol A",
        ),
        (
            "no member that is refused",
            "/groups/2/passes",
            json!(["provider", "temperature"]),
            "groups[2].passes[1]: is no member that is refused (known: preset, plugins, provider, ",
        ),
        (
            "a member that is checked",
            "/groups/1/passes",
            json!(["models"]),
            "groups[1].passes[0]: is no member that is refused",
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
            "unknown field",
            "/groups/1/colour",
            json!("red"),
            "groups[1].colour: unknown field",
        ),
    ];
    each_is_named(cases);
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
fn members_that_pass() {
    let mut document = sample();
    put(
        &mut document,
        "/groups/1/passes",
        json!(["provider", "openrouter:*"]),
    );
    let compiled = compile_value(&document).unwrap();
    let passes = |group: usize| match &compiled.policy.groups()[group].kind {
        GroupKind::Source(source) => source.passes,
        GroupKind::Mixed(_) => panic!("a source"),
    };
    let mut want = SteeringSet::default();
    assert!(want.allow("provider") && want.allow("openrouter:*"));
    assert_eq!(passes(1), want);
    assert_eq!(
        passes(2),
        SteeringSet::default(),
        "none where none is named"
    );
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
