use super::*;
use crate::body::{Field, MAX_DEPTH};

fn scan(chunks: &[&[u8]]) -> (Result<(), BodyError>, JsonScanner) {
    let mut scanner = JsonScanner::new();
    let fed = chunks.iter().try_for_each(|chunk| scanner.feed(chunk));
    let end = scanner.finish();
    assert!(fed.is_ok() || fed == end, "an error is final");
    (end, scanner)
}

/// The verdict on a text, which must not depend on how it is cut.
fn verdict(text: &[u8]) -> Result<Option<FoundModel>, BodyError> {
    let (end, scanner) = scan(&[text]);
    for cut in 0..=text.len() {
        let (head, tail) = text.split_at(cut);
        let (other, cut_scanner) = scan(&[head, tail]);
        assert_eq!(end, other, "{:?} cut at {cut}", text.escape_ascii());
        if end.is_ok() {
            assert_eq!(scanner.model, cut_scanner.model, "cut at {cut}");
            assert_eq!(scanner.stream, cut_scanner.stream, "cut at {cut}");
        }
    }
    end.map(|()| scanner.model)
}

#[test]
fn accepts() {
    #[rustfmt::skip]
    let cases: &[(&str, &str, Option<&str>)] = &[
        ("empty object", "{}", None),
        ("whitespace all over", " \t\r\n{ \n\"model\" \t: \r\"m1\" , \"a\" : [ ] }\n ", Some("m1")),
        ("nested only", r#"{"a":{"model":"x"},"b":[{"model":"y"}]}"#, None),
        ("nested first", r#"{"a":{"model":"x","stream":1},"model":"m1"}"#, Some("m1")),
        ("a value that is `model`", r#"{"a":"model","b":["model"]}"#, None),
        ("escaped key", r#"{"mod\u0065l":"m1"}"#, Some("m1")),
        ("wholly escaped key", r#"{"\u006d\u006F\u0064\u0065\u006C":"m1"}"#, Some("m1")),
        ("escaped backslash in a key", r#"{"mode\\l":1}"#, None),
        ("escaped value", r#"{"model":"a\/b\"\\\u00e9"}"#, Some("a/b\"\\\u{e9}")),
        ("surrogate pair in the name", r#"{"model":"\uD83D\uDE00"}"#, Some("\u{1f600}")),
        ("name in UTF-8", "{\"model\":\"\u{e9}\u{20ac}\u{1f600}\"}", Some("\u{e9}\u{20ac}\u{1f600}")),
        ("a key that begins alike", r#"{"model_":1,"modelmodel":2,"streams":3}"#, None),
        ("a key with half a pair", r#"{"model\ud83d":1,"\ude00stream":2,"\ud83dmodel":3}"#, None),
        ("a key with a pair", r#"{"\ud83d\ude00":1}"#, None),
        ("half pairs in text", r#"{"a":"\ud83d","b":"\ude00\ud83dx","c":["\ud83d\ud83d\ude00"]}"#, None),
        ("numbers", r#"{"a":[0,-0,1,10,-1.5,1.25e5,0e0,1E+9,2e-3,1e999,123456789012345678901234567890]}"#, None),
        ("literals", r#"{"a":[true,false,null],"b":true}"#, None),
        ("all escapes", r#"{"a":"\"\\\/\b\f\n\r\t\u0000"}"#, None),
        ("delete in text", "{\"a\":\"\u{7f}\"}", None),
        ("empty key", r#"{"":1}"#, None),
        ("duplicates of other keys", r#"{"a":1,"a":2}"#, None),
    ];
    for (name, text, want) in cases {
        let got = verdict(text.as_bytes());
        let found = got.map(|model| model.map(|model| model.name));
        assert_eq!(found, Ok(want.map(str::to_owned)), "{name}");
    }
}

#[test]
fn refuses() {
    let syntax = |at| BodyError::Syntax { at };
    let utf8 = |at| BodyError::Utf8 { at };
    #[rustfmt::skip]
    let cases: &[(&str, &[u8], BodyError)] = &[
        ("nothing", b"", BodyError::Empty),
        ("whitespace", b" \r\n\t", BodyError::Empty),
        ("array", b"[{}]", BodyError::NotAnObject),
        ("string", b"\"model\"", BodyError::NotAnObject),
        ("number", b" 1", BodyError::NotAnObject),
        ("literal", b"null", BodyError::NotAnObject),
        ("form", b"model=m1", syntax(0)),
        ("UTF-8 byte order mark", b"\xEF\xBB\xBF{}", BodyError::ByteOrderMark),
        ("UTF-16 byte order mark", b"\xFF\xFE{\0}\0", BodyError::ByteOrderMark),
        ("UTF-16", b"{\0}\0", syntax(1)),
        ("mark after a space", b" \xEF\xBB\xBF{}", syntax(1)),
        ("single quotes", b"{'model':'m1'}", syntax(1)),
        ("comment", b"{/*c*/}", syntax(1)),
        ("no colon", b"{\"a\" 1}", syntax(5)),
        ("no value", b"{\"model\":}", syntax(9)),
        ("no key", b"{:1}", syntax(1)),
        ("key is a number", b"{1:1}", syntax(1)),
        ("comma first", b"{,}", syntax(1)),
        ("comma last in an object", b"{\"a\":1,}", syntax(7)),
        ("comma last in an array", b"{\"a\":[1,]}", syntax(8)),
        ("no comma", b"{\"a\":[1 2]}", syntax(8)),
        ("wrong bracket", b"{\"a\":[1}", syntax(7)),
        ("wrong brace", b"{\"a\":{]", syntax(6)),
        ("literal in capitals", b"{\"a\":True}", syntax(5)),
        ("literal cut", b"{\"a\":tru}", syntax(8)),
        ("literal too long", b"{\"a\":nulls}", syntax(9)),
        ("not a number", b"{\"a\":NaN}", syntax(5)),
        ("plus", b"{\"a\":+1}", syntax(5)),
        ("leading zero", b"{\"a\":01}", syntax(6)),
        ("minus alone", b"{\"a\":-}", syntax(6)),
        ("no fraction", b"{\"a\":1.}", syntax(7)),
        ("no integer", b"{\"a\":.5}", syntax(5)),
        ("no exponent", b"{\"a\":1e}", syntax(7)),
        ("sign only", b"{\"a\":1e+}", syntax(8)),
        ("other whitespace", b"{\x0C}", syntax(1)),
        ("no-break space", b"{\xC2\xA0}", syntax(1)),
        ("line feed in a string", b"{\"a\":\"x\n\"}", syntax(7)),
        ("NUL in a string", b"{\"a\":\"\0\"}", syntax(6)),
        ("line feed in the name", b"{\"model\":\"m\n\"}", syntax(11)),
        ("unknown escape", br#"{"a":"\x"}"#, syntax(7)),
        ("capital escape", br#"{"a":"\U0041"}"#, syntax(7)),
        ("no hexadecimal digit", br#"{"a":"\u00g0"}"#, syntax(10)),
        ("short escape", br#"{"a":"\u00"}"#, syntax(10)),
        ("lone continuation", b"{\"a\":\"\x80\"}", utf8(6)),
        ("overlong", b"{\"a\":\"\xC0\x80\"}", utf8(6)),
        ("overlong of three", b"{\"a\":\"\xE0\x80\x80\"}", utf8(7)),
        ("surrogate in UTF-8", b"{\"a\":\"\xED\xA0\x80\"}", utf8(7)),
        ("past the last character", b"{\"a\":\"\xF4\x90\x80\x80\"}", utf8(7)),
        ("cut character", b"{\"a\":\"\xE2\x82\"}", utf8(8)),
        ("bad key", b"{\"mod\xFFel\":1}", utf8(5)),
        ("bad name", b"{\"model\":\"m\xFF\"}", utf8(11)),
        ("twice", br#"{"model":"a","model":"b"}"#, BodyError::Duplicate(Field::Model)),
        ("twice with an escape", br#"{"model":"a","b":[1],"\u006dodel":"a"}"#, BodyError::Duplicate(Field::Model)),
        ("stream twice", br#"{"stream":true,"stream":true}"#, BodyError::Duplicate(Field::Stream)),
        ("stream twice, not literal", br#"{"stream":null,"stream":true}"#, BodyError::Duplicate(Field::Stream)),
        ("variant", br#"{"Model":"a","model":"b"}"#, BodyError::CaseVariant),
        ("variant behind", br#"{"model":"b","MODEL":"a"}"#, BodyError::CaseVariant),
        ("variant of stream", br#"{"strEam":1}"#, BodyError::CaseVariant),
        ("long s", "{\"\u{17f}tream\":1}".as_bytes(), BodyError::CaseVariant),
        ("long s, escaped", br#"{"\u017ftream":1}"#, BodyError::CaseVariant),
        ("null", br#"{"model":null}"#, BodyError::ModelNotString),
        ("number for a model", br#"{"model":-5}"#, BodyError::ModelNotString),
        ("bool for a model", br#"{"model":true}"#, BodyError::ModelNotString),
        ("array for a model", br#"{"model":["a"]}"#, BodyError::ModelNotString),
        ("object for a model", br#"{"model":{}}"#, BodyError::ModelNotString),
        ("no name", br#"{"model":""}"#, BodyError::ModelEmpty),
        ("NUL in the name", br#"{"model":"a\u0000"}"#, BodyError::ModelControlCharacter),
        ("CR in the name", br#"{"model":"a\r"}"#, BodyError::ModelControlCharacter),
        ("delete in the name", b"{\"model\":\"a\x7F\"}", BodyError::ModelControlCharacter),
        ("high half alone", br#"{"model":"a\ud83d"}"#, BodyError::ModelSurrogate),
        ("high half, then text", br#"{"model":"\ud83da"}"#, BodyError::ModelSurrogate),
        ("high half, then an escape", br#"{"model":"\ud83d\n"}"#, BodyError::ModelSurrogate),
        ("high half twice", br#"{"model":"\ud83d\ud83d\ude00"}"#, BodyError::ModelSurrogate),
        ("high half, then a letter", br#"{"model":"\ud83d\u0041"}"#, BodyError::ModelSurrogate),
        ("high half, then bad UTF-8", b"{\"model\":\"\\ud83d\xE6x\"}", BodyError::ModelSurrogate),
        ("low half", br#"{"model":"\ude00"}"#, BodyError::ModelSurrogate),
        ("second object", br#"{}{"model":"a"}"#, BodyError::TrailingData { at: 2 }),
        ("brace", b"{}\n}", BodyError::TrailingData { at: 3 }),
        ("NUL behind", b"{}\0", BodyError::TrailingData { at: 2 }),
        ("open", b"{", BodyError::Truncated),
        ("open string", br#"{"model":"m1"#, BodyError::Truncated),
        ("open after the model", br#"{"model":"m1""#, BodyError::Truncated),
        ("open number", br#"{"a":1"#, BodyError::Truncated),
        ("open literal", br#"{"a":tru"#, BodyError::Truncated),
        ("open character", b"{\"a\":\"\xE2\x82", BodyError::Truncated),
    ];
    for (name, text, want) in cases {
        assert_eq!(verdict(text), Err(*want), "{name}");
    }
}

#[test]
fn the_span_is_the_literal_with_its_quotes() {
    for text in [
        r#"{"model":"m1"}"#,
        r#"{ "a" : "\u0041" , "mod\u0065l" : "\u006d1" , "b" : 1 }"#,
    ] {
        let model = verdict(text.as_bytes()).unwrap().unwrap();
        let span = model.span.start as usize..model.span.end as usize;
        let literal = &text.as_bytes()[span];
        assert_eq!(
            serde_json::from_slice::<String>(literal).unwrap(),
            "m1",
            "{text}"
        );
    }
}

#[test]
fn a_long_name_is_reported_before_it_ends() {
    for (unit, len) in [
        ("m", 256),
        ("\u{e9}", 256),
        ("\u{20ac}", 255),
        (r"\u20ac", 255),
    ] {
        let mut scanner = JsonScanner::new();
        scanner.feed(br#"{"model":""#).unwrap();
        let mut fed = 0;
        while scanner.model().is_none() {
            assert!(scanner.inside_model().is_some(), "{unit}");
            scanner.feed(unit.as_bytes()).unwrap();
            fed += 1;
            assert!(fed <= 257, "{unit}: bounded");
        }
        assert!(
            scanner.inside_model().is_none(),
            "{unit}: not held any longer"
        );
        let found = scanner.model().unwrap().clone();
        assert!(found.truncated, "{unit}");
        assert_eq!((found.name.len(), found.span.start), (len, 9), "{unit}");
        scanner.feed(br#"m","a":1}"#).unwrap();
        scanner.finish().unwrap();
        assert_eq!(scanner.model(), Some(&found), "{unit}: stays");
    }
    let longest = "m".repeat(256);
    let text = format!(r#"{{"model":"{longest}"}}"#);
    let found = verdict(text.as_bytes()).unwrap().unwrap();
    assert_eq!((found.name, found.truncated), (longest, false));
    let end = verdict(format!(r#"{{"model":"{}\n"}}"#, "m".repeat(300)).as_bytes());
    assert_eq!(
        end,
        Err(BodyError::ModelControlCharacter),
        "past the limit too"
    );
}

#[test]
fn inside_model_is_true_between_the_quotes_only() {
    let text = br#"{"a":"x","model":"m\u00e91","b":{"model":"y"}}"#;
    let open = text.windows(3).position(|part| part == b"\"m\\").unwrap();
    let mut scanner = JsonScanner::new();
    let mut inside = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        scanner.feed(&[*byte]).unwrap();
        if scanner.inside_model().is_some() {
            inside.push(index);
        }
    }
    let close = open + br#""m\u00e91"#.len();
    assert_eq!(inside, (open..close).collect::<Vec<_>>());
    assert!(scanner.complete());
}

#[test]
fn stream_is_true_only_as_a_literal() {
    let cases = [
        (r#"{}"#, None),
        (r#"{"a":{"stream":true}}"#, None),
        (r#"{"stream":true}"#, Some(true)),
        (r#"{"str\u0065am" : true}"#, Some(true)),
        (r#"{"stream":false}"#, Some(false)),
        (r#"{"stream":null}"#, Some(false)),
    ];
    for (text, want) in cases {
        let (end, scanner) = scan(&[text.as_bytes()]);
        assert_eq!((end, scanner.stream()), (Ok(()), want), "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        // The outer object is one level.
        let open = "[".repeat(depth - 1);
        format!(r#"{{"a":{open}{}}}"#, "]".repeat(depth - 1))
    };
    assert_eq!(scan(&[nested(MAX_DEPTH).as_bytes()]).0, Ok(()));
    let deeper = nested(MAX_DEPTH + 1);
    assert_eq!(scan(&[deeper.as_bytes()]).0, Err(BodyError::TooDeep));
}

#[test]
fn an_error_is_final() {
    let mut scanner = JsonScanner::new();
    let error = Err(BodyError::Syntax { at: 1 });
    assert_eq!(scanner.feed(b"{]"), error);
    assert_eq!(scanner.feed(b""), error);
    assert_eq!(scanner.feed(b"{\"model\":\"m1\"}"), error);
    assert_eq!(scanner.finish(), error);
    assert_eq!(scanner.model(), None);
    assert!(!scanner.complete());
}
