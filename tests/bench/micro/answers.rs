//! Benchmarks of the meter: the speed at which it reads responses.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use trilane::usage::{Meter, Wire};
use trilane_instructions::exchange::ANSWER_PIECE;
use trilane_instructions::payloads::{
    CHINESE, chat_json, chat_json_of, chat_stream, escaped, generate_json, generate_stream,
    image_json, messages_json, messages_stream, responses_stream,
};

pub fn benchmarks(criterion: &mut Criterion) {
    // Each stream has `payloads::EVENTS` events.
    let mut streams = criterion.benchmark_group("meter, stream");
    for (name, wire, answer) in [
        ("A chat", Wire::Chat, chat_stream()),
        ("A responses", Wire::Responses, responses_stream()),
        ("B messages", Wire::Messages, messages_stream()),
        ("C generate", Wire::Generate, generate_stream()),
    ] {
        benchmark(&mut streams, name, wire, &answer);
    }
    streams.finish();
    let mut documents = criterion.benchmark_group("meter, JSON");
    for (name, wire, answer) in [
        ("A chat, 1k", Wire::Chat, chat_json(1 << 10)),
        ("A chat, 100k", Wire::Chat, chat_json(100 << 10)),
        (
            "B messages, 100k, not ASCII",
            Wire::Messages,
            messages_json(100 << 10),
        ),
        (
            "A chat, 100k, Chinese",
            Wire::Chat,
            chat_json_of(CHINESE, 100 << 10),
        ),
        (
            "A chat, 100k, Chinese, escaped",
            Wire::Chat,
            chat_json_of(&escaped(CHINESE), 100 << 10),
        ),
        ("C generate, 200 bytes", Wire::Generate, generate_json()),
        ("A image, 1m", Wire::Images, image_json(1 << 20)),
    ] {
        benchmark(&mut documents, name, wire, &answer);
    }
    documents.finish();
}

fn benchmark(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, wire: Wire, answer: &[u8]) {
    group.throughput(Throughput::BytesDecimal(answer.len() as u64));
    group.bench_with_input(name, answer, |b, answer| {
        b.iter(|| {
            let mut meter = Meter::new(wire);
            for piece in black_box(answer).chunks(ANSWER_PIECE) {
                meter.feed(piece);
            }
            let reading = meter.finish();
            assert!(reading.finished && reading.usage.is_some());
            reading
        });
    });
}
