use super::*;
use crate::usage::numbers::Numbers;

/// An event that is remembered, and the numbers known after those like it.
struct Known {
    template: EventTemplate,
    numbers: Numbers,
}

/// Remembers `text`, in which holes are marked: `«text»`, `‹digits›`, `⟨number⟩`, `⟦line⟧`; every number is told
/// as the one of slot 0, 1 and so on.
fn template(text: &str) -> Known {
    let mut event = String::new();
    let mut holes = Holes::default();
    let (mut start, mut slot) = (0, 0);
    for character in text.chars() {
        let kind = match character {
            '«' | '‹' | '⟨' | '⟦' => {
                start = event.len();
                continue;
            }
            '»' => HoleKind::Text,
            '›' => HoleKind::Digits,
            '⟩' => {
                slot += 1;
                HoleKind::Number(slot - 1)
            }
            '⟧' => HoleKind::Line,
            _ => {
                event.push(character);
                continue;
            }
        };
        holes.add(start, event.len(), kind);
    }
    let mut numbers = Numbers::default();
    (0..slot).for_each(|slot| numbers.set(slot, 1000));
    let mut template = EventTemplate::default();
    template.learn(event.as_bytes(), &holes, true, None);
    Known { template, numbers }
}

/// Compares another event: returns its numbers and the bytes behind it.
fn compared(known: &mut Known, other: &str) -> Result<(Vec<u64>, String), &'static str> {
    let Known { template, numbers } = known;
    match template.compare(other.as_bytes()) {
        TemplateMatch::Alike(rest) => {
            for (slot, value) in template.changed_numbers() {
                numbers.set(*slot, *value);
            }
            let numbers = (0..8).map_while(|slot| numbers.get(slot)).collect();
            Ok((numbers, core::str::from_utf8(rest).unwrap().to_owned()))
        }
        TemplateMatch::Unlike => Err("unlike"),
        TemplateMatch::Open => Err("open"),
    }
}

#[test]
fn what_is_like_it_is_told_from_the_rest() {
    let event = r#"{"a":"«one»","b":⟨1⟩,"c":"«two»","d":‹25›,"e":[⟨12⟩]}"#;
    let same = [1000, 1000];
    let cases = [
        (
            "the same",
            r#"{"a":"one","b":1,"c":"two","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "another text",
            r#"{"a":"uno","b":1,"c":"two","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "both others",
            r#"{"a":"x","b":1,"c":"somewhat longer","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "longer, same start",
            r#"{"a":"ones","b":1,"c":"two two","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "shorter, same start",
            r#"{"a":"on","b":1,"c":"","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "escapes",
            r#"{"a":"on\"e\\","b":1,"c":"\u0041\n","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "not ASCII",
            r#"{"a":"größer","b":1,"c":"二","d":25,"e":[12]}"#,
            Some(same),
        ),
        (
            "another number",
            r#"{"a":"one","b":2,"c":"two","d":25,"e":[12]}"#,
            Some([2, 1000]),
        ),
        (
            "longer numbers",
            r#"{"a":"one","b":18,"c":"two","d":250,"e":[12345]}"#,
            Some([18, 12345]),
        ),
        (
            "shorter numbers that nobody reads",
            r#"{"a":"","b":1,"c":"two","d":2,"e":[12]}"#,
            Some(same),
        ),
        (
            "less of the first",
            r#"{"a":"","b":0,"c":"two","d":2,"e":[13]}"#,
            None,
        ),
        (
            "less of the last",
            r#"{"a":"","b":2,"c":"two","d":2,"e":[1]}"#,
            None,
        ),
        (
            "leading zeros that nobody reads",
            r#"{"a":"one","b":1,"c":"two","d":0025,"e":[12]}"#,
            Some(same),
        ),
        (
            "a leading zero",
            r#"{"a":"one","b":01,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "a fraction",
            r#"{"a":"one","b":1.0,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "a sign",
            r#"{"a":"one","b":-1,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "too large",
            r#"{"a":"one","b":18446744073709551616,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "no number any more",
            r#"{"a":"one","b":,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "a word",
            r#"{"a":"one","b":null,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "another key",
            r#"{"a":"one","x":1,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "one more member",
            r#"{"a":"one","b":1,"c":"two","d":25,"e":[12],"f":1}"#,
            None,
        ),
        (
            "a text that hides the rest",
            r#"{"a":"one\","b":1,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "no text any more",
            r#"{"a":1,"b":1,"c":"two","d":25,"e":[12]}"#,
            None,
        ),
        (
            "a control character",
            "{\"a\":\"o\tne\",\"b\":1,\"c\":\"two\",\"d\":25,\"e\":[12]}",
            None,
        ),
    ];
    for (case, json, want) in cases {
        let other = format!("data: {json}\n\nmore");
        let mut known = template(&format!("data: {event}\n\n"));
        let got = compared(&mut known, &other);
        let want = want.map(|numbers| (numbers.to_vec(), "more".to_owned()));
        assert_eq!(got, want.clone().ok_or("unlike"), "{case}");
        // Of its beginning nothing else may be said, once anything is.
        for end in 0..other.len() - "more".len() {
            let mut known = template(&format!("data: {event}\n\n"));
            let beginning = compared(&mut known, &other[..floor(&other, end)]);
            let open = beginning == Err("open");
            assert!(
                open || beginning == got && want.is_none(),
                "{case}, {end}: {beginning:?}"
            );
        }
    }
    assert_eq!(
        compared(&mut template(""), "data: {}\n\n"),
        Err("unlike"),
        "nothing remembered"
    );
}

