//! A short fuzz of the usage meter that needs nothing but `cargo test`.
//!
//! `FUZZ_SECONDS` bounds it (default 5), `FUZZ_SEED` repeats or varies a run.
//! The same checks run under cargo-fuzz in `tests/fuzz`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

#[path = "fuzz/usage_checks.rs"]
mod checks;
#[path = "fuzz/random.rs"]
mod random;

use random::Random;
use std::time::{Duration, Instant};

/// Longest answer that is tried, in bytes.
const MAX_BODY: usize = 2400;
/// The maximum number of responses that are kept to be changed further.
const POOL: usize = 1000;

const WORDS: &[&[u8]] = &[
    b"\n\n",
    b"\r\n\r\n",
    b"\r",
    b"\n",
    b"\ndata: ",
    b"data:",
    b"data",
    b": comment\n",
    b"data: [DONE]\n\n",
    b"data: {\"error\":{\"type\":\"t\",\"code\":\"c\"}}\n\n",
    b"data: {\"type\":\"message_stop\"}\n\n",
    b"\xEF\xBB\xBF",
    b"\"usage\":{",
    b"\"usage\":null,",
    b"\"prompt_tokens\":7,",
    b"\"input_tokens\":7,",
    b"\"output_tokens\":7,",
    b"\"cache_creation_input_tokens\":5,",
    b"\"iterations\":[{\"type\":\"compaction\",\"input_tokens\":3}],",
    b"\"cachedContentTokenCount\":2,",
    b"\"error\":\"e\",",
    b"\"type\":\"content_block_delta\",",
    b"\"type\":\"response.output_text.delta\",",
    b"\"type\":\"response.output_item.done\",",
    b"\"type\":\"web_search_call\",",
    b"\"type\":\"advisor_message\",\"model\":\"n\",",
    b"\"modality\":\"AUDIO\",",
    b"\"tool_usage\":{\"web_search\":{\"num_requests\":1}},",
    b"\"delta\":\"d\",",
    b"\"audio\":{\"data\":\"AAAA\",\"transcript\":\"t\"},",
    b"\"images\":[{\"image_url\":{\"url\":\"AA\"}}],",
    b"\"inlineData\":{\"mimeType\":\"audio/l16\",\"data\":\"AA\"},",
    b"\"reasoning\":\"r\",\"reasoning_details\":[{\"text\":\"r\"}],",
    b"\"type\":\"response.output_item.added\",",
    b"\"type\":\"response.x.partial_image\",\"partial_image_b64\":\"AAA\",",
    b"\"type\":\"image_generation_call\",\"result\":\"AAAA\",",
    b"\"type\":\"server_tool_use\",\"name\":\"web_search\",",
    b"\"output_tokens\":5000000000,",
    b"\"text\":\"t\\u00e9\",",
    b"\"input\":{\"a\":\"\\u00e9\"},",
    b"\"id\":\"other\",",
    b"\"data\":[{},{}],",
    b"\"type\":",
    b"\"response.completed\"",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-1",
    b"1.0",
    b"1e3",
    b"007",
    b"true",
    b"null",
    b"\\u0075",
    b"\\ud83d\\ude00",
    b"\\ud83d",
    b"\\\"",
    b"\\\\",
    b"[",
    b"]",
    b"{",
    b"}",
    b"{}",
    b"[]",
    b":",
    b",",
    b"\"",
    b"\\",
    b" ",
    b"\xC3\xA9",
    b"\xFF",
    b"\0",
];

/// Changes an answer in one way.
fn mutate(body: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    let at = random.below(body.len() + 1);
    match random.below(8) {
        0 if at < body.len() => body[at] = random.below(256) as u8,
        // Another digit leaves sound JSON sound.
        1 => {
            let digit = body.iter().skip(at).position(u8::is_ascii_digit);
            if let Some(digit) = digit {
                body[at + digit] = b'0' + random.below(10) as u8;
            }
        }
        2 => drop(body.drain(random.range(body.len(), 6))),
        3 => body.truncate(at),
        4 => {
            let copy = body[random.range(body.len(), 6)].to_vec();
            body.splice(at..at, copy);
        }
        5 => {
            let other = &pool[random.below(pool.len())];
            let piece = other[random.range(other.len(), 6)].to_vec();
            body.splice(random.range(body.len(), 6), piece);
        }
        6 => {
            // Where a value or member may begin, a word is likelier to fit.
            let place = body.iter().skip(at).position(|byte| b"{,[:".contains(byte));
            let at = place.map_or(at, |place| at + place + 1);
            let word = random.pick(WORDS);
            body.splice(at..at, word.iter().copied());
        }
        _ => {
            let word = random.pick(WORDS);
            body.splice(at..at, word.iter().copied());
        }
    }
    body.truncate(MAX_BODY);
}

#[test]
fn answers() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("FUZZ_SECONDS").unwrap_or(5);
    let seed = number("FUZZ_SEED").unwrap_or(0x0074_7269_6C61_6E65);
    let mut random = Random(seed.max(1));
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut files: Vec<_> = ["responses", "told"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(format!("{fixtures}/{directory}")).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("manifest.json"))
        .collect();
    files.sort();
    let mut pool: Vec<Vec<u8>> = files
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    pool.retain(|body| body.len() <= MAX_BODY);
    let seeds = pool.len();
    assert!(seeds > 20, "only {seeds}");

    let start = Instant::now();
    let (mut runs, mut judged) = (0u64, 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..20 {
            let mut body = pool[random.below(pool.len())].clone();
            for _ in 0..=random.below(3) {
                mutate(&mut body, &pool, &mut random);
            }
            runs += 1;
            if checks::answer(&body) {
                judged += 1;
                if pool.len() < POOL {
                    pool.push(body);
                } else {
                    let place = seeds + random.below(POOL - seeds);
                    pool[place] = body;
                }
            }
        }
    }
    println!("seed {seed}, {runs} answers, {judged} judged in full");
    assert!(
        seconds == 0 || judged > 0,
        "the mutations never make a sound answer"
    );
}
