//! Generated bodies that are full of what decides the cost of a request, and of what looks like it.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used
)]

#[path = "fuzz/checks.rs"]
mod checks;

use proptest::collection::vec;
use proptest::prelude::*;

/// A key as it stands, with some of its characters escaped.
fn key() -> impl Strategy<Value = String> {
    let known = vec![
        "messages",
        "input",
        "contents",
        "content",
        "tools",
        "tool",
        "definition",
        "fallbacks",
        "models",
        "fallback_models",
        "safety_model",
        "provider",
        "requests",
        "generateContentRequest",
        "generationConfig",
        "svg",
        "moderation",
        "model",
        "type",
        "speed",
        "service_tier",
        "serviceTier",
        "n",
        "candidateCount",
        "candidate_count",
        "background",
        "stream",
        "stream_options",
        "include_usage",
        "max_tokens",
        "routingConfig",
    ];
    let parts = vec![
        "image_url",
        "url",
        "data",
        "file_data",
        "file_url",
        "fileUri",
        "file_id",
        "result",
        "source",
        "input_audio",
        "inlineData",
        "args",
        "response",
        "parameters",
        "role",
        "text",
        "parts",
    ];
    let near = vec![
        "Model",
        "TOOLS",
        "Type",
        "Args",
        "N",
        "bac\u{212a}ground",
        "speed_",
        "data\u{e9}",
        "",
        "a\\\\b",
        "a_key_that_is_longer_than_all_that_are_kept",
    ];
    let name = prop_oneof![
        6 => prop::sample::select(known),
        6 => prop::sample::select(parts),
        1 => prop::sample::select(near),
    ];
    (name, vec(0..40u8, 1..24)).prop_map(|(name, choices)| {
        let escaped = name
            .chars()
            .zip(choices.iter().cycle())
            .map(|(character, choice)| match choice {
                0 if character != '\\' => format!("\\u{:04x}", u32::from(character)),
                _ => character.to_string(),
            });
        format!("\"{}\"", escaped.collect::<String>())
    })
}

/// A string's text: words, addresses, and base64 that is just a part, or just not.
fn string() -> impl Strategy<Value = String> {
    let word = vec![
        "",
        "m1",
        "image_generation",
        "advisor_20260301",
        "standard",
        "fast",
        "https://h/p",
        r"https:\/\/h",
        "gs://b",
        "\\u00e9\\ud83d\\ude00",
        "\u{20ac}",
        "\\n",
        "data:image/png;base64,AAAA",
        "a\\ud83d",
        "priority_that_is_longer_than_any_tier",
    ];
    let start = vec![
        "",
        "iVBORw0KGgo",
        "JVBERi0x",
        "UklGRiIAAABXQVZF",
        "data:image/png;base64,",
        "data:audio/wav;base64,",
        "data:text/plain;base64,",
        "data:application/pdf;base64,",
        r"data:image\/jpeg;base64,\/9j\/",
    ];
    let end = vec!["", "", "", "=", "!", " ", "\\n", r"\/", "\\u002f", "\u{e9}"];
    let base64 = (
        prop::sample::select(start),
        prop_oneof![Just(900..1100usize), Just(100..200usize)].prop_flat_map(|range| range),
        prop::sample::select(end),
        0..3usize,
    );
    let base64 = base64.prop_map(|(start, len, end, more)| {
        format!(
            "{start}{}{end}{}",
            "aB9+/-_x".repeat(len / 8),
            "A".repeat(more * 70)
        )
    });
    prop_oneof![
        3 => prop::sample::select(word).prop_map(str::to_owned),
        2 => base64,
    ]
    .prop_map(|text| format!("\"{text}\""))
}

/// A value's text.
fn value() -> impl Strategy<Value = String> {
    let plain = vec![
        "null",
        "true",
        "false",
        "0",
        "3",
        "99999999999999999999",
        "-1",
        "1.0",
        "1e3",
    ];
    let leaf = prop_oneof![
        3 => string(),
        2 => prop::sample::select(plain).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(6, 24, 4, |inner| {
        prop_oneof![
            3 => object(inner.clone()),
            2 => vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

/// An object's text, whose keys may come twice.
fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", "", "", " ", "\r\n"]);
    vec((key(), space, value), 0..5).prop_map(|members| {
        let members = members
            .iter()
            .map(|(key, space, value)| format!("{space}{key}{space}:{space}{value}{space}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    })
}

/// A body in which what matters stands where it does, with some of it changed.
fn body() -> impl Strategy<Value = String> {
    let shapes = vec![
        r#"{"tools":[{"type":VALUE,"model":VALUE,"svg":{"model":VALUE},"tools":[VALUE]},VALUE],"n":3}"#,
        r#"{"messages":[{"content":[{"source":{"data":PART}},{"image_url":{"url":PART}},{"input":VALUE}]}]}"#,
        r#"{"messages":[{"content":[{"tool":{"definition":{"model":PART,"x":VALUE}}}]},VALUE],"speed":"fast"}"#,
        r#"{"input":[{"content":[{"image_url":PART,"file_data":PART,"file_id":PART}],"tools":[VALUE]},{"result":PART}]}"#,
        r#"{"contents":[{"parts":[{"inlineData":{"data":PART}},{"fileData":{"fileUri":PART}},{"functionCall":{"args":VALUE}},VALUE]}]}"#,
        r#"{"requests":[{"model":VALUE,"content":VALUE}],"generationConfig":{"candidateCount":VALUE}}"#,
        r#"{"fallbacks":[{"model":VALUE,"speed":VALUE}],"service_tier":VALUE,"background":VALUE}"#,
        r#"{"fallbacks":[PART,{"model":PART,"x":VALUE},VALUE],"models":[PART],"safety_model":VALUE}"#,
    ];
    let values = (vec(value(), 1..6), vec(string(), 1..6));
    (prop::sample::select(shapes), values).prop_map(|(shape, (values, parts))| {
        let mut pieces = shape.split("PART");
        let first = pieces.next().unwrap().to_owned();
        let shape = pieces
            .zip(parts.iter().cycle())
            .fold(first, |body, (piece, part)| body + part + piece);
        let mut pieces = shape.split("VALUE");
        let first = pieces.next().unwrap().to_owned();
        pieces
            .zip(values.iter().cycle())
            .fold(first, |body, (piece, value)| body + value + piece)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_asked_is_found_in_known_places(body in body()) {
        // The comparison with a plain reading is in these checks.
        checks::json(body.as_bytes());
    }

    #[test]
    fn what_is_asked_is_found_in_any_place(body in object(value())) {
        checks::json(body.as_bytes());
    }
}
