use super::*;
use crate::body::{BodyError, Field, JsonScanner};

/// Feeds a text as it is cut; gives the end, the scanner, and whether it was inside a literal at each cut.
fn scan(chunks: &[&[u8]]) -> (Result<(), BodyError>, JsonScanner, Vec<bool>) {
    let mut scanner = JsonScanner::new();
    let mut inside = Vec::new();
    for chunk in chunks {
        let _ = scanner.feed(chunk);
        inside.push(scanner.inside_usage_option().is_some());
    }
    (scanner.finish(), scanner, inside)
}

fn edited(text: &[u8], edit: &UsageEdit) -> String {
    let span = edit.span.start as usize..edit.span.end as usize;
    String::from_utf8([&text[..span.start], edit.bytes, &text[span.end..]].concat()).unwrap()
}

/// The expected option in a text, with `^` for the bytes it names, and the text after the edit.
#[test]
fn says_what_is_there_and_where_it_could_be_changed() {
    use UsageOption::{Absent, Asked};
    let lacking = |at, empty| UsageOption::Lacking { at, empty };
    let whole = |span| UsageOption::Otherwise { span, whole: true };
    let flag = |span| UsageOption::Otherwise { span, whole: false };
    #[rustfmt::skip]
    let cases: &[(&str, &str, UsageOption, Option<&str>)] = &[
        ("empty body", "{ }", Absent,
            Some(r#"{ "stream_options":{"include_usage":true}}"#)),
        ("no options", "{\"a\":1 }\n", Absent,
            Some("{\"a\":1 ,\"stream_options\":{\"include_usage\":true}}\n")),
        ("options elsewhere", r#"{"a":{"stream_options":{"include_usage":false}}}"#, Absent,
            Some(r#"{"a":{"stream_options":{"include_usage":false}},"stream_options":{"include_usage":true}}"#)),
        ("the flag elsewhere", r#"{"include_usage":false,"b":[{"include_usage":1}]}"#, Absent,
            Some(r#"{"include_usage":false,"b":[{"include_usage":1}],"stream_options":{"include_usage":true}}"#)),
        ("keys that begin alike", r#"{"stream_option":null,"stream_options_":null}"#, Absent,
            Some(r#"{"stream_option":null,"stream_options_":null,"stream_options":{"include_usage":true}}"#)),
        ("asked", r#"{"stream_options":{"include_usage":true}}"#, Asked, None),
        ("asked, with spaces", "{ \"stream_options\"\t:\r\n{ \"include_usage\" : true } }", Asked, None),
        ("asked, escaped", r#"{"stream\u005foptions":{"include_us\u0061ge":true}}"#, Asked, None),
        ("asked among others", r#"{"stream_options":{"a":{"b":[]},"include_usage":true,"c":null}}"#, Asked, None),
        ("empty options", r#"{"stream_options":{ }}"#, lacking(20, true),
            Some(r#"{"stream_options":{ "include_usage":true}}"#)),
        ("other options", r#"{"stream_options":{"a":1 },"b":2}"#, lacking(25, false),
            Some(r#"{"stream_options":{"a":1 ,"include_usage":true},"b":2}"#)),
        ("the flag deeper", r#"{"stream_options":{"a":{"include_usage":true},"b":[{"include_usage":null}]}}"#,
            lacking(74, false),
            Some(r#"{"stream_options":{"a":{"include_usage":true},"b":[{"include_usage":null}],"include_usage":true}}"#)),
        ("the flag deeper, as a case variant", r#"{"stream_options":{"a":{"Include_Usage":true}}}"#,
            lacking(45, false),
            Some(r#"{"stream_options":{"a":{"Include_Usage":true},"include_usage":true}}"#)),
        ("options within options", r#"{"stream_options":{"stream_options":{"include_usage":true}}}"#,
            lacking(58, false),
            Some(r#"{"stream_options":{"stream_options":{"include_usage":true},"include_usage":true}}"#)),
        ("the top's fields within options", r#"{"stream_options":{"MODEL":1,"stream":2,"stream":3}}"#,
            lacking(50, false),
            Some(r#"{"stream_options":{"MODEL":1,"stream":2,"stream":3,"include_usage":true}}"#)),
        ("false", r#"{"stream_options":{"include_usage":false}}"#, flag(35..40),
            Some(r#"{"stream_options":{"include_usage":true}}"#)),
        ("null for the flag", r#"{"stream_options":{"a":[],"include_usage": null ,"b":{}}}"#, flag(43..47),
            Some(r#"{"stream_options":{"a":[],"include_usage": true ,"b":{}}}"#)),
        ("false, escaped", r#"{"stream_options":{"\u0069nclude_usage":false}}"#, flag(40..45),
            Some(r#"{"stream_options":{"\u0069nclude_usage":true}}"#)),
        ("null for the options", r#"{"stream_options": null,"a":false}"#, whole(19..23),
            Some(r#"{"stream_options": {"include_usage":true},"a":false}"#)),
        ("literals all around", r#"{"a":null,"stream_options":{"b":false,"include_usage":null,"c":null},"d":null}"#,
            flag(54..58),
            Some(r#"{"a":null,"stream_options":{"b":false,"include_usage":true,"c":null},"d":null}"#)),
        ("an object behind the options", r#"{"stream_options":null,"a":{"include_usage":1,"include_usage":2}}"#,
            whole(18..22),
            Some(r#"{"stream_options":{"include_usage":true},"a":{"include_usage":1,"include_usage":2}}"#)),
        ("an object behind the options' object", r#"{"stream_options":{},"a":{"include_usage":false}}"#,
            lacking(19, true),
            Some(r#"{"stream_options":{"include_usage":true},"a":{"include_usage":false}}"#)),
    ];
    for (name, text, option, after) in cases {
        let text = text.as_bytes();
        let literal = match option {
            UsageOption::Otherwise { span, .. } => span.clone(),
            _ => 0..0,
        };
        let end = text.iter().rposition(|byte| *byte == b'}').unwrap() as u64;
        for cut in 0..=text.len() {
            let (head, tail) = text.split_at(cut);
            let (result, scanner, inside) = scan(&[head, tail]);
            let context = format!("{name}, cut at {cut}");
            assert_eq!(result, Ok(()), "{context}");
            assert_eq!(scanner.usage_option(), option, "{context}");
            assert_eq!(scanner.object_end(), Some(end), "{context}");
            let edit = scanner.usage_edit();
            let got = edit.as_ref().map(|edit| edited(text, edit));
            assert_eq!(got.as_deref(), *after, "{context}");
            let cut = cut as u64;
            let want = literal.start < cut && cut < literal.end;
            assert_eq!(inside, [want, false], "{context}");
        }
        let (_, scanner, _) = scan(&[text]);
        if let (Some(after), Some(edit)) = (after, scanner.usage_edit()) {
            // A flag that was `null` comes back as it was; so does all else.
            let undone = edit.undone(edit.span.start);
            let before = edited(after.as_bytes(), &undone);
            assert_eq!(before.as_bytes(), text, "{name}: {after}");
        }
        if let Some(after) = after {
            let (result, scanner, _) = scan(&[after.as_bytes()]);
            assert_eq!(result, Ok(()), "{name}: {after}");
            assert_eq!(scanner.usage_option(), &Asked, "{name}: {after}");
            assert_eq!(scanner.usage_edit(), None, "{name}: {after}");
        }
    }
}

#[test]
fn is_known_as_soon_as_it_can_be() {
    #[rustfmt::skip]
    let cases = [
        ("the flag's literal", r#"{"stream_options":{"include_usage":false"#),
        ("the options' literal", r#"{"stream_options":null"#),
        ("the options' brace", r#"{"stream_options":{"a":{}}"#),
        ("the outermost brace", r#"{"model":"m1"}"#),
    ];
    for (name, text) in cases {
        let mut scanner = JsonScanner::new();
        for byte in text.as_bytes() {
            assert_eq!(scanner.usage_edit(), None, "{name}");
            assert_eq!(scanner.usage_option(), &UsageOption::Absent, "{name}");
            assert_eq!(scanner.object_end(), None, "{name}");
            scanner.feed(&[*byte]).unwrap();
        }
        assert!(scanner.usage_edit().is_some(), "{name}");
    }
}

#[test]
fn refuses_what_parsers_read_differently() {
    let options = BodyError::Duplicate(Field::StreamOptions);
    let flag = BodyError::Duplicate(Field::IncludeUsage);
    let variant = BodyError::CaseVariant;
    #[rustfmt::skip]
    let cases: &[(&str, &str, BodyError)] = &[
        ("options twice", r#"{"stream_options":{"include_usage":true},"stream_options":null}"#, options),
        ("options twice, first null", r#"{"stream_options":null,"stream_options":{}}"#, options),
        ("options twice, escaped", r#"{"stream_options":{},"stre\u0061m_options":1}"#, options),
        ("flag twice", r#"{"stream_options":{"include_usage":true,"include_usage":true}}"#, flag),
        ("flag twice, escaped", r#"{"stream_options":{"include_usage":null,"a":1,"\u0069nclude_usage":false}}"#, flag),
        ("variant of the options", r#"{"Stream_Options":{}}"#, variant),
        ("variant of the options behind", r#"{"stream_options":{},"stream_optionS":{}}"#, variant),
        ("variant of the options, long s", r#"{"\u017ftream_option\u017f":{}}"#, variant),
        ("variant of the flag", r#"{"stream_options":{"INCLUDE_USAGE":true}}"#, variant),
        ("variant of the flag, escaped", r#"{"stream_options":{"include_us\u0041ge":true}}"#, variant),
        ("variant of the flag behind", r#"{"stream_options":{"include_usage":true,"include_uSage":1}}"#, variant),
        ("variant of the flag, long s", "{\"stream_options\":{\"include_u\u{17f}age\":true}}", variant),
    ];
    for (name, text, want) in cases {
        for cut in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            let (result, scanner, _) = scan(&[head, tail]);
            assert_eq!(result, Err(*want), "{name}, cut at {cut}");
            assert!(
                scanner.inside_usage_option().is_none(),
                "{name}, cut at {cut}"
            );
        }
    }
}

#[test]
fn holds_nothing_after_an_error() {
    for text in [
        r#"{"stream_options":{"include_usage":fals}"#,
        r#"{"stream_options":nil"#,
    ] {
        let (result, scanner, inside) = scan(&[text.as_bytes()]);
        assert!(matches!(result, Err(BodyError::Syntax { .. })), "{text}");
        assert_eq!(inside, [false], "{text}");
        assert_eq!(scanner.usage_edit(), None, "{text}");
    }
}
