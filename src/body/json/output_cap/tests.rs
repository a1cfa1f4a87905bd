use crate::body::{BodyError, BodyScanner, Field, JsonScanner};

fn scan(chunks: &[&[u8]]) -> (Result<(), BodyError>, Option<u64>) {
    let mut scanner = JsonScanner::new();
    for chunk in chunks {
        let _ = scanner.feed(chunk);
    }
    (scanner.finish(), scanner.output_cap())
}

/// The end and the cap of a text, which must not depend on how it is cut.
fn verdict(name: &str, text: &[u8]) -> (Result<(), BodyError>, Option<u64>) {
    let whole = scan(&[text]);
    for cut in 0..=text.len() {
        let (head, tail) = text.split_at(cut);
        assert_eq!(scan(&[head, tail]), whole, "{name}, cut at {cut}");
    }
    let bytes: Vec<_> = text.chunks(1).collect();
    assert_eq!(scan(&bytes), whole, "{name}, byte by byte");
    whole
}

#[test]
fn is_the_greatest_integer_that_caps_the_output() {
    const MAX: Option<u64> = Some(u64::MAX);
    #[rustfmt::skip]
    let cases: &[(&str, &str, Option<u64>)] = &[
        ("no cap", r#"{"a":5}"#, None),
        ("empty", "{}", None),
        ("max_tokens", r#"{"max_tokens":1024}"#, Some(1024)),
        ("max_completion_tokens", r#"{"max_completion_tokens":7}"#, Some(7)),
        ("max_output_tokens", r#"{"max_output_tokens":80}"#, Some(80)),
        ("protocol C", r#"{"generationConfig":{"maxOutputTokens":64}}"#, Some(64)),
        ("protocol C, the field's own name", r#"{"generationConfig":{"max_output_tokens":64}}"#, Some(64)),
        ("protocol C, the object's own name", r#"{"generation_config":{"maxOutputTokens":64}}"#, Some(64)),
        ("protocol C, both own names", r#"{"generation_config":{"max_output_tokens":64}}"#, Some(64)),
        ("spaces", "{ \"max_tokens\" :\t12\r\n, \"b\" : 1 }", Some(12)),
        ("between others", r#"{"a":[{"b":9}],"max_tokens":12,"c":{"d":13}}"#, Some(12)),

        ("nought", r#"{"max_tokens":0}"#, Some(0)),
        ("the greatest that fits", r#"{"max_tokens":18446744073709551615}"#, MAX),
        ("one less", r#"{"max_tokens":18446744073709551614}"#, Some(u64::MAX - 1)),
        ("one more", r#"{"max_tokens":18446744073709551616}"#, MAX),
        ("far more", r#"{"max_tokens":1000000000000000000000000000000}"#, MAX),
        ("null", r#"{"max_tokens":null}"#, None),
        ("negative", r#"{"max_tokens":-1}"#, None),
        ("negative nought", r#"{"max_tokens":-0}"#, None),
        ("fraction", r#"{"max_tokens":1.0}"#, None),
        ("fraction of nought", r#"{"max_tokens":0.5}"#, None),
        ("exponent", r#"{"max_tokens":1e3}"#, None),
        ("capital exponent", r#"{"max_tokens":12E+3}"#, None),
        ("exponent of nought", r#"{"max_tokens":0e1}"#, None),
        ("string", r#"{"max_tokens":"5"}"#, None),
        ("bool", r#"{"max_tokens":true}"#, None),
        ("array", r#"{"max_tokens":[5]}"#, None),
        ("object", r#"{"max_tokens":{"max_tokens":5,"max_output_tokens":6}}"#, None),
        ("null in protocol C", r#"{"generationConfig":{"maxOutputTokens":null}}"#, None),

        ("greatest first", r#"{"max_tokens":12,"max_output_tokens":7}"#, Some(12)),
        ("greatest last", r#"{"max_tokens":7,"max_completion_tokens":12}"#, Some(12)),
        ("greatest in the middle",
            r#"{"max_tokens":1,"generationConfig":{"maxOutputTokens":30},"max_output_tokens":2}"#, Some(30)),
        ("nought is one", r#"{"max_tokens":null,"max_output_tokens":0}"#, Some(0)),
        ("nothing behind one", r#"{"max_tokens":5,"max_output_tokens":null,"max_completion_tokens":-9}"#,
            Some(5)),
        ("a greater fraction first", r#"{"max_tokens":99.5,"max_output_tokens":5}"#, Some(5)),
        ("a greater exponent behind", r#"{"max_output_tokens":5,"max_tokens":99e9}"#, Some(5)),
        ("twice", r#"{"max_tokens":5,"max_tokens":6}"#, Some(6)),
        ("twice, the greater first", r#"{"max_tokens":6,"a":1,"max_tokens":5}"#, Some(6)),
        ("twice, the second null", r#"{"max_tokens":6,"max_tokens":null}"#, Some(6)),
        ("three times", r#"{"max_tokens":6,"max_tokens":"x","max_tokens":8}"#, Some(8)),
        ("both spellings", r#"{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":2}}"#, Some(2)),
        ("the object twice",
            r#"{"generationConfig":{"maxOutputTokens":3},"generationConfig":{"maxOutputTokens":2}}"#,
            Some(3)),
        ("the object in both spellings",
            r#"{"generationConfig":{},"generation_config":{"maxOutputTokens":2}}"#, Some(2)),
        ("the object null, then there",
            r#"{"generationConfig":null,"generationConfig":{"maxOutputTokens":2}}"#, Some(2)),

        ("variants", r#"{"MAX_TOKENS":5,"Max_tokens":6,"max_token\u017f":7}"#, None),
        ("variants beside one", r#"{"MAX_TOKENS":5,"max_tokens":4,"Max_Tokens":6}"#, Some(4)),
        ("variants of the object",
            r#"{"GenerationConfig":{"maxOutputTokens":5},"generationconfig":{"maxOutputTokens":6}}"#, None),
        ("variants in the object", r#"{"generationConfig":{"MaxOutputTokens":5,"maxoutputtokens":6}}"#, None),
        ("keys that begin alike", r#"{"max_token":1,"max_tokens_":2,"max_tokens ":3,"max_output_tokensx":4}"#,
            None),
        ("keys longer than any",
            r#"{"max_completion_tokens_":1,"max_completion_tokensmax_completion_tokens":2}"#, None),
        ("a key shorter than the longest", r#"{"max_completion_token":1}"#, None),
        ("a key with half a pair", r#"{"max_tokens\ud83d":1,"\ude00max_tokens":2}"#, None),
        ("escaped", r#"{"max\u005ftokens":5}"#, Some(5)),
        ("wholly escaped", r#"{"\u006d\u0061\u0078\u005F\u0074\u006f\u006b\u0065\u006e\u0073":5}"#, Some(5)),
        ("escaped in protocol C", r#"{"generation\u0043onfig":{"\u006daxOutputTokens":5}}"#, Some(5)),

        ("elsewhere", r#"{"a":{"max_tokens":5},"b":[{"max_output_tokens":6}],"c":"max_tokens"}"#, None),
        ("in the options", r#"{"stream_options":{"max_tokens":5,"max_output_tokens":6,"maxOutputTokens":7}}"#,
            None),
        ("protocol C's at the top", r#"{"maxOutputTokens":5}"#, None),
        ("the top's in protocol C", r#"{"generationConfig":{"max_tokens":5,"max_completion_tokens":6}}"#,
            None),
        ("behind other objects", r#"{"generationConfig":{"a":{"b":[{}]},"c":[[]],"maxOutputTokens":5}}"#,
            Some(5)),
        ("deeper", r#"{"generationConfig":{"a":{"maxOutputTokens":5},"b":[{"maxOutputTokens":6}]}}"#, None),
        ("the object in itself", r#"{"generationConfig":{"generationConfig":{"maxOutputTokens":5}}}"#, None),
        ("the object elsewhere",
            r#"{"a":{"generationConfig":{"maxOutputTokens":5}},"b":[{"generationConfig":{"max_tokens":5}}]}"#,
            None),
        ("the object an array", r#"{"generationConfig":[{"maxOutputTokens":5}],"max_tokens":1}"#, Some(1)),
        ("the object a number", r#"{"generationConfig":5,"a":{"maxOutputTokens":6}}"#, None),
        ("the object a string", r#"{"generationConfig":"{","a":{"maxOutputTokens":6}}"#, None),
        ("another object behind it", r#"{"generationConfig":{"a":1},"a":{"maxOutputTokens":6}}"#, None),
        ("another object behind it, empty", r#"{"generationConfig":{},"a":{"maxOutputTokens":6}}"#, None),
        ("an array behind it", r#"{"generationConfig":{},"a":[{"maxOutputTokens":6}]}"#, None),
        ("the options behind it",
            r#"{"generationConfig":{"maxOutputTokens":6},"stream_options":{"maxOutputTokens":9}}"#, Some(6)),
        ("it behind the options", r#"{"stream_options":{"a":{}},"generationConfig":{"maxOutputTokens":6}}"#,
            Some(6)),
        ("the fields' names in it",
            r#"{"generationConfig":{"MODEL":1,"stream":2,"stream":3,"Include_Usage":4,"maxOutputTokens":5}}"#,
            Some(5)),
    ];
    for (name, text, want) in cases {
        assert_eq!(verdict(name, text.as_bytes()), (Ok(()), *want), "{name}");
    }
}

#[test]
fn is_known_once_its_number_has_ended() {
    // The caps after each byte of the tail.
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str, &[Option<u64>])] = &[
        ("brace", r#"{"max_tokens":"#, "128}", &[None, None, None, Some(128)]),
        ("comma", r#"{"max_tokens":"#, "0,", &[None, Some(0)]),
        ("space", r#"{"max_tokens":"#, "10 }", &[None, None, Some(10), Some(10)]),
        ("fraction", r#"{"max_tokens":"#, "10.5}", &[None; 5]),
        ("exponent", r#"{"max_tokens":"#, "1e5}", &[None; 4]),
        ("greater", r#"{"max_tokens":5,"max_output_tokens":"#, "17}", &[Some(5), Some(5), Some(17)]),
        ("in protocol C", r#"{"generationConfig":{"maxOutputTokens":"#, "10}}",
            &[None, None, Some(10), Some(10)]),
        ("an error behind it", r#"{"max_tokens":5,"#, "!8", &[Some(5), Some(5)]),
    ];
    for (name, head, tail, want) in cases {
        let mut scanner = JsonScanner::new();
        scanner.feed(head.as_bytes()).unwrap();
        let mut got = Vec::new();
        for byte in tail.as_bytes() {
            let _ = scanner.feed(&[*byte]);
            got.push(scanner.output_cap());
        }
        assert_eq!(got, *want, "{name}");
    }
}

#[test]
fn is_refused_only_for_what_any_other_key_is_refused_for() {
    let syntax = |at| BodyError::Syntax { at };
    #[rustfmt::skip]
    let cases: &[(&str, &[u8], BodyError)] = &[
        ("leading nought", b"{\"max_tokens\":05}", syntax(15)),
        ("two noughts", b"{\"max_tokens\":00}", syntax(15)),
        ("minus alone", b"{\"max_tokens\":-}", syntax(15)),
        ("plus", b"{\"max_tokens\":+5}", syntax(14)),
        ("no integer", b"{\"max_tokens\":.5}", syntax(14)),
        ("no fraction", b"{\"max_tokens\":5.}", syntax(16)),
        ("no exponent", b"{\"max_tokens\":5e}", syntax(16)),
        ("no number", b"{\"max_tokens\":5x}", syntax(15)),
        ("two numbers", b"{\"max_tokens\":5 5}", syntax(16)),
        ("wrong bracket", b"{\"max_tokens\":5]", syntax(15)),
        ("no value", b"{\"max_tokens\":}", syntax(14)),
        ("colon behind", b"{\"max_tokens\":5:6}", syntax(15)),
        ("open", b"{\"max_tokens\":55", BodyError::Truncated),
        ("open behind", b"{\"max_tokens\":55 ", BodyError::Truncated),
        ("bad key in protocol C", b"{\"generationConfig\":{\"a\xFFb\":1}}", BodyError::Utf8 { at: 23 }),
        ("line feed in a key in protocol C", b"{\"generationConfig\":{\"a\nb\":1}}", syntax(23)),
        ("bad number in protocol C", b"{\"generationConfig\":{\"maxOutputTokens\":01}}", syntax(40)),
        ("a field twice behind", b"{\"max_tokens\":5,\"stream\":true,\"stream\":2}",
            BodyError::Duplicate(Field::Stream)),
        ("a field's variant behind", b"{\"max_tokens\":5,\"Model\":\"m\"}", BodyError::CaseVariant),
    ];
    for (name, text, want) in cases {
        assert_eq!(verdict(name, text).0, Err(*want), "{name}");
        // The same text with keys that mean nothing.
        let other: Vec<u8> = text
            .iter()
            .map(|byte| {
                if *byte == b'g' || *byte == b'x' {
                    b'q'
                } else {
                    *byte
                }
            })
            .collect();
        assert_eq!(verdict(name, &other), (Err(*want), None), "{name}");
    }
}

#[test]
fn a_form_has_none() {
    let mut scanner = BodyScanner::multipart(b"multipart/form-data; boundary=x").unwrap();
    for name in ["max_tokens", "max_output_tokens"] {
        let part = format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n5\r\n");
        scanner.feed(part.as_bytes()).unwrap();
    }
    scanner.feed(b"--x--\r\n").unwrap();
    assert_eq!((scanner.finish(), scanner.output_cap()), (Ok(()), None));
}
