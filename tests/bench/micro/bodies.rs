//! Benchmarks of the scanner: the speed at which a request body is read.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use trilane::body::BodyScanner;
use trilane_instructions::payloads::{
    CHINESE, GERMAN, ModelPosition, escaped, prompt, prompt_of, prompt_with_numbers,
    prompt_with_tools,
};

/// The amount of a request that Envoy hands over at a time, in bytes.
const PIECE: usize = 64 * 1024;

pub fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scanner");
    for (size, bytes) in [("1k", 1 << 10), ("100k", 100 << 10), ("1m", 1 << 20)] {
        for (place, told) in [
            (ModelPosition::First, "first"),
            (ModelPosition::Last, "last"),
        ] {
            let body = prompt("gpt-5.1", bytes, place, true);
            let id = BenchmarkId::new(size, format!("model {told}"));
            group.throughput(Throughput::BytesDecimal(body.len() as u64));
            group.bench_with_input(id, &body, |b, body| b.iter(|| scan(body)));
        }
    }
    // A document pasted into a prompt: nearly all of the body is one string.
    let long = format!(r#"{{"model":"gpt-5.1","input":"{}"}}"#, "x".repeat(1 << 20));
    group.throughput(Throughput::BytesDecimal(long.len() as u64));
    group.bench_with_input("1m/one string", long.as_bytes(), |b, body| {
        b.iter(|| scan(body))
    });
    // Text outside ASCII, as it stands and escaped; and bodies that are full of numbers.
    for (told, body) in [
        ("German", prompt_of(GERMAN, 100 << 10)),
        ("Chinese", prompt_of(CHINESE, 100 << 10)),
        ("Chinese, escaped", prompt_of(&escaped(CHINESE), 100 << 10)),
        ("tools", prompt_with_tools(100 << 10)),
        ("numbers", prompt_with_numbers(100 << 10)),
    ] {
        group.throughput(Throughput::BytesDecimal(body.len() as u64));
        group.bench_with_input(BenchmarkId::new("100k", told), &body, |b, body| {
            b.iter(|| scan(body));
        });
    }
    // What reading each byte once costs at the least.
    group.bench_with_input("1m/sum of the bytes", long.as_bytes(), |b, body| {
        b.iter(|| {
            black_box(body)
                .iter()
                .map(|byte| u64::from(*byte))
                .sum::<u64>()
        });
    });
    group.finish();
}

fn scan(body: &[u8]) {
    let mut scanner = BodyScanner::json();
    for piece in black_box(body).chunks(PIECE) {
        scanner.feed(piece).expect("a body without a fault");
    }
    scanner.finish().expect("a whole body");
    assert!(black_box(&scanner).model().is_some());
}
