use super::*;
use crate::body::Field;
use crate::body::json::JsonScanner;

/// Returns the other models and image tools of a text, which must not depend on how it is cut.
fn verdict(name: &str, text: &str) -> Result<(Vec<(String, ModelRole)>, bool), BodyError> {
    let read = |chunks: &[&[u8]]| {
        let mut scanner = JsonScanner::new();
        let mut others = Vec::new();
        for chunk in chunks {
            let _ = scanner.feed(chunk);
            others.extend(scanner.take_others());
        }
        scanner.finish()?;
        let others = others.into_iter().map(|other| {
            let span = other.found.span.start as usize..other.found.span.end as usize;
            let name = serde_json::from_str::<String>(&text[span]).unwrap();
            assert_eq!(name, other.found.name, "the span is the literal");
            (name, other.role)
        });
        Ok((others.collect(), scanner.image_tool()))
    };
    let want = read(&[text.as_bytes()]);
    for cut in 0..=text.len() {
        let (head, tail) = text.as_bytes().split_at(cut);
        assert_eq!(read(&[head, tail]), want, "{name}, cut at {cut}");
    }
    let bytes: Vec<_> = text.as_bytes().chunks(1).collect();
    assert_eq!(read(&bytes), want, "{name}, byte by byte");
    want
}

