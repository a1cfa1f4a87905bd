//! Text is read sixteen bytes at a time by the vectors of WebAssembly. Native builds, and all tests of them, run the same code
//! on the vectors of their own machine. Here the built filter must read what those read.

use serde_json::json;
use trilane::body::BodyScanner;
use trilane::usage::estimate::{IMAGE_TOKENS, text_tokens};
use trilane::usage::{Meter, Reading, Wire};

use crate::chaos::Chance;
use crate::documents::gateway;
use crate::host::Process;
use crate::stream::{Stream, answered, chat};

/// Escapes and characters, whole ones first.
const PARTS: [&str; 20] = [
    r"\n",
    r"\t",
    r#"\""#,
    r"\\",
    r#"\\\""#,
    r"\u12aF",
    r"\r\n\b\f\/",
    "\u{e9}",
    "\u{20ac}",
    "\u{1f600}",
    "\u{d7ff}\u{e000}",
    "\u{7f}",
    r"\u12",
    r"\x",
    r"\",
    "\"",
    "\n",
    "\0",
    "\\\u{e9}",
    "\u{1f}",
];
/// The number of parts that are whole.
const WHOLE: usize = 12;
/// Bytes that are no text in UTF-8 by themselves.
const TORN: [&[u8]; 5] = [
    b"\x80",
    b"\xC3",
    b"\xE2\x82",
    b"\xED\xA0\x80",
    b"\xF4\x90\x80\x80",
];

/// A text inside a string: plain runs, escapes and characters at every place of a vector, once in a while a broken one.
fn text(chance: &mut Chance) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..chance.below(12) {
        text.resize(text.len() + chance.below(90), b'a');
        let part = PARTS[chance.below(WHOLE)].as_bytes();
        text.extend(part.repeat(1 + chance.below(3)));
    }
    match chance.below(8) {
        0 => text.extend(TORN[chance.below(TORN.len())]),
        1 => text.extend(PARTS[WHOLE + chance.below(PARTS.len() - WHOLE)].as_bytes()),
        _ => {}
    }
    text.resize(text.len() + chance.below(90), b'a');
    text
}

/// Cut at random into up to four pieces, none of them empty.
fn pieces<'a>(chance: &mut Chance, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = (0..3).map(|_| chance.below(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn is_good(body: &[u8]) -> bool {
    let mut scanner = BodyScanner::json();
    scanner.feed(body).and_then(|()| scanner.finish()).is_ok()
}

#[test]
fn escapes_at_every_place_are_read_as_natively() {
    let process = Process::new();
    let mut vm = gateway(&process);
    for place in 0..140 {
        for escape in [r#"\""#, r"\n", r"\\", r"\x", "\""] {
            // From the first escape on, a piece is looked at beside what is before it.
            let body = [
                r#"{"model":"gpt-x","input":"\n"#,
                &"a".repeat(place),
                escape,
                &"a".repeat(140),
                "\"}",
            ]
            .concat();
            let body = body.as_bytes();
            let mut stream = Stream::new(&mut vm, chat("key-a", None));
            stream.head(&mut vm, false).unwrap();
            stream.body(&mut vm, body, true).unwrap();
            let context = format!("{escape} at {place}");
            assert_eq!(stream.upstream.complete, is_good(body), "{context}");
            stream.end(&mut vm).unwrap();
        }
    }
}

