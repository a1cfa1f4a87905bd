//! Benchmarks of operations that run once a request, in operations a second.

use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, Throughput};
use trilane::exchange::Route;
use trilane::head::Head;
use trilane::keys::{KeyDigest, KeyRecord, KeyTable};
use trilane::model::name::fold_tier;
use trilane::protocol::Protocol;
use trilane::protocol::match_request;
use trilane_instructions::exchange::{Setting, run};
use trilane_instructions::head;
use trilane_instructions::kinds::kind;

pub fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("operation");
    group.throughput(Throughput::Elements(1));

    let bytes = head::handed_over(
        "POST",
        "/v1/messages",
        ("x-api-key", "trilane-demo-b"),
        1024,
    );
    group.bench_function("head, 21 headers", |b| {
        b.iter(|| Head::handed_over(black_box(&bytes).clone()))
    });
    let path = b"/v1beta/models/gemini-2.5-flash:generateContent";
    group.bench_function("endpoint", |b| {
        b.iter(|| match_request(b"POST", black_box(path)))
    });

    for (name, model) in [
        ("canonical", "claude-opus-4-5"),
        ("dated", "claude-opus-4-5-20251101"),
        ("everything", "claude-opus-4.5-20251101-thinking[1m]"),
    ] {
        group.bench_function(format!("model name folded, {name}"), |b| {
            b.iter(|| fold_tier(black_box(model)).len())
        });
    }
    policy(&mut group);
    key(&mut group);

    let setting = Setting::of_sample();
    for name in ["chat", "messages-stream", "refused"] {
        let record = run(&kind(name).expect("a kind"), &setting);
        group.bench_function(format!("ledger line, {name}"), |b| {
            b.iter(|| black_box(&record).to_members())
        });
    }
    group.finish();
}

type TimedGroup<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// From the id of a key's group to the model that a name means.
fn policy(group: &mut TimedGroup<'_>) {
    let policy = Setting::of_sample().in_force.policy;
    for (name, id, protocol, model) in [
        ("A", "a-official", Protocol::A, "gpt-5.1"),
        ("B", "b-official", Protocol::B, "claude-opus-4.5-20251101"),
        ("Mixed", "mixed", Protocol::B, "claude-opus-4-5"),
    ] {
        group.bench_function(format!("policy, {name}"), |b| {
            b.iter(|| {
                let group = policy.group(black_box(id)).expect("the group is there");
                let route = Route::find(group, protocol).expect("it serves the protocol");
                Rc::clone(route.model(black_box(model)).expect("it has the model"))
            });
        });
    }
}

/// From a key as it was sent to its record.
fn key(group: &mut TimedGroup<'_>) {
    let sent = b"sk-0123456789abcdef0123456789abcdef";
    group.bench_function("key digest (SHA-256)", |b| {
        b.iter(|| KeyDigest::of(black_box(sent)))
    });
    let record = KeyRecord {
        id: "key_0123".into(),
        group: "a-official".into(),
        expires_at: Some(1_900_000_000),
        ..KeyRecord::default()
    };
    // Among a thousand keys.
    let others = (0..1000_u32).map(|number| KeyDigest::of(&number.to_le_bytes()));
    let all = others.chain([KeyDigest::of(sent)]);
    let keys: Vec<_> = all.map(|digest| (digest, record.clone())).collect();
    let table = KeyTable::of(&keys);
    group.bench_function("key digest and record", |b| {
        b.iter(|| table.get(&KeyDigest::of(black_box(sent))))
    });
}
