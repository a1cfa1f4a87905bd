use super::*;
use proptest::prelude::*;

const USAGE: &str =
    r#"data: {"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}"#;
const WORD: &str =
    r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}],"usage":null}"#;

/// Returns the bytes that go on of pieces, the last of which ends the stream.
fn passed(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut filter = UsageEventFilter::default();
    let last = pieces.len().saturating_sub(1);
    let piece = |(i, piece): (usize, &&[u8])| {
        let changed = filter.pass(piece, i == last);
        assert!(filter.held.len() <= MAX_HELD, "held: {}", filter.held.len());
        changed.unwrap_or_else(|| piece.to_vec())
    };
    pieces.iter().enumerate().map(piece).collect()
}

#[test]
fn only_an_event_with_a_usage_and_no_choices_is_left_out() {
    let cases: &[(&str, &str, bool)] = &[
        ("the vendor's", USAGE, true),
        (
            "members in another order",
            r#"data:{"usage":{},"x":[1],"choices" : [ ]}"#,
            true,
        ),
        (
            "with an event's name",
            "event: message\ndata: {\"choices\":[],\"usage\":{}}",
            true,
        ),
        (
            "in two lines",
            "data: {\"choices\":[],\ndata: \"usage\":{}}",
            true,
        ),
        ("a word", WORD, false),
        (
            "a word and a usage",
            r#"data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}"#,
            false,
        ),
        (
            "no usage",
            r#"data: {"choices":[],"prompt_filter_results":[]}"#,
            false,
        ),
        (
            "a usage of null",
            r#"data: {"choices":[],"usage":null}"#,
            false,
        ),
        (
            "no choices at all",
            r#"data: {"usage":{"prompt_tokens":1}}"#,
            false,
        ),
        (
            "choices of null",
            r#"data: {"choices":null,"usage":{}}"#,
            false,
        ),
        (
            "an error",
            r#"data: {"choices":[],"usage":{},"error":{"message":"x"}}"#,
            false,
        ),
        (
            "said in a text",
            r#"data: {"choices":[{"delta":{"content":"\"choices\":[],\"usage\":{}"}}]}"#,
            false,
        ),
        (
            "further down",
            r#"data: {"x":{"choices":[],"usage":{}}}"#,
            false,
        ),
        (
            "a usage further down",
            r#"data: {"choices":[],"x":{"usage":{}}}"#,
            false,
        ),
        (
            "twice",
            r#"data: {"choices":[],"choices":[],"usage":{}}"#,
            false,
        ),
        ("no JSON", r#"data: {"choices":[],"usage":{}"#, false),
        ("the end", "data: [DONE]", false),
        ("a comment", ": \"choices\":[],\"usage\":{}", false),
        ("another field", "id: {\"choices\":[],\"usage\":{}}", false),
        ("nothing", "", false),
    ];
    for (case, event, left_out) in cases {
        for end in ["\n\n", "\r\n\r\n", "\r\r", "\n\r\n"] {
            let stream = format!("{WORD}\n\n{event}{end}data: [DONE]\n\n");
            let want = if *left_out {
                format!("{WORD}\n\ndata: [DONE]\n\n")
            } else {
                stream.clone()
            };
            let bytes = stream.as_bytes();
            for at in 0..=bytes.len() {
                let (one, two) = bytes.split_at(at);
                let got = passed(&[one, two]).concat();
                let got = String::from_utf8(got).unwrap();
                assert_eq!(got, want, "{case}, {end:?}, split at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let got = String::from_utf8(passed(&single).concat()).unwrap();
            assert_eq!(got, want, "{case}, {end:?}, byte by byte");
        }
    }
}

#[test]
fn the_last_event_may_lack_its_blank_line() {
    for (case, stream, want) in [
        ("whole", format!("{WORD}\n\n{USAGE}"), format!("{WORD}\n\n")),
        ("one line end", format!("{USAGE}\n"), String::new()),
        ("another event", WORD.to_owned(), WORD.to_owned()),
        ("cut", USAGE[..40].to_owned(), USAGE[..40].to_owned()),
    ] {
        let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        let got = String::from_utf8(passed(&single).concat()).unwrap();
        assert_eq!(got, want, "{case}");
    }
}

#[test]
fn what_cannot_be_that_event_is_not_held() {
    for (case, beginning, held) in [
        ("a word, cut", &WORD[..40], false),
        ("a comment", ": ping\n", false),
        ("the end", "data: [DO", false),
        ("a document", "{\"cho", false),
        ("before its choices", &USAGE[..20], true),
        ("after its choices", &USAGE[..35], true),
        ("a name", "da", true),
        ("another field", "event: x\n", true),
    ] {
        let mut filter = UsageEventFilter::default();
        let went = filter.pass(beginning.as_bytes(), false);
        let holds = went.is_some_and(|bytes| bytes.is_empty());
        assert_eq!(holds, held, "{case}");
    }
}

#[test]
fn what_grows_too_long_is_let_go() {
    let long = format!(
        "data: {{\"choices\":[],\"x\":\"{}\"}}\n\n",
        "y".repeat(2 * MAX_HELD)
    );
    let stream = [long.as_bytes(), USAGE.as_bytes(), b"\n\n"].concat();
    let pieces: Vec<&[u8]> = stream.chunks(1000).collect();
    assert_eq!(passed(&pieces).concat(), long.as_bytes());
}

#[test]
fn bytes_that_nothing_is_taken_from_are_not_copied() {
    let mut filter = UsageEventFilter::default();
    let stream = format!("{WORD}\n\n{WORD}\n\n");
    assert_eq!(filter.pass(stream.as_bytes(), false), None);
    assert_eq!(filter.pass(b"", true), None);
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn total_and_nothing_is_lost(
        events in prop::collection::vec(0..7usize, 0..12),
        end in 0..3usize,
        cuts in prop::collection::vec(0..2000usize, 0..20),
        noise in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let texts = [USAGE, WORD, ": ping", "data: [DONE]", "event: x\ndata: {\"choices\":[]}", "data:", ""];
        let (mut stream, mut want) = (Vec::new(), Vec::new());
        for text in events {
            let event = [texts[text], ["\n\n", "\r\n\r\n", "\r\r"][end]].concat();
            stream.extend_from_slice(event.as_bytes());
            if text != 0 {
                want.extend_from_slice(event.as_bytes());
            }
        }
        // What is no line at all is at the end, so that all before it is as told.
        if !noise.starts_with(b"\n") {
            stream.extend_from_slice(&noise);
            want.extend_from_slice(&noise);
        }
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= stream.len()).collect();
        cuts.sort_unstable();
        let (mut pieces, mut from) = (Vec::new(), 0);
        for cut in cuts {
            pieces.push(&stream[from..cut]);
            from = cut;
        }
        pieces.push(&stream[from..]);
        prop_assert_eq!(passed(&pieces).concat(), want);
    }
}
