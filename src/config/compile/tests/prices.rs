use super::*;
use crate::money::Price;

#[test]
fn a_wrong_price_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
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
    ];
    each_is_named(cases);
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
    let shown = |price: Option<Price>| price.unwrap().value().to_string();
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
    let above = |sets: Value| json!({"input": "1", "output": "1", "above": sets});
    let of_length = "belongs to the prices of the model, not to those of a length of the input";
    let timed = |time: Value| json!({"input": "1", "output": "1", "times": [time]});
    let a_day = "must be a day such as \"2026-12-01\"";
    let days =
        "must be a list of days: \"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"";
    let hours = "must be a list of 1 to 8 parts of a day such as \"16:30-00:30\"";
    let deep = |within: Value| json!({"input": "1", "output": "1", "tiers": {"us": within}});
    let many: Vec<Value> = (1..=9)
        .map(|tokens| json!({"input_tokens": tokens, "prices": set}))
        .collect();
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
            json!({"image": "1", "per_request": {"web_search": "x"}}),
            ".per_request.web_search",
            plain,
        ),
        (
            tier(
                "flex",
                json!({"input": "1", "output": "1", "per_request": {}}),
            ),
            ".tiers.flex.per_request",
            of_model,
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
            tier("flex", deep(deep(deep(set.clone())))),
            ".tiers.flex.tiers.us.tiers.us.tiers",
            "is too deep: a speed, a class of service and a place are three",
        ),
        (
            tier("flex", deep(json!({"input": "x", "output": "1"}))),
            ".tiers.flex.tiers.us.input",
            plain,
        ),
        (tier("global", set.clone()), ".tiers.global", ordinary),
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
        (
            above(json!([{"prices": set}])),
            ".above[0].input_tokens",
            "is missing",
        ),
        (
            above(json!([{"input_tokens": 5}])),
            ".above[0].prices",
            "is missing",
        ),
        (
            above(json!([{"input_tokens": 0, "prices": set}])),
            ".above[0].input_tokens",
            "must be at least 1",
        ),
        (
            above(json!([{"input_tokens": 5, "prices": set}, {"input_tokens": 5, "prices": set}])),
            ".above[1].input_tokens",
            "is the length of others before it",
        ),
        (
            above(json!([{"input_tokens": "5", "prices": set}])),
            ".above[0].input_tokens",
            "must be a whole number from 0 to 18446744073709551615",
        ),
        (
            above(json!([{"input_tokens": 5, "prices": {"input": "x", "output": "1"}}])),
            ".above[0].prices.input",
            plain,
        ),
        (
            above(json!([{"input_tokens": 5, "prices": {"cache_read": "1"}}])),
            ".above[0].prices",
            incomplete,
        ),
        (
            above(
                json!([{"input_tokens": 5, "prices": {"input": "1", "output": "1", "tiers": {}}}]),
            ),
            ".above[0].prices.tiers",
            of_length,
        ),
        (
            above(
                json!([{"input_tokens": 5, "prices": {"input": "1", "output": "1", "above": []}}]),
            ),
            ".above[0].prices.above",
            of_length,
        ),
        (
            tier(
                "flex",
                json!({"input": "1", "output": "1", "above": [{"input_tokens": 5, "prices": {"input": "1", "output": "1", "per_call": {}}}]}),
            ),
            ".tiers.flex.above[0].prices.per_call",
            of_length,
        ),
        (above(json!(many)), ".above", "must be 8 at most"),
        (
            timed(json!({"prices": set})),
            ".times[0]",
            "needs from, days or hours: prices that always hold are those of the model",
        ),
        (
            timed(json!({"from": "2026-12-01"})),
            ".times[0].prices",
            "is missing",
        ),
        (
            timed(json!({"from": "2026-12", "prices": set})),
            ".times[0].from",
            a_day,
        ),
        (
            timed(json!({"from": "2026-02-30", "prices": set})),
            ".times[0].from",
            a_day,
        ),
        (
            timed(json!({"days": [], "prices": set})),
            ".times[0].days",
            days,
        ),
        (
            timed(json!({"days": ["Mon"], "prices": set})),
            ".times[0].days",
            days,
        ),
        (
            timed(json!({"hours": [], "prices": set})),
            ".times[0].hours",
            hours,
        ),
        (
            timed(json!({"hours": ["16:30"], "prices": set})),
            ".times[0].hours",
            hours,
        ),
        (
            timed(json!({"hours": vec!["01:00-02:00"; 9], "prices": set})),
            ".times[0].hours",
            hours,
        ),
        (
            timed(json!({"hours": ["01:00-02:00"], "at": "now", "prices": set})),
            ".times[0].at",
            "must be \"start\" or \"end\"",
        ),
        (
            timed(
                json!({"from": "2026-12-01", "prices": {"input": "1", "output": "1", "times": []}}),
            ),
            ".times[0].prices.times",
            "belongs to the prices of the model, not to those of a time",
        ),
        (
            timed(
                json!({"from": "2026-12-01", "prices": {"input": "1", "output": "1", "per_call": {"web_search": "x"}}}),
            ),
            ".times[0].prices.per_call.web_search",
            plain,
        ),
        (
            tier("flex", json!({"input": "1", "output": "1", "times": []})),
            ".tiers.flex.times",
            of_model,
        ),
        (
            json!({"input": "1", "output": "1", "times": vec![json!({"from": "2026-12-01", "prices": set}); 9]}),
            ".times",
            "must be 8 at most",
        ),
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
fn a_price_of_a_variant_that_seems_forgotten_is_a_warning() {
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
        (
            json!({"input": "1", "output": "1", "cache_read": "0.1",
                "tiers": {"fast": {"input": "2", "output": "2"}}}),
            vec![format!(
                "{at}.tiers.fast: has no price for cache_read: it costs what input costs at this class of service"
            )],
        ),
        (
            json!({"input": "1", "output": "1", "cache_read": "0.1", "above": [
                {"input_tokens": 9, "prices": {"input": "2"}},
                {"input_tokens": 99, "prices": {"input": "2", "output": "2", "cache_read": "0.2"}}]}),
            vec![
                format!(
                    "{at}.above[0].prices: has no price for cache_read: it costs what input costs above this length"
                ),
                format!(
                    "{at}.above[0].prices: has no price for output: it is free above this length"
                ),
            ],
        ),
        (
            json!({"input": "1", "output": "1", "cache_read": "0.1", "above": [{"input_tokens": 9, "prices": {"input": "2", "output": "2", "cache_read": "1"}}],
                "tiers": {"fast": {"input": "2", "output": "2", "cache_read": "1", "above": [{"input_tokens": 9, "prices": {"input": "2", "output": "2", "cache_read": "1"}}]}},
                "times": [{"from": "2026-12-01", "prices": {"input": "2", "output": "2"}}]}),
            vec![
                format!(
                    "{at}.times[0].prices: has no price for cache_read: it costs what input costs at this time"
                ),
                format!(
                    "{at}.times[0].prices: has no prices above 9 input tokens, as the model has: these hold at that length too"
                ),
                format!(
                    "{at}.times[0].prices: has no prices for fast, as the model has: requests that ask for it by name are refused"
                ),
            ],
        ),
        (
            json!({"input": "1", "output": "1", "above": [{"input_tokens": 9, "prices": {"input": "2", "output": "2"}}],
            "tiers": {
                "fast": {"input": "2", "output": "2"},
                "flex": {"input": "2", "output": "2", "above": [{"input_tokens": 9, "prices": {"input": "2", "output": "2"}}]}
            }}),
            vec![format!(
                "{at}.tiers.fast: has no prices above 9 input tokens, as the model has: these hold at that length too"
            )],
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
