//! Generated bodies that are full of caps on the output, and of what looks like one: the greatest is found.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

#[path = "fuzz/checks.rs"]
mod checks;

use proptest::collection::vec;
use proptest::prelude::*;

/// A key with some of its characters escaped, in quotes.
fn key() -> impl Strategy<Value = String> {
    let known = vec![
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxOutputTokens",
        "generationConfig",
        "generation_config",
    ];
    let near = vec![
        "MAX_TOKENS",
        "Max_Output_Tokens",
        "maxoutputtokens",
        "GenerationConfig",
        "max_token",
        "max_completion_tokens_",
        "max_tokens\u{e9}",
        "contents",
        "",
    ];
    let name = prop_oneof![3 => prop::sample::select(known), 1 => prop::sample::select(near)];
    (name, vec(0..12u8, 1..24)).prop_map(|(name, choices)| {
        let escaped = name
            .chars()
            .zip(choices.iter().cycle())
            .map(|(character, choice)| match choice {
                0 => format!("\\u{:04x}", u32::from(character)),
                _ => character.to_string(),
            });
        format!("\"{}\"", escaped.collect::<String>())
    })
}

/// A value's text: mostly a number.
fn value() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0..100_000u64).prop_map(|cap| cap.to_string()),
        any::<u64>().prop_map(|cap| cap.to_string()),
        "[1-9][0-9]{17,21}",
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
    ];
    let other = vec!["null", "true", "\"5\"", "\"max_tokens\"", "[]", "{}"];
    let leaf = prop_oneof![
        5 => number,
        1 => prop::sample::select(other).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            3 => object(inner.clone()),
            1 => vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

/// An object's text, whose keys may come twice.
fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", "", "", " ", "\r\n"]);
    vec((key(), space, value), 0..6).prop_map(|members| {
        let members = members
            .iter()
            .map(|(key, space, value)| format!("{space}{key}{space}:{space}{value}{space}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    })
}

proptest! {
    #[test]
    fn the_greatest_cap_is_found_and_none_is_refused(body in object(value())) {
        // The comparison with `serde_json` is in these checks.
        let verdict = checks::json(body.as_bytes());
        prop_assert_eq!(verdict.result, Ok(()), "{}", body);
    }
}
