use super::*;

/// The problems and the warnings of a document.
fn findings_of(document: &Value) -> (Vec<String>, Vec<String>) {
    let texts = |found: Vec<Problem>| found.iter().map(ToString::to_string).collect();
    match compile_value(document) {
        Ok(compiled) => (vec![], texts(compiled.warnings)),
        Err(Problems(found)) => (texts(found), vec![]),
    }
}

#[test]
fn a_budget_takes_models_without_prices() {
    let budget = json!({"budget": {"per_day": "1"}});
    let rates = json!({"requests_per_minute": 1, "concurrent_requests": 1});
    let prices = json!({"input": "1", "output": "1"});
    let give = "give prices, or \"free\": true, to";
    let none = |whose: &str| format!("leaves {whose} no model, as none has a price: {give} ");
    let some = |whose: &str| format!("{whose} may not use models without a price: {give} ");
    let whose = |place: &str| match place {
        "/keys/0" => "the key \"key_01\"".to_owned(),
        "/groups/0" => "keys of the group \"mixed\"".to_owned(),
        _ => "keys of the group \"a\"".to_owned(),
    };
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
        let models = if *place == source { 1 } else { 2 };
        let is_left = lacking.matches(", ").count() + 1 < models;
        let want = match *lacking {
            "" => (vec![], vec![]),
            lacking if is_left => (
                vec![],
                vec![format!("{at}: {}{lacking}", some(&whose(place)))],
            ),
            lacking => (
                vec![format!("{at}: {}{lacking}", none(&whose(place)))],
                vec![],
            ),
        };
        assert_eq!(findings_of(&document), want, "{case}");
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
    let source_alone = format!(
        "groups[1].limits.budget: {}gpt-y",
        some(&whose("/groups/1"))
    );
    assert_eq!(
        findings_of(&document),
        (vec![], vec![source_alone]),
        "not shown"
    );
    // Nor does what the key itself may not use.
    let mut document = free_sample();
    put(&mut document, &format!("{key}/limits"), budget.clone());
    for model in ["/groups/1/models/0", "/groups/2/models/0"] {
        put(&mut document, &format!("{model}/free"), Value::Null);
    }
    put(&mut document, "/groups/1/models/0/prices", prices.clone());
    for (models, lacking) in [
        (json!(["gpt-x"]), None),
        (json!(["claude-x-4-5"]), Some("claude-x-4-5 (of b)")),
    ] {
        put(&mut document, &format!("{key}/models"), models);
        let none = none("the key \"key_01\"");
        let want = lacking.map(|lacking| format!("keys[0].limits.budget: {none}{lacking}"));
        assert_eq!(
            problems_of(&document),
            Vec::from_iter(want),
            "the key's own models"
        );
    }
    // Not every name of very many.
    let many: Vec<Value> = (0..12).map(|i| json!({"id": format!("m{i}")})).collect();
    for (count, more) in [(10, ""), (11, " and 1 more"), (12, " and 2 more")] {
        let mut document = sample();
        document["groups"][0] = json!({"id": "mixed", "protocol": "A", "multiplier": "1", "cluster": "c", "models": many[..count]});
        put(&mut document, "/keys/0/limits", budget.clone());
        let names = "m0, m1, m2, m3, m4, m5, m6, m7, m8, m9";
        let none = none("the key \"key_01\"");
        let want = format!("keys[0].limits.budget: {none}{names}{more}");
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
