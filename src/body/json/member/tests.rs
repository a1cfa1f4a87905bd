use crate::body::json::JsonScanner;
use crate::body::{BodyError, Field};

/// Reads a text however it is cut.
fn verdict<T: PartialEq + core::fmt::Debug>(
    name: &str,
    text: &str,
    tell: impl Fn(&JsonScanner) -> T,
) -> Result<T, BodyError> {
    let read = |chunks: &[&[u8]]| {
        let mut scanner = JsonScanner::new();
        for chunk in chunks {
            let _ = scanner.feed(chunk);
        }
        scanner.finish()?;
        Ok(tell(&scanner))
    };
    let want = read(&[text.as_bytes()]);
    for cut in 0..=text.len() {
        let (head, tail) = text.as_bytes().split_at(cut);
        assert_eq!(read(&[head, tail]), want, "{name}, cut at {cut}");
    }
    want
}

#[test]
fn a_field_has_its_one_type_or_is_null() {
    const VALUES: [&str; 13] = [
        "null",
        "true",
        "false",
        "0",
        "12",
        "-1",
        "1.0",
        "1e1",
        r#""""#,
        r#""true""#,
        r#""2""#,
        "[]",
        r#"{"a":1}"#,
    ];
    let flag = &["null", "true", "false"][..];
    let word = &["null", r#""""#, r#""true""#, r#""2""#][..];
    let integer = &["null", "0", "12"][..];
    let shown = [flag, &word[1..]].concat();
    let cases = [
        (Field::Stream, r#"{"a":1,"stream": V }"#, flag),
        (
            Field::IncludeUsage,
            r#"{"stream_options":{"include_usage":V}}"#,
            flag,
        ),
        // That of an image is a string, which only whoever knows the endpoint can refuse.
        (Field::Background, r#"{"background":V,"b":2}"#, &shown),
        (Field::ServiceTier, r#"{"service_tier":V}"#, word),
        (Field::ServiceTier, r#"{"serviceTier":V}"#, word),
        (Field::Speed, r#"{"speed":V}"#, word),
        (Field::InferenceGeo, r#"{"inference_geo":V}"#, word),
        (Field::N, r#"{"n":V}"#, integer),
        (Field::N, "{\"n\": V\n}", integer),
        (
            Field::CandidateCount,
            r#"{"generationConfig":{"candidateCount":V}}"#,
            integer,
        ),
        (
            Field::CandidateCount,
            r#"{"generation_config":{"candidate_count":V ,"a":[]}}"#,
            integer,
        ),
        (
            Field::StreamOptions,
            r#"{"stream_options":V}"#,
            &["null", r#"{"a":1}"#],
        ),
    ];
    for (field, text, good) in cases {
        for value in VALUES {
            let text = text.replace('V', value);
            let want = if good.contains(&value) {
                Ok(())
            } else {
                Err(BodyError::WrongType(field))
            };
            assert_eq!(verdict(&text, &text, |_| ()), want, "{text}");
        }
    }
}

#[test]
fn a_field_comes_once_and_as_it_is() {
    let cases = [
        (
            Field::Background,
            r#"{"background":false,"background":false}"#,
        ),
        (
            Field::Background,
            r#"{"background":null,"b\u0061ckground":true}"#,
        ),
        (
            Field::ServiceTier,
            r#"{"service_tier":"a","service_tier":null}"#,
        ),
        (
            Field::ServiceTier,
            r#"{"serviceTier":"a","service_tier":"a"}"#,
        ),
        (
            Field::Speed,
            r#"{"speed":"fast","a":{"speed":1},"spe\u0065d":"fast"}"#,
        ),
        (
            Field::InferenceGeo,
            r#"{"inference_geo":"us","inference_ge\u006f":"us"}"#,
        ),
        (Field::N, r#"{"n":1,"n":1}"#),
        (
            Field::CandidateCount,
            r#"{"generationConfig":{"candidateCount":1,"candidate_count":1}}"#,
        ),
        (
            Field::CandidateCount,
            r#"{"generationConfig":{"candidateCount":1},"generation_config":{"candidateCount":1}}"#,
        ),
    ];
    for (field, text) in cases {
        assert_eq!(
            verdict(text, text, |_| ()),
            Err(BodyError::Duplicate(field)),
            "{text}"
        );
    }
    for text in [
        r#"{"Background":true}"#,
        r#"{"bac\u212aground":true}"#,
        r#"{"SERVICE_TIER":"flex"}"#,
        r#"{"servicetier":"flex"}"#,
        r#"{"\u017fpeed":"fast"}"#,
        r#"{"N":2}"#,
        r#"{"generationConfig":{"CandidateCount":2}}"#,
    ] {
        assert_eq!(
            verdict(text, text, |_| ()),
            Err(BodyError::CaseVariant),
            "{text}"
        );
    }
    for text in [
        r#"{"a":{"n":"x","speed":1,"N":[]},"generationConfig":{"n":{},"Background":1},"CandidateCount":"x"}"#,
        r#"{"tools":[{"speed":1,"background":"x","stream":2}],"metadata":{"service_tier":[]}}"#,
    ] {
        assert_eq!(verdict(text, text, |_| ()), Ok(()), "{text}");
    }
}

#[test]
fn how_many_outputs() {
    for (text, want) in [
        ("{}", None),
        (r#"{"n":3}"#, Some(3)),
        (r#"{"n":null}"#, None),
        (
            r#"{"n":2,"max_tokens":9,"generationConfig":{"maxOutputTokens":8,"candidateCount":4}}"#,
            Some(4),
        ),
        (
            r#"{"n":5,"generationConfig":{"candidateCount":4}}"#,
            Some(5),
        ),
        (r#"{"n":99999999999999999999}"#, Some(u64::MAX)),
    ] {
        assert_eq!(
            verdict(text, text, JsonScanner::candidates),
            Ok(want),
            "{text}"
        );
    }
}

#[test]
fn tiers_and_speeds() {
    let long = "x".repeat(40);
    let texts = |scanner: &JsonScanner| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        (own(scanner.service_tier()), own(scanner.speed()))
    };
    let with_long = format!(r#"{{"service_tier":"{long}"}}"#);
    for (text, tier, speed) in [
        ("{}", None, None),
        (r#"{"service_tier":"priority"}"#, Some("priority"), None),
        (
            r#"{"serviceTier":"fl\u0065x","speed":"fast"}"#,
            Some("flex"),
            Some("fast"),
        ),
        (r#"{"service_tier":null,"speed":null}"#, None, None),
        (
            r#"{"service_tier":"","speed":"\u00e9"}"#,
            Some(""),
            Some("\u{e9}"),
        ),
        (r#"{"speed":"a\ud83d"}"#, None, Some("a\u{fffd}")),
        (&with_long, Some(&long[..32]), None),
        (
            r#"{"fallbacks":[{"model":"a","speed":"fast"}]}"#,
            None,
            Some("fast"),
        ),
        (
            r#"{"speed":"standard","fallbacks":[{"model":"a","speed":"fast"},{"model":"b","speed":"standard"}]}"#,
            None,
            Some("fast"),
        ),
        (
            r#"{"fallbacks":[{"model":"a","speed":"fast"},{"model":"b","speed":null}],"speed":"standard"}"#,
            None,
            Some("fast"),
        ),
        (
            r#"{"fallbacks":[{"model":"b","speed":"standard"}],"speed":"fast"}"#,
            None,
            Some("fast"),
        ),
        (r#"{"a":{"service_tier":"x","speed":"y"}}"#, None, None),
    ] {
        let want = (tier.map(str::to_owned), speed.map(str::to_owned));
        assert_eq!(verdict(text, text, texts), Ok(want), "{text}");
    }
}

#[test]
fn the_background() {
    for (text, background, string) in [
        ("{}", None, false),
        (r#"{"background":true}"#, Some(true), false),
        (r#"{"background":false}"#, Some(false), false),
        (r#"{"background":null}"#, Some(false), false),
        (r#"{"background":"transparent"}"#, None, true),
        (r#"{"a":{"background":true}}"#, None, false),
    ] {
        let tell = |scanner: &JsonScanner| (scanner.background(), scanner.background_text());
        assert_eq!(
            verdict(text, text, tell),
            Ok((background, string)),
            "{text}"
        );
    }
}