/// The border of a character at or before a hole.
fn floor(text: &str, hole: usize) -> usize {
    (0..=hole)
        .rev()
        .find(|hole| text.is_char_boundary(*hole))
        .unwrap()
}

#[test]
fn of_what_is_lost_the_line_is_free() {
    let mut known = template("data: {\"type\":\"x\"⟦,\"a\":1}⟧\r\ndata: ⟦more⟧\r\n\r\n");
    let cases = [
        (
            "the same",
            "data: {\"type\":\"x\",\"a\":1}\r\ndata: more\r\n\r\n",
            Ok("\n"),
        ),
        (
            "others",
            "data: {\"type\":\"x\"\"\\{\r\ndata: \r\n\r\n",
            Ok("\n"),
        ),
        (
            "a line more",
            "data: {\"type\":\"x\"}\r\ndata: a\r\ndata: a\r\n\r\n",
            Err("unlike"),
        ),
        (
            "another line end",
            "data: {\"type\":\"x\"}\ndata: a\n\n",
            Err("unlike"),
        ),
        (
            "a line that goes on",
            "data: {\"type\":\"x\"},",
            Err("open"),
        ),
        (
            "without the last LF",
            "data: {\"type\":\"x\"}\r\ndata: a\r\n\r",
            Ok(""),
        ),
    ];
    for (case, other, want) in cases {
        let got = compared(&mut known, other);
        assert_eq!(
            got.as_ref()
                .map(|(_, rest)| rest.as_str())
                .map_err(|err| *err),
            want,
            "{case}"
        );
    }
}

#[test]
fn long_texts_take_no_room() {
    let long = "x".repeat(3 * MAX_EVENT);
    let mut known = template(&format!("data: \"«{long}»\",⟨7⟩\n\n"));
    for text in ["", "y", "x", &long] {
        let got = compared(&mut known, &format!("data: \"{text}\",8\n\n"));
        assert_eq!(got, Ok((vec![8], String::new())), "{text}");
    }
    let rigid = format!("data: \"{long}\"\n\n");
    assert_eq!(compared(&mut template(&rigid), &rigid), Err("unlike"));
}

/// The numbers of the last event are those that the next one is compared with.
#[test]
fn numbers_only_grow() {
    let mut known = template("data: {\"a\":⟨5⟩,\"b\":⟨70⟩}\n\n");
    // (a, b, what it is)
    let events = [
        ("5", "70", Some(1000)),
        ("7", "70", Some(7)),
        ("7", "71", Some(7)),
        ("9", "99", Some(9)),
        ("5", "99", None),
        ("9", "70", None),
        ("9", "99", Some(9)),
        // There is no room for another digit: it is told, and nothing is like it from then on.
        ("10", "99", Some(10)),
        ("10", "99", None),
    ];
    for (at, (first, second, want)) in events.into_iter().enumerate() {
        let got = compared(
            &mut known,
            &format!("data: {{\"a\":{first},\"b\":{second}}}\n\n"),
        );
        let got = got.ok().map(|(numbers, _)| numbers[0]);
        assert_eq!(got, want, "{at}: {first}, {second}");
    }
}

#[test]
fn as_many_numbers_may_differ_as_there_is_room_for() {
    let event = |of: &str, count| format!("data: [{}]\n\n", vec![of; count].join(","));
    for (count, want) in [
        (MAX_VALUES, Ok(vec![2; 8])),
        (MAX_VALUES + 1, Err("unlike")),
    ] {
        let mut known = template(&event("⟨1⟩", count));
        let got = compared(&mut known, &event("2", count)).map(|(numbers, _)| numbers);
        assert_eq!(got, want, "{count}");
    }
}
