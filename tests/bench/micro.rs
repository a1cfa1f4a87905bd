//! `make bench`: how fast the pure core is, natively. Medians of several runs, as rates and as a
//! ratio to reading the same bytes once, so that figures of different machines can be compared.

#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::float_arithmetic
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use trilane::body::BodyScanner;
use trilane::config::record::KeyDigest;
use trilane::model::name::fold_tier;
use trilane::protocol::match_request;
use trilane::usage::{Meter, Wire};

const RUNS: usize = 9;
const RUN: Duration = Duration::from_millis(120);

fn main() {
    println!("{:<36} {:>12} {:>10}", "body scanner", "MB/s", "of a read");
    for (name, body) in bodies() {
        let scan = median(|| {
            let mut scanner = BodyScanner::json();
            scanner.feed(black_box(&body)).unwrap();
            scanner.finish().unwrap();
            black_box(scanner.model().is_some());
        });
        let read = median(|| {
            let sum = black_box(&body).iter().map(|b| u64::from(*b)).sum::<u64>();
            black_box(sum);
        });
        let rate = body.len() as f64 / scan / 1e6;
        println!("{name:<36} {rate:>12.0} {:>9.0} %", 100.0 * read / scan);
    }
    usage();
    println!("\n{:<36} {:>12}", "operation", "ns");
    let operations: [(&str, &dyn Fn()); 3] = [
        ("key digest (SHA-256)", &|| {
            black_box(KeyDigest::of(black_box(
                b"sk-0123456789abcdef0123456789abcdef",
            )));
        }),
        ("model name folding", &|| {
            black_box(fold_tier(black_box("claude-opus-4.5-20251101-thinking")));
        }),
        ("endpoint", &|| {
            black_box(
                match_request(
                    b"POST",
                    black_box(b"/v1beta/models/gemini-2.5-flash:generateContent"),
                )
                .is_ok(),
            );
        }),
    ];
    for (name, operation) in operations {
        println!("{name:<36} {:>12.0}", median(operation) * 1e9);
    }
}

/// How fast the meter reads answers, in the chunks that an upstream's reads come in.
fn usage() {
    println!(
        "\n{:<36} {:>12} {:>10} {:>12}",
        "usage meter", "MB/s", "of a read", "ns an event"
    );
    for (name, wire, body, events) in answers() {
        let meter = median(|| {
            let mut meter = Meter::new(wire);
            for chunk in black_box(&body).chunks(16 * 1024) {
                meter.feed(chunk);
            }
            let reading = meter.finish();
            assert!(reading.finished && reading.usage.is_some());
            black_box(reading);
        });
        let read = median(|| {
            let sum = black_box(&body).iter().map(|b| u64::from(*b)).sum::<u64>();
            black_box(sum);
        });
        let rate = body.len() as f64 / meter / 1e6;
        let share = 100.0 * read / meter;
        let each = meter * 1e9 / f64::from(events);
        println!("{name:<36} {rate:>12.0} {share:>9.0} % {each:>12.0}");
    }
}

/// Answers as they are on the wire, and how many events each has.
fn answers() -> Vec<(&'static str, Wire, Vec<u8>, u32)> {
    const EVENTS: u32 = 1000;
    let stream = |first: &str, delta: &str, last: &str| {
        format!("{first}{}{last}", delta.repeat(EVENTS as usize)).into_bytes()
    };
    let chat = concat!(
        r#"data: {"id":"chatcmpl-9k2","object":"chat.completion.chunk","created":1763700000,"model":"gpt-5.1-2025-11-13","#,
        r#""service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" the quick\n"},"#,
        r#""logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Xk2"}"#,
        "\n\n"
    );
    let chat_end = concat!(
        r#"data: {"id":"chatcmpl-9k2","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":8}}"#,
        "\n\ndata: [DONE]\n\n"
    );
    let responses = concat!(
        "event: response.output_text.delta\n",
        r#"data: {"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_1","output_index":2,"#,
        r#""content_index":0,"delta":" the quick","logprobs":[],"obfuscation":"Xk2"}"#,
        "\n\n"
    );
    let responses_end = concat!(
        r#"data: {"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":8}}}"#,
        "\n\n"
    );
    let messages = concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the quick brown fox"}}"#,
        "\n\n"
    );
    let messages_end = concat!(
        r#"data: {"type":"message_delta","usage":{"input_tokens":9,"output_tokens":8}}"#,
        "\n\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n"
    );
    let generate = concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":" the quick brown fox jumps over\n"}],"role":"model"},"index":0}],"#,
        r#""usageMetadata":{"promptTokenCount":1234,"candidatesTokenCount":10,"totalTokenCount":1244,"promptTokensDetails":"#,
        r#"[{"modality":"TEXT","tokenCount":1234}]},"modelVersion":"gemini-2.5-flash","responseId":"r1"}"#,
        "\r\n\r\n"
    );
    let generate_end = concat!(
        r#"data: {"candidates":[{"finishReason":"STOP"}]}"#,
        "\r\n\r\n"
    );
    let image = "iVBORw0KGgo=".repeat(1_000_000 / 12);
    let text = "The quick brown fox jumps over the lazy dog.\\nAgain: \u{e9}. ".repeat(20_000);
    vec![
        ("Chat stream", Wire::Chat, stream("", chat, chat_end), EVENTS),
        (
            "Responses stream",
            Wire::Responses,
            stream("", responses, responses_end),
            EVENTS,
        ),
        (
            "Messages stream",
            Wire::Messages,
            stream("", messages, messages_end),
            EVENTS,
        ),
        (
            "Generate stream",
            Wire::Generate,
            stream("", generate, generate_end),
            EVENTS,
        ),
        (
            "1 MB image, JSON",
            Wire::Images,
            format!(r#"{{"data":[{{"b64_json":"{image}"}}],"usage":{{"input_tokens":9}}}}"#)
                .into_bytes(),
            1,
        ),
        (
            "1 MB image, event",
            Wire::Images,
            format!(
                "data: {{\"type\":\"image_generation.completed\",\"b64_json\":\"{image}\",\"usage\":{{\"input_tokens\":9}}}}\n\n"
            )
            .into_bytes(),
            1,
        ),
        (
            "1 MB text, JSON",
            Wire::Messages,
            format!(r#"{{"content":[{{"text":"{text}"}}],"usage":{{"input_tokens":9}}}}"#)
                .into_bytes(),
            1,
        ),
    ]
}

fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let message =
        r#"{"role":"user","content":"The quick brown fox jumps over the lazy dog.\nAgain. "},"#;
    let with = |messages: usize| {
        let list = message.repeat(messages);
        format!(
            r#"{{"messages":[{}],"model":"gpt-5.1","stream":true}}"#,
            list.trim_end_matches(',')
        )
    };
    let prompt = "x".repeat(1_000_000);
    vec![
        ("1 KB chat, model last", with(10).into_bytes()),
        ("100 KB chat, model last", with(1_150).into_bytes()),
        ("1 MB chat, model last", with(11_500).into_bytes()),
        (
            "1 MB, one long string",
            format!(r#"{{"model":"gpt-5.1","input":"{prompt}"}}"#).into_bytes(),
        ),
    ]
}

/// The median time of one call, in seconds.
fn median(operation: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let mut calls = 0_u32;
            while start.elapsed() < RUN {
                for _ in 0..16 {
                    operation();
                }
                calls += 16;
            }
            start.elapsed().as_secs_f64() / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(RUNS / 2).copied().unwrap_or(f64::NAN)
}
