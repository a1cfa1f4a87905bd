//! Random files, sent by an agent that repeats, mixes up and forgets, cut at any byte.

use proptest::prelude::*;
use tokio::runtime::Runtime;
use trilane_console::ledger::Sum;
use trilane_console::store::Store;

use crate::database::TestDatabase;
use crate::ledger::{Sums, expected, line, position, send, spent, stored};

/// A line of some kind: of a request, foreign, cut, blank.
fn any_line() -> impl Strategy<Value = String> {
    let request = (0_u32..48, 0_u8..4, 0_u8..3, 0_u64..10_000_000, 0_u32..12).prop_map(
        |(hour, key, model, units, places)| {
            let at = format!("2026-11-{:02}T{:02}:30:00Z", 23 + hour / 24, hour % 24);
            let charge = rust_decimal::Decimal::from_i128_with_scale(i128::from(units), places);
            line(
                &at,
                &format!("k{key}"),
                &format!("model-{model}"),
                &charge.to_string(),
            )
        },
    );
    prop_oneof![
        8 => request,
        1 => Just("[2026-11-24][info] not of the ledger\n".to_owned()),
        1 => Just("{\"timestamp\":\"2026-11-24T00:00:00Z\",\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("{\"timestamp\":\"2026-11-24T00:00:00Z\",\"trilane.usage.status\":\"none\",\"trilane.key.id\":\"\\u0000\",\"trilane.owner\":\"\u{20ac}\"}\n".to_owned()),
    ]
}

/// The agent's next step: it sends so many bytes, from where it thinks it is, or from so many before or behind that.
#[derive(Debug, Clone)]
struct IntakeStep {
    length: usize,
    off: isize,
    twice: bool,
}

fn any_step() -> impl Strategy<Value = IntakeStep> {
    let off = prop_oneof![6 => Just(0), 1 => -3000_isize..3000];
    (1_usize..4000, off, prop::bool::weighted(0.2)).prop_map(|(length, off, twice)| IntakeStep {
        length,
        off,
        twice,
    })
}

async fn run(store: &Store, files: &[Vec<u8>], steps: &[IntakeStep]) {
    for (number, file) in files.iter().enumerate() {
        let envoy = format!("e{number}");
        let mut at = 0;
        let mut steps = steps.iter().cycle();
        // A step that is off brings it back to where it was, so it ends.
        let mut left = 2000;
        while at < file.len() {
            left -= 1;
            assert!(left > 0, "it does not end");
            let step = steps.next().unwrap();
            // A line may be longer than the steps, and all of them may be off.
            let (off, length) = if left % 7 == 0 {
                (0, 4000)
            } else {
                (step.off, step.length)
            };
            let from = at.saturating_add_signed(off).min(file.len());
            let to = (from + length).min(file.len());
            for _ in 0..=u8::from(step.twice) {
                at = position(send(store, &envoy, from, &file[from..to]).await);
            }
        }
    }
}

fn zero_in_names(sums: Sums) -> Sums {
    sums.into_iter()
        .map(|(key, sums)| {
            (
                key.iter()
                    .map(|name| name.replace('\0', "\u{fffd}"))
                    .collect(),
                sums,
            )
        })
        .collect()
}

fn check(runtime: &Runtime, database: &TestDatabase, files: &[Vec<u8>], steps: &[IntakeStep]) {
    runtime.block_on(async {
        let store = database.open().await;
        run(&store, files, steps).await;
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        assert_eq!(stored(&store).await, zero_in_names(expected(&files)));
        // What a key has spent in a month is what its hours say.
        let (text, mut sum) = (spent(&store, "k0", "2026-11").await, Sum::default());
        for line in files
            .iter()
            .flat_map(|file| file.split(|byte| *byte == b'\n'))
        {
            if let Ok(record) = trilane_console::ledger::LedgerRecord::parse(line)
                && record.key() == "k0"
            {
                sum.add(record.charge.unwrap_or_default());
            }
        }
        let text = if text.is_empty() { "0" } else { &text };
        assert_eq!(text, sum.text());
        store.close().await;
    });
}

fn files() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let file =
        prop::collection::vec(any_line(), 0..40).prop_map(|lines| lines.concat().into_bytes());
    prop::collection::vec(file, 1..3)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite(files in files(), steps in prop::collection::vec(any_step(), 1..20)) {
        check(&runtime(), &TestDatabase::sqlite(), &files, &steps);
    }

    #[test]
    fn postgres(files in files(), steps in prop::collection::vec(any_step(), 1..20)) {
        let runtime = runtime();
        let database = runtime.block_on(TestDatabase::postgres());
        check(&runtime, &database, &files, &steps);
        runtime.block_on(database.drop());
    }
}