#[test]
fn base64_at_every_place_is_read_as_natively() {
    let process = Process::new();
    let mut vm = gateway(&process);
    let mut kinds = [0, 0];
    for place in 0..140 {
        for odd in ["/", "_", "!", " ", "\u{e9}"] {
            let (before, behind) = ("A".repeat(1100 + place), "z".repeat(140));
            let url = format!("data:image/png;base64,{before}{odd}{behind}");
            let part = json!({"type": "image_url", "image_url": {"url": url}});
            let content = json!([{"role": "user", "content": [part]}]);
            let body = json!({"model": "gpt-x", "stream": true, "messages": content}).to_string();
            let mut scanner = BodyScanner::json();
            scanner.feed(body.as_bytes()).unwrap();
            let size = scanner.input_size();
            let mut stream = Stream::new(&mut vm, chat("key-a", None));
            stream.head(&mut vm, false).unwrap();
            stream.body(&mut vm, body.as_bytes(), true).unwrap();
            // The client leaves before anything is reported.
            let record = stream.end(&mut vm).unwrap().expect("a record");
            let want = text_tokens(size.text_bytes) + size.images * IMAGE_TOKENS;
            let context = format!("{odd:?} at {place}: {record}");
            assert_eq!(record["gen_ai.usage.input_tokens"], want, "{context}");
            kinds[usize::from(size.images == 1)] += 1;
        }
    }
    assert_eq!(kinds, [3 * 140, 2 * 140]);
}

#[test]
fn bodies_are_read_as_natively() {
    let process = Process::new();
    let mut vm = gateway(&process);
    let (mut good, mut bad) = (0, 0);
    for seed in 0..1500 {
        let mut chance = Chance::new(seed);
        let body = [
            br#"{"model":"gpt-x","input":""#,
            text(&mut chance).as_slice(),
            b"\"}",
        ]
        .concat();
        let mut stream = Stream::new(&mut vm, chat("key-a", None));
        stream.head(&mut vm, false).unwrap();
        let pieces = pieces(&mut chance, &body);
        for (index, piece) in pieces.iter().enumerate() {
            stream
                .body(&mut vm, piece, index + 1 == pieces.len())
                .unwrap();
        }
        let want = is_good(&body);
        let context = format!("seed {seed}: {}", body.escape_ascii());
        assert_eq!(stream.upstream.complete, want, "{context}");
        assert_eq!(stream.status() == 400, !want, "{context}");
        stream.end(&mut vm).unwrap();
        *(if want { &mut good } else { &mut bad }) += 1;
    }
    assert!(
        good > 500 && bad > 100,
        "{good} good bodies, {bad} bad ones"
    );
}

/// Events much like one another, with texts that nobody reads and numbers that are told.
fn events(chance: &mut Chance) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..2 + chance.below(4) {
        let text = text(chance);
        let numbers = [chance.below(1000), chance.below(1000)];
        stream.extend(br#"data: {"id":"i","choices":[{"delta":{"content":""#);
        stream.extend(&text[text.len().saturating_sub(300)..]);
        let [input, output] = numbers;
        let usage = format!(r#""prompt_tokens":{input},"completion_tokens":{output}"#);
        stream.extend(format!("\"}}}}],\"usage\":{{{usage}}}}}\n\n").bytes());
    }
    stream
}

fn native(answer: &[u8]) -> Reading {
    let mut meter = Meter::new(Wire::Chat);
    meter.feed(answer);
    meter.finish()
}

#[test]
fn answers_are_metered_as_natively() {
    let process = Process::new();
    let mut vm = gateway(&process);
    let mut told = 0;
    for seed in 0..600 {
        let mut chance = Chance::new(seed);
        let answer = events(&mut chance);
        let reading = native(&answer);
        let usage = reading.usage;
        let pieces = pieces(&mut chance, &answer);
        let record = answered(&mut vm, "200", pieces.iter().copied());
        // None of these streams ends as it should, so what was not reported is estimated.
        let reported = usage.map_or([0; 2], |usage| {
            [usage.input_tokens(), usage.output_tokens()]
        });
        let sent = record["http.request.body.size"].as_u64().unwrap();
        let estimated = [sent.div_ceil(4), reading.generated_bytes.div_ceil(4)];
        // Where the source left without a word, nothing was made.
        let is_made = usage.is_some() || reading.generated_bytes > 0;
        let want = [0, 1].map(|side| is_made.then(|| reported[side].max(estimated[side])));
        let got =
            ["input", "output"].map(|side| record[format!("gen_ai.usage.{side}_tokens")].as_u64());
        assert_eq!(got, want, "seed {seed}: {}", answer.escape_ascii());
        told += usize::from(usage.is_some());
    }
    assert!(told > 300, "{told} answers told their usage");
}
