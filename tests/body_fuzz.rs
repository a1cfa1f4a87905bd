//! A short fuzz of the body scanners that needs nothing but `cargo test`.
//!
//! `FUZZ_SECONDS` bounds each test (default 5), `FUZZ_SEED` repeats or varies a run.
//! The same checks run under cargo-fuzz in `tests/fuzz`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

#[path = "fuzz/checks.rs"]
mod checks;
#[path = "fuzz/random.rs"]
mod random;

use checks::Verdict;
use random::Random;
use std::time::{Duration, Instant};

/// Longest body that is tried, in bytes.
const MAX_BODY: usize = 2000;
/// The maximum number of bodies that are kept to be changed further.
const POOL: usize = 2000;

/// Changes a body in one way.
fn mutate(body: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&[u8]], random: &mut Random) {
    let at = random.below(body.len() + 1);
    match random.below(8) {
        0 if at < body.len() => body[at] ^= 1 << random.below(8),
        1 if at < body.len() => body[at] = random.below(256) as u8,
        2 => body.insert(at, random.below(256) as u8),
        3 => drop(body.drain(random.range(body.len(), 4))),
        4 => body.truncate(at),
        5 => {
            let copy = body[random.range(body.len(), 4)].to_vec();
            body.splice(at..at, copy);
        }
        6 => {
            let other = &pool[random.below(pool.len())];
            let piece = other[random.range(other.len(), 4)].to_vec();
            body.splice(random.range(body.len(), 4), piece);
        }
        _ => {
            let word = random.pick(words);
            body.splice(at..at, word.iter().copied());
        }
    }
    body.truncate(MAX_BODY);
}

fn fuzz(extension: &str, more: &[&str], words: &[&[u8]], check: fn(&[u8]) -> Verdict) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("FUZZ_SECONDS").unwrap_or(5);
    let seed = number("FUZZ_SEED").unwrap_or(0x0074_7269_6C61_6E65);
    let mut random = Random(seed.max(1));
    let mut pool: Vec<Vec<u8>> = more.iter().map(|text| text.as_bytes().to_vec()).collect();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/edge");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    pool.extend(files.iter().map(|path| std::fs::read(path).unwrap()));
    pool.retain(|body| body.len() <= MAX_BODY);
    let seeds = pool.len();

    let start = Instant::now();
    let (mut runs, mut accepted) = (0u64, 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..100 {
            let mut body = pool[random.below(pool.len())].clone();
            for _ in 0..=random.below(4) {
                mutate(&mut body, &pool, words, &mut random);
            }
            runs += 1;
            if check(&body).result.is_ok() {
                accepted += 1;
                if pool.len() < POOL {
                    pool.push(body);
                } else {
                    let place = seeds + random.below(POOL - seeds);
                    pool[place] = body;
                }
            }
        }
    }
    println!("{extension}: seed {seed}, {runs} bodies, {accepted} accepted");
    assert!(
        seconds == 0 || accepted > 0,
        "the mutations never make a good body"
    );
}

#[test]
fn json() {
    let seeds = [
        r#"{"model":"m1","stream":true,"a":[1,-0.5e+3,"\u00e9\ud83d\ude00",{"model":[]}],"b":null}"#,
        "{ \"mod\\u0065l\" : \"gpt-\u{e9}\u{20ac}\u{1f600}\" ,\r\n\t\"x\" : { } , \"stream\":false }",
        r#"{"model":"m1","stream_options":{"a":{"include_usage":1},"include_usage":null ,"b":[]},"c":false}"#,
        r#"{"stream_options":{"x":[{}],"y":null},"model":"m1","include_usage":true}"#,
        r#"{"max_tokens":1024,"model":"m1","max_output_tokens":null,"max\u005ftokens":7.5}"#,
        r#"{"generationConfig":{"a":[{}],"maxOutputTokens":64 },"generation_config":{"max_output_tokens":0}}"#,
    ];
    let long = "m".repeat(250);
    let words: &[&[u8]] = &[
        b"\"model\":\"m\",",
        b"\"stream\":true,",
        b"\"stream_options\":{\"include_usage\":false},",
        b"\"stream_options\":null,",
        b"\"stream_options\":{},",
        b"\"stream_options\":",
        b"\"include_usage\":null,",
        b"\"include_usage\":true",
        b"\"max_tokens\":10,",
        b"\"max_output_tokens\":9",
        b"\"maxOutputTokens\":18446744073709551616,",
        b"\"generationConfig\":{",
        b"MAX_TOKENS",
        b"stream_options",
        b"include_usage",
        b"Include_U",
        b"model",
        b"stream",
        b"Model",
        b"\\u006d",
        b"\\ud83d",
        b"\\ude00",
        b"\\u0000",
        b"\\u017f",
        b"\\n",
        b"\\\\",
        b"\\\"",
        b"\xC5\xBF",
        b"\xE2\x82\xAC",
        b"\xF0\x9F\x98\x80",
        b"\xED\xA0\x80",
        b"\xC0\x80",
        b"\xF4\x90\x80\x80",
        b"\xEF\xBB\xBF",
        b"true",
        b"false",
        b"null",
        b"1e999",
        b"-0",
        b"0.1",
        b"[",
        b"]",
        b"{",
        b"}",
        b":",
        b",",
        b"\"",
        b"\\",
        b" ",
        b"\n",
        b"\x7F",
        b"\x1F",
        b"        ",
        long.as_bytes(),
    ];
    fuzz("json", &seeds, words, checks::json);
}

#[test]
fn multipart() {
    let seeds = [concat!(
        "------B\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a;b.png\"\r\nContent-Type: image/png\r\n\r\nx\r\ny\r\n",
        "------B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm-\u{e9}\r\n",
        "------B\r\nContent-Disposition: form-data; name=stream\r\nContent-Transfer-Encoding: 8bit\r\n\r\ntrue\r\n",
        "------B--\r\n",
    )];
    let long = "m".repeat(250);
    let words: &[&[u8]] = &[
        b"\r\n------B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm1",
        b"\r\n------B\r\nContent-Disposition: form-data; name=\"stream\"\r\n\r\ntrue",
        b"\r\n------B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n",
        b"------B",
        b"------B--",
        b"\r\n------B",
        b"\r\n----",
        b"\n------B",
        b"\r",
        b"\n",
        b"\r\n",
        b"\r\n\r\n",
        b"-",
        b"--",
        b"; name=\"model\"",
        b"; name*=model",
        b"; filename=\"model\"",
        b"name=",
        b"model",
        b"Model",
        b"stream",
        b"true",
        b"\"",
        b"\\\"",
        b";",
        b"=",
        b" ",
        b"Content-Transfer-Encoding: base64\r\n",
        b"\xC3\xA9",
        b"\xFF",
        b"\0",
        long.as_bytes(),
    ];
    fuzz("multipart", &seeds, words, checks::multipart);
}
