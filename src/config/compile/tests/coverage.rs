use super::*;

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
        let want = lacking.map(|lacking| format!("keys[0].limits.budget: {give} {lacking}"));
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
