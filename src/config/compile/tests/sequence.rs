use super::*;
use crate::config::policy::Group;

/// Four sources of protocol A with accounts, a fifth whose cluster is written by hand, one of protocol B, and a Mixed group.
fn document() -> Value {
    let source = |id: &str, multiplier: &str, prices: Value| {
        json!({"id": id, "protocol": "A", "multiplier": multiplier,
            "accounts": [{"id": "x", "url": "https://h", "credential": id}],
            "models": [{"id": "m", "prices": prices}, {"id": "free", "free": true}]})
    };
    let mut unpriced = source("d", "1", json!({"input": "1"}));
    unpriced["models"] = json!([{"id": "m"}]);
    json!({
        "groups": [
            {"id": "all", "protocol": "Mixed",
             "entries": {"responses": {"sources": [
                {"source": "a"}, {"source": "b", "extra_multiplier": "0.5"}, {"source": "c"}, {"source": "d"}, {"source": "hand"}]}},
             "models": [{"id": "m", "entry": "responses", "sources": ["d", "a", "b", "c"]},
                        {"id": "own", "entry": "responses", "source": "hand"}]},
            source("a", "1", json!({"input": "10", "output": "20"})),
            source("b", "2", json!({"input": "9", "output": "20"})),
            source("c", "1", json!({"input": "10", "output": "19.5"})),
            unpriced,
            {"id": "hand", "protocol": "A", "multiplier": "1", "cluster": "hand", "models": [{"id": "own"}, {"id": "m"}]},
            {"id": "other", "protocol": "B", "multiplier": "1", "models": [],
             "accounts": [{"id": "x", "url": "https://h", "credential": "b"}]},
        ],
        "keys": []
    })
}

fn order_of(group: &Group) -> Vec<String> {
    let GroupKind::Mixed(mixed) = &group.kind else {
        panic!("Mixed");
    };
    let offers = mixed.offers(&mixed.models[0]);
    offers
        .map(|(offer, _)| offer.source.group.to_string())
        .collect()
}

#[test]
fn the_order_of_sources() {
    // (case, order, the field of a model, its value, the sources)
    type Case<'a> = (&'a str, Option<&'a str>, &'a str, Value, &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        (
            "as listed, unsaid",
            None,
            "/x",
            Value::Null,
            &["d", "a", "b", "c"],
        ),
        (
            "as listed",
            Some("listed"),
            "/x",
            Value::Null,
            &["d", "a", "b", "c"],
        ),
        (
            "the cheapest first",
            Some("cheapest"),
            "/x",
            Value::Null,
            &["b", "c", "a", "d"],
        ),
        (
            "what costs nothing goes first",
            Some("cheapest"),
            "/groups/4/models/0/free",
            json!(true),
            &["d", "b", "c", "a"],
        ),
        (
            "equals as they are listed",
            Some("cheapest"),
            "/groups/3/models/0/prices/output",
            json!("20"),
            &["b", "a", "c", "d"],
        ),
        (
            "one that may not use the model is left out",
            None,
            "/groups/1/models/0/entitled",
            json!(false),
            &["d", "b", "c"],
        ),
    ];
    for (case, order, place, value, want) in cases {
        let mut document = document();
        if let Some(order) = order {
            put(
                &mut document,
                "/groups/0/entries/responses/order",
                json!(order),
            );
        }
        if !value.is_null() {
            put(&mut document, place, value);
        }
        let compiled = compile_value(&document).unwrap();
        assert_eq!(order_of(&compiled.policy.groups()[0]), want, "{case}");
        let cluster = |id: &str| {
            let group = compiled.policy.group(id).unwrap();
            let GroupKind::Source(source) = &group.kind else {
                panic!("a source");
            };
            source.accounts.as_ref().unwrap().clusters[0].to_string()
        };
        assert_eq!(cluster("a"), "account/a/x", "{case}: in a sequence");
        assert_eq!(cluster("other"), "source/other", "{case}: alone");
    }
}

#[test]
fn the_fallback_of_a_group() {
    let mut document = document();
    put(&mut document, "/groups/1/fallback", json!(["c", "b"]));
    put(&mut document, "/groups/3/fallback", json!(["a"]));
    let compiled = compile_value(&document).unwrap();
    assert!(
        !compiled
            .warnings
            .iter()
            .any(|it| it.path.contains("fallback"))
    );
    let fallback = |at: usize| -> Vec<String> {
        let fallback = &compiled.policy.groups()[at].fallback;
        let shown = fallback
            .iter()
            .map(|it| format!("{} {}", it.source.group, it.multiplier));
        shown.collect()
    };
    assert_eq!(fallback(1), ["c 1.0000", "b 2.0000"]);
    assert_eq!(fallback(3), ["a 1.0000"]);
    assert!(fallback(2).is_empty());
    put(&mut document, "/groups/3/models", json!([{"id": "n"}]));
    put(
        &mut document,
        "/groups/0/models/0/sources",
        json!(["a", "b"]),
    );
    let compiled = compile_value(&document).unwrap();
    let warnings: Vec<String> = compiled.warnings.iter().map(ToString::to_string).collect();
    let never = |place: &str, id: &str| {
        format!("{place}: \"{id}\" has no model of this group, so it is never asked")
    };
    assert!(
        warnings.contains(&never("groups[1].fallback[0]", "c")),
        "{warnings:?}"
    );
    assert!(
        warnings.contains(&never("groups[3].fallback[0]", "a")),
        "{warnings:?}"
    );
}

