//! The key store after a month of short-lived keys: a lookup is as fast as on the first day.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use trilane::config::FeedSource;
use trilane::feed::{FeedSync, PageAnswer};
use trilane::keys::{Coverage, FeedStatus, KeyDigest, KeyLookup, KeyTable, lookup, read};
use trilane::shared_data::{Conflict, SharedData};

use crate::churn::Churn;

/// The number of keys that come per day, and of those that exist at a time: each one lives for an hour.
const DAY: u64 = 1_000_000;
const LIVE: u64 = DAY / 24;
/// The number of changes between two pages, and the maximum number in a page.
const BETWEEN: u64 = 40;
const PAGE: u32 = 100;

pub fn benchmarks(criterion: &mut Criterion) {
    // What is only tried out takes a thousandth: `make bench SHORT=1`.
    let tried = std::env::args().any(|argument| argument == "--test");
    let scale = if tried { 1000 } else { 1 };
    let mut store = SyncedStore::new(LIVE / scale);
    let mut group = criterion.benchmark_group("key store");
    group.throughput(Throughput::Elements(1));
    for day in 1..=30 {
        store.pass(DAY / scale);
        if [1, 10, 30].contains(&day) {
            eprintln!("day {day}: {}", store.size());
            let name = format!("lookup, day {day} of {} keys a day", DAY / scale);
            let mut numbers = store.feed.keys().cycle();
            group.bench_function(name, |b| {
                b.iter_batched(
                    || KeyDigest::of(&Churn::key(numbers.next().unwrap_or_default())),
                    |digest| store.lookup(black_box(&digest)),
                    criterion::BatchSize::SmallInput,
                );
            });
        }
    }
    group.finish();
}

/// A feed, and the store that is synchronised with it.
struct SyncedStore {
    /// The document's keys: none.
    named: KeyTable,
    feed: Churn,
    sync: FeedSync,
    shared: VersionedValues,
    now_ms: u64,
}

impl SyncedStore {
    fn new(live: u64) -> Self {
        let shared = VersionedValues::default();
        let sync = FeedSync::resume(&FeedSource::default(), &shared, 1).0;
        Self {
            named: KeyTable::default(),
            feed: Churn { live, version: 0 },
            sync,
            shared,
            now_ms: 1,
        }
    }

    /// Adds so many keys and removes as many, and syncs them.
    fn pass(&mut self, keys: u64) {
        for _ in 0..keys / BETWEEN {
            self.feed.pass(BETWEEN);
            loop {
                self.now_ms += 500;
                let path = self.sync.next_path(PAGE);
                let page = self.feed.page(&path, PAGE.into(), sha256);
                let answer = PageAnswer::Page(&page);
                let outcome = self.sync.on_answer(answer, &self.shared, self.now_ms);
                assert!(outcome.refused.is_none(), "{outcome:?}");
                if !outcome.at_once {
                    break;
                }
            }
        }
    }

    fn lookup(&self, digest: &KeyDigest) {
        let feed = FeedStatus {
            coverage: Coverage::Whole,
            ..self.sync.status()
        };
        let found = lookup(digest, &self.named, Some(feed), |digest| {
            read(digest, &self.shared)
        });
        assert!(matches!(found, KeyLookup::Found(_)), "{found:?}");
    }

    fn size(&self) -> String {
        let values = self.shared.0.borrow();
        let buckets = values.iter().filter(|(name, _)| name.len() == 17);
        let bytes: usize = buckets.map(|(_, (bytes, _))| bytes.len()).sum();
        let state = self.sync.state();
        format!("{} keys, {} kB in all", state.keys, bytes / 1000)
    }
}

fn sha256(number: u64) -> String {
    let digest = KeyDigest::of(&Churn::key(number));
    let digits = digest.bytes().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// Shared data with one reader and writer.
#[derive(Debug, Default)]
struct VersionedValues(RefCell<HashMap<String, (Vec<u8>, u32)>>);

impl SharedData for VersionedValues {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        let values = self.0.borrow();
        let found = values.get(name).cloned();
        found.map_or((None, None), |(value, version)| {
            (Some(value), Some(version))
        })
    }

    fn set(&self, name: &str, value: &[u8], _: Option<u32>) -> Result<(), Conflict> {
        let mut values = self.0.borrow_mut();
        if let Some((old, version)) = values.get_mut(name) {
            old.clear();
            old.extend_from_slice(value);
            *version = version.wrapping_add(1);
        } else {
            values.insert(name.to_owned(), (value.to_vec(), 1));
        }
        Ok(())
    }
}
