use crate::body::json::JsonScanner;
use crate::body::{BodyError, FoundModel, MAX_DEPTH, UsageEdit};

/// The result of scanning a body.
#[derive(Debug, PartialEq)]
struct ScannedBody {
    end: Result<(), BodyError>,
    /// The rest, if the body is sound: how much of a bad one is read before it is found out depends on the chunks.
    model: Option<FoundModel>,
    stream: Option<bool>,
    edit: Option<UsageEdit>,
    cap: Option<u64>,
    brace: Option<u64>,
}

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> ScannedBody {
    let mut scanner = JsonScanner::new();
    for chunk in chunks {
        let _ = scanner.feed(chunk);
    }
    let end = scanner.finish();
    let sound = end.is_ok();
    ScannedBody {
        end,
        model: scanner.model().cloned().filter(|_| sound),
        stream: scanner.stream().filter(|_| sound),
        edit: scanner.usage_edit().filter(|_| sound),
        cap: scanner.output_cap().filter(|_| sound),
        brace: scanner.object_end().filter(|_| sound),
    }
}

/// A byte at a time nothing can be skipped in one go. Gives whether the body is sound.
fn is_read_alike(body: &[u8]) -> bool {
    let want = read(body.chunks(1));
    let name = body.escape_ascii();
    assert_eq!(read([body]), want, "{name}");
    for size in [2, 3, 5, 17, 64] {
        assert_eq!(read(body.chunks(size)), want, "{name} by {size}");
    }
    want.end.is_ok()
}

const BODIES: [&str; 9] = [
    r#"{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"a","content":"b"}],"stream":true}"#,
    r#"{"a":[{"b":"c","d":[{"e":"f"},{"g":{"h":"i"}}],"j":["k",["l"],[]],"m":{}}],"model":"m"}"#,
    r#"{"a": [ {"b" : "c" , "d": ["e", "f"]} , "g" ] , "model" : "m" , "h": "i"}"#,
    "{\n  \"a\": [\n    {\n      \"b\": \"c\"\n    }\n  ],\n  \"model\": \"m\"\n}",
    r#"{"stream_options":{"a":"b","c":{"include_usage":"d"},"include_usage":false},"model":"m"}"#,
    r#"{"stream_options":{"a":["b"]},"generationConfig":{"a":"b","maxOutputTokens":7,"c":"d"}}"#,
    r#"{"a":"b","model":"m","c":{"model":"n","stream":"x"},"stream_options":{},"max_tokens":9}"#,
    "{\"a\":{\"\u{e9}\":\"\u{20ac}\",\"b\":\"\\n\\u00e9\",\"\\\"\":\"\\\\\"},\"\\u006dodel\":\"m\"}",
    r#"{"a":["b",1,true,null,-0.5e3,"c"],"d":{"e":"f","g":1,"h":false,"i":"j"}}"#,
];

#[test]
fn what_is_passed_over_is_read_as_a_byte_at_a_time() {
    let bytes = b"{}[],:\"\\ \n1tn/m\x00\x7F\x80\xC3";
    let (mut sound, mut bad) = (0, 0);
    let mut check = |body: &[u8]| match is_read_alike(body) {
        true => sound += 1,
        false => bad += 1,
    };
    for body in BODIES.map(str::as_bytes) {
        assert_eq!(read([body]).end, Ok(()), "{}", body.escape_ascii());
        for at in 0..body.len() {
            let (head, tail) = (&body[..at], &body[at..]);
            check(head);
            check(&[head, &tail[1..]].concat());
            for byte in bytes {
                check(&[head, &[*byte], tail].concat());
                check(&[head, &[*byte], &tail[1..]].concat());
            }
        }
    }
    assert!(sound > 1000 && bad > 1000, "{sound} sound, {bad} bad");
}

#[test]
fn brackets_behind_a_string_nest_no_deeper() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1] {
            // The outermost object and the array are two.
            let body = [
                "{\"a\":[\"b\",",
                &open.repeat(depth - 2),
                "\"c\"",
                &close.repeat(depth - 2),
                "]}",
            ]
            .concat();
            let want = if depth > MAX_DEPTH {
                Err(BodyError::TooDeep)
            } else {
                Ok(())
            };
            assert_eq!(read([body.as_bytes()]).end, want, "{depth} of {open}");
            is_read_alike(body.as_bytes());
        }
    }
}