#[test]
fn a_greatest_multiplier_is_none_of_its_own() {
    let mut document = document();
    let key = json!({"id": "k", "sha256": DIGEST, "group": "all", "max_multiplier": "1.5"});
    put(&mut document, "/keys", json!([key]));
    let compiled = compile_value(&document).unwrap();
    let access = compiled.keys[0].1.access.as_ref().unwrap();
    assert_eq!(access.multiplier, None);
    assert_eq!(access.max_multiplier.unwrap().to_string(), "1.5000");
    put(&mut document, "/keys/0/multiplier", json!("1"));
    assert_eq!(
        problems_of(&document),
        ["keys[0].max_multiplier: has no meaning beside multiplier, which holds for every source"]
    );
}

#[test]
fn every_problem_of_a_sequence_is_named() {
    let model = "groups[0].models[0]";
    let accounts = "has no accounts, without which no other source can be asked before or after it";
    // (case, place, value, the problem)
    let cases: [(&str, &str, Value, String); 16] = [
        (
            "twice",
            "/groups/0/models/0/sources",
            json!(["a", "b", "a"]),
            format!("{model}.sources[2]: is listed twice"),
        ),
        (
            "none",
            "/groups/0/models/0/sources",
            json!([]),
            format!("{model}.sources: is empty"),
        ),
        (
            "of no entry",
            "/groups/0/models/0/sources",
            json!(["a", "other"]),
            format!("{model}.sources[1]: is no source of entry responses; there are a, b"),
        ),
        (
            "without the model",
            "/groups/0/models/0/id",
            json!("free"),
            format!("{model}.sources[0]: \"d\" has no model \"free\""),
        ),
        (
            "by hand",
            "/groups/0/models/0/sources",
            json!(["a", "hand"]),
            format!("{model}.sources[1]: \"hand\" {accounts}"),
        ),
        (
            "both ways",
            "/groups/0/models/0/source",
            json!("a"),
            format!("{model}.source: cannot be there together with sources"),
        ),
        (
            "an order",
            "/groups/0/entries/responses/order",
            json!("best"),
            "groups[0].entries.responses.order: must be \"listed\" or \"cheapest\"".to_owned(),
        ),
        (
            "no fallback",
            "/groups/1/fallback",
            json!([]),
            "groups[1].fallback: must name 1 to 8 groups".to_owned(),
        ),
        (
            "an unknown fallback",
            "/groups/1/fallback",
            json!(["zzzz"]),
            "groups[1].fallback[0]: there is no group \"zzzz\"".to_owned(),
        ),
        (
            "itself",
            "/groups/1/fallback",
            json!(["a"]),
            "groups[1].fallback[0]: is the group itself".to_owned(),
        ),
        (
            "a fallback twice",
            "/groups/1/fallback",
            json!(["b", "b"]),
            "groups[1].fallback[1]: is listed twice".to_owned(),
        ),
        (
            "of another protocol",
            "/groups/1/fallback",
            json!(["other"]),
            "groups[1].fallback[0]: \"other\" speaks protocol B, this group A".to_owned(),
        ),
        (
            "a Mixed one",
            "/groups/1/fallback",
            json!(["all"]),
            "groups[1].fallback[0]: \"all\" is a Mixed group, which is no source".to_owned(),
        ),
        (
            "a fallback by hand",
            "/groups/1/fallback",
            json!(["hand"]),
            format!("groups[1].fallback[0]: \"hand\" {accounts}"),
        ),
        (
            "of one by hand",
            "/groups/5/fallback",
            json!(["a"]),
            format!("groups[5].fallback: \"hand\" {accounts}"),
        ),
        (
            "in a Mixed group",
            "/groups/0/fallback",
            json!(["a"]),
            "groups[0].fallback: belongs to the source groups".to_owned(),
        ),
    ];
    for (case, place, value, want) in cases {
        let mut document = document();
        put(&mut document, place, value);
        let found = problems_of(&document);
        assert!(
            found.iter().any(|it| it.starts_with(&want)),
            "{case}: {found:#?}"
        );
        let (most, free) = (1, case == "without the model");
        assert!(free || found.len() == most, "{case}: {found:#?}");
    }
}