#[test]
fn models_are_found_where_they_may_run() {
    #[rustfmt::skip]
    let cases: &[(&str, &str, &[&str], bool)] = &[
        ("no tools", r#"{"model":"m"}"#, &[], false),
        ("a function", r#"{"tools":[{"type":"function","function":{"name":"f","model":"x"}}]}"#, &[], false),
        ("a schema", r#"{"tools":[{"name":"f","input_schema":{"model":"x","properties":{"model":{"type":"string"}}}}]}"#,
            &[], false),
        ("protocol C", r#"{"tools":[{"functionDeclarations":[{"name":"model","model":"x"}]}]}"#, &[], false),
        ("advisor", r#"{"tools":[{"type":"advisor_20260301","name":"advisor","model":"a"}]}"#, &["a"], false),
        ("model first", r#"{"tools":[{"model":"a","type":"advisor_20260301"}]}"#, &["a"], false),
        ("with spaces", "{ \"tools\" : [ { \"model\" : \"a\" } , { \"x\" : { } , \"model\" : \"b\" } ] }", &["a", "b"], false),
        ("behind text", r#"{"tools":["x","y",{"model":"a"}]}"#, &["a"], false),
        ("behind others", r#"{"tools":[{"a":{"b":[{}]},"c":["d"],"model":"a"},{"model":"b"}],"c":[{"model":"x"}]}"#,
            &["a", "b"], false),
        ("escaped", r#"{"t\u006fols":[{"mod\u0065l":"\u0061"}]}"#, &["a"], false),
        ("in capitals", r#"{"Tools":[{"MODEL":"a"}]}"#, &["a"], false),
        ("twice in one", r#"{"tools":[{"model":"a","model":"b"}]}"#, &["a", "b"], false),
        ("tools twice", r#"{"tools":[{"model":"a"}],"tools":[{"model":"b"}]}"#, &["a", "b"], false),
        ("tools an object", r#"{"tools":{"model":"a"}}"#, &["a"], false),
        ("null", r#"{"tools":[{"model":null}]}"#, &[], false),
        ("namespace", r#"{"tools":[{"type":"namespace","tools":[{"model":"a"}]}]}"#, &["a"], false),
        ("image", r#"{"tools":[{"type":"image_generation"}]}"#, &[], true),
        ("image with a model", r#"{"tools":[{"model":"a","type":"image_generation","size":"auto"}]}"#, &["a"], true),
        ("image, escaped", r#"{"tools":[{"ty\u0070e":"im\u0061ge_generation"}]}"#, &[], true),
        ("image, type twice", r#"{"tools":[{"type":"image_generation","type":"function"}]}"#, &[], true),
        ("image in capitals", r#"{"tools":[{"type":"Image_Generation"}]}"#, &[], true),
        ("a later one", r#"{"tools":[{"type":"image_generation_20990101_with_a_name_that_is_long"}]}"#, &[], true),
        ("almost an image", r#"{"tools":[{"type":"image_generatio"},{"type":"ximage_generation"}]}"#, &[], false),
        ("an image's type elsewhere", r#"{"type":"image_generation","tools":[{"x":{"type":"image_generation"}}]}"#, &[], false),
        ("the author of an SVG", r#"{"tools":[{"type":"image_generation","svg":{"model":"a"}}]}"#, &["a"], true),
        ("the author of an image", r#"{"svg":{"model":"a"}}"#, &["a"], false),
        ("moderation", r#"{"moderation":{"model":"a","policy":{"model":"x"}}}"#, &["a"], false),
        ("moderation of images", r#"{"moderation":"low"}"#, &[], false),
        ("tools in the input", r#"{"input":[{"type":"additional_tools","tools":[{"type":"image_generation","model":"a"}]}]}"#,
            &["a"], true),
        ("a call in the input", r#"{"input":[{"type":"image_generation_call","result":"x"},{"content":[{"model":"x"}]}]}"#,
            &[], false),
        ("a tool in a message",
            r#"{"messages":[{"role":"system","content":[{"type":"text","text":"x"},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"advisor_20260301","model":"a"}}}]}]}"#,
            &["a"], false),
        ("arguments in a message",
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"model":"x","tools":[{"model":"y"}]}}]}]}"#,
            &[], false),
        ("a tool of the input, escaped", r#"{"input":[{"t\u006fols":[{"model":"a"}],"x":{"model":"x"}}]}"#, &["a"], false),
        ("a tool of the input, in capitals", r#"{"Input":[{"Tools":[{"model":"a"}]}]}"#, &["a"], false),
        ("a key of the input in another script", "{\"input\":[{\"\u{e9}\":[{\"model\":\"a\"}]}]}", &["a"], false),
        ("two tools in one message", r#"{"messages":[{"content":[{"tool":{"definition":{"model":"a"},"x":{"model":"x"}}},{"tool":{"definition":{"model":"b","x":{"model":"x"}}}}],"model":"x"}],"model":"m"}"#,
            &["a", "b"], false),
        ("the schema of a tool in a message", r#"{"messages":[{"content":[{"tool":{"definition":{"input_schema":{"model":"x","tools":[{"model":"y"}]}}}}]}]}"#,
            &[], false),
        ("a tool in a function's answer", r#"{"contents":[{"parts":[{"functionResponse":{"response":{"tools":[{"model":"x"}]}}}]}]}"#, &[], false),
        ("fallbacks", r#"{"fallbacks":[{"model":"a"},{"max_tokens":5,"model":"b"}]}"#, &["a", "b"], false),
        ("null for fallbacks", r#"{"fallbacks":null}"#, &[], false),
        ("names of fallbacks", r#"{"fallbacks":["a", "b" ,{"model":"c"},"d"],"x":["y"]}"#, &["a", "b", "c", "d"], false),
        ("a name of a fallback, escaped", r#"{"f\u0061llbacks":["\u0061"]}"#, &["a"], false),
        ("none", r#"{"fallbacks":[],"models":[ ]}"#, &[], false),
        ("models", r#"{"models":["a","b"]}"#, &["a", "b"], false),
        ("models in another case", r#"{"MODELS":["a"],"fallbackModels":["b"]}"#, &["a", "b"], false),
        ("models of a message", r#"{"messages":[{"models":["x"],"fallbacks":[{"model":"x"}]}]}"#, &[], false),
        ("messages of a fallback", r#"{"fallbacks":[{"model":"a","messages":[{"content":"x","models":["y"]}]},"b"]}"#, &["a", "b"], false),
        ("a model alone", r#"{"safety_model":"a","draftModel":"b","fallback_model":null}"#, &["a", "b"], false),
    ];
    for (name, text, models, image) in cases {
        let models = models
            .iter()
            .map(|name| ((*name).to_owned(), ModelRole::Runs));
        assert_eq!(
            verdict(name, text),
            Ok((models.collect(), *image)),
            "{name}"
        );
    }
}

#[test]
fn members_that_choose_elsewhere() {
    let passes = SteeringSet::default();
    #[rustfmt::skip]
    let cases = [
        ("none", r#"{"model":"m","messages":[{"provider":"x","extra_body":{}}],"x":{"route":1}}"#, None),
        ("one", r#"{"provider":{"order":["x"]}}"#, Some("provider")),
        ("null", r#"{"provider":null,"route":null}"#, None),
        ("null, then not", r#"{"provider":null,"provider":1}"#, Some("provider")),
        ("not, then null", r#"{"provider":false,"provider":null}"#, Some("provider")),
        ("empty", r#"{"transforms":[]}"#, Some("transforms")),
        ("escaped", r#"{"pr\u006fvider":{}}"#, Some("provider")),
        ("camel case", r#"{"providerOptions":{"gateway":{"models":["x"]}}}"#, Some("provider_options")),
        ("in capitals", r#"{"EXTRA_BODY":{"models":["x"]}}"#, Some("extra_body")),
        ("the first of the table", r#"{"route":"fallback","provider":{}}"#, Some("provider")),
        ("of a fallback", r#"{"fallbacks":[{"model":"a","api_base":"x"}]}"#, Some("api_base")),
        ("a tool", r#"{"tools":[{"type":"openrouter:advisor","parameters":{"model":"x"}}]}"#, Some("openrouter:*")),
        ("a tool, escaped", r#"{"tools":[{"type":"openrouter\u003aadvisor"}]}"#, Some("openrouter:*")),
        ("a tool's own members", r#"{"tools":[{"type":"function","provider":"x"}]}"#, None),
        ("a long name", r#"{"mock_testing_context_fallbacks_of_all":true}"#, Some("mock_*")),
    ];
    for (name, text, want) in cases {
        for cut in 0..=text.len() {
            let mut scanner = JsonScanner::new();
            let (head, tail) = text.as_bytes().split_at(cut);
            scanner.feed(head).unwrap();
            scanner.feed(tail).unwrap();
            scanner.finish().unwrap();
            let got = scanner.steering().first_outside(passes);
            assert_eq!(got.map(|member| member.name), want, "{name}, cut at {cut}");
        }
    }
}

#[test]
fn image_tools_without_a_model() {
    #[rustfmt::skip]
    let cases = [
        ("none", r#"{"tools":[{"type":"function"}]}"#, false),
        ("without", r#"{"tools":[{"type":"image_generation"}]}"#, true),
        ("null", r#"{"tools":[{"model":null,"type":"image_generation"}]}"#, true),
        ("with", r#"{"tools":[{"type":"image_generation","model":"a"}]}"#, false),
        ("with, before", r#"{"tools":[{"model":"a","type":"image_generation"}]}"#, false),
        ("the model of its SVG", r#"{"tools":[{"type":"image_generation","svg":{"model":"a"}}]}"#, true),
        ("the model of another", r#"{"tools":[{"type":"x","model":"a"},{"type":"image_generation"}]}"#, true),
        ("one of two", r#"{"tools":[{"type":"image_generation","model":"a"},{"type":"image_generation"}]}"#, true),
        ("in a namespace", r#"{"tools":[{"type":"namespace","model":"a","tools":[{"type":"image_generation"}]}]}"#, true),
        ("in a namespace, with", r#"{"tools":[{"tools":[{"type":"image_generation","model":"a"}],"type":"namespace"}]}"#, false),
        ("of the input", r#"{"input":[{"tools":[{"type":"image_generation"}]}]}"#, true),
    ];
    for (name, text, want) in cases {
        for cut in 0..=text.len() {
            let mut scanner = JsonScanner::new();
            let (head, tail) = text.as_bytes().split_at(cut);
            scanner.feed(head).unwrap();
            scanner.feed(tail).unwrap();
            assert_eq!(scanner.image_tool_unnamed(), want, "{name}, cut at {cut}");
        }
    }
}

#[test]
fn the_paths_model_is_found_once_more() {
    for text in [
        r#"{"requests":[{"model":"models/a","content":{"model":"x"}},{"content":{},"model":"b"}]}"#,
        r#"{"generateContentRequest":{"model":"models/a"},"generate_content_request":{"model":"b"}}"#,
    ] {
        let want = ["models/a", "b"].map(|name| (name.to_owned(), ModelRole::OfPath));
        assert_eq!(verdict(text, text), Ok((want.to_vec(), false)), "{text}");
    }
}

#[test]
fn refuses() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(9), close.repeat(9));
    let namespaces = format!(r#"{{"tools":{}}}"#, deep(r#"[{"tools":"#, "}]"));
    let namespaces = namespaces.replace(":}", ":[]}");
    #[rustfmt::skip]
    let cases: &[(&str, &str, BodyError)] = &[
        ("a number", r#"{"tools":[{"model":1}]}"#, BodyError::WrongType(Field::NestedModel)),
        ("an object", r#"{"tools":[{"model":{"id":"a"}}]}"#, BodyError::WrongType(Field::NestedModel)),
        ("empty", r#"{"fallbacks":[{"model":""}]}"#, BodyError::ModelEmpty),
        ("control character", r#"{"tools":[{"model":"a\n"}]}"#, BodyError::ModelControlCharacter),
        ("half a pair", r#"{"tools":[{"model":"a\ud83d"}]}"#, BodyError::ModelSurrogate),
        ("fallbacks that the upstream chooses", r#"{"fallbacks":"default"}"#, BodyError::NotModels),
        ("models that are no list", r#"{"models":{"a":1}}"#, BodyError::NotModels),
        ("a number among models", r#"{"models":["a",1]}"#, BodyError::NotModels),
        ("null among models", r#"{"models":[null]}"#, BodyError::NotModels),
        ("a list among models", r#"{"models":[["a"]]}"#, BodyError::NotModels),
        ("a map of fallbacks", r#"{"fallbacks":[{"m":["a"]}]}"#, BodyError::NotModels),
        ("a fallback without a model", r#"{"fallbacks":["a",{"max_tokens":1}]}"#, BodyError::NotModels),
        ("a fallback with null for a model", r#"{"fallbacks":[{"model":null}]}"#, BodyError::NotModels),
        ("an empty fallback", r#"{"fallbacks":[{}]}"#, BodyError::NotModels),
        ("an empty name", r#"{"models":[""]}"#, BodyError::ModelEmpty),
        ("a model that is a list", r#"{"safety_model":["a"]}"#, BodyError::WrongType(Field::NestedModel)),
        ("NUL in a name", "{\"model\\u0000\":\"a\"}", BodyError::NulInName),
        ("NUL at the beginning of a name", "{\"\\u0000model\":\"a\"}", BodyError::NulInName),
        ("NUL in a tool's name of a member", "{\"tools\":[{\"type\\u0000x\":\"a\"}]}", BodyError::NulInName),
        ("a fallback alone", r#"{"fallbacks":{"model":"a"}}"#, BodyError::NotModels),
        ("speed of a fallback", r#"{"fallbacks":[{"speed":1}]}"#, BodyError::WrongType(Field::Speed)),
        ("routing", r#"{"generationConfig":{"routingConfig":{"autoMode":{}}}}"#, BodyError::NotSupported(Field::ModelRouting)),
        ("routing, the other spelling", r#"{"generation_config":{"model_config":{}}}"#, BodyError::NotSupported(Field::ModelRouting)),
        ("deeper than any protocol", &namespaces, BodyError::TooDeep),
    ];
    for (name, text, want) in cases {
        assert_eq!(verdict(name, text), Err(*want), "{name}");
    }
}

#[test]
fn so_many_and_no_more() {
    let body = |count: usize| {
        let tools = vec![r#"{"model":"a"}"#; count].join(",");
        format!(r#"{{"tools":[{tools}]}}"#)
    };
    for (count, want) in [
        (MAX_OTHERS, Ok(())),
        (MAX_OTHERS + 1, Err(BodyError::TooManyModels)),
    ] {
        let mut scanner = JsonScanner::new();
        assert_eq!(scanner.feed(body(count).as_bytes()), want, "{count}");
        assert_eq!(scanner.take_others().len(), MAX_OTHERS);
        assert_eq!(scanner.take_others(), []);
    }
}

#[test]
fn is_inside_only_the_name_of_the_path() {
    let text = r#"{"tools":[{"model":"ab"}],"requests":[{"model":"cd"}]}"#;
    let start = text.find("\"cd").unwrap();
    let mut scanner = JsonScanner::new();
    for (index, byte) in text.as_bytes().iter().enumerate() {
        scanner.feed(&[*byte]).unwrap();
        let want = (start..start + 3).contains(&index);
        assert_eq!(scanner.inside_other().is_some(), want, "after byte {index}");
    }
    let mut scanner = JsonScanner::new();
    scanner.feed(br#"{"requests":[{"model":""#).unwrap();
    scanner.feed(&[b'a'; 256]).unwrap();
    assert!(scanner.inside_other().is_some());
    scanner.feed(b"a").unwrap();
    assert!(scanner.inside_other().is_none(), "too long to be held");
}
