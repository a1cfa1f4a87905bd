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
