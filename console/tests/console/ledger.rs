//! Ledger lines, and what the code of `trilane usage` makes of them.

use std::collections::BTreeMap;

use time::OffsetDateTime;
use time::macros::datetime;
use trilane::limits::SubjectKind;
use trilane_console::intake::{IntakeError, LedgerBatch, TakenBatch, take};
use trilane_console::ledger::UsageColumn;
use trilane_console::ledger::{LedgerRecord, Measure, Sum, UsageTotals};
use trilane_console::store::usage_hours::{self, UsageQuery};
use trilane_console::store::{Store, spend};

/// The console's clock.
pub const NOW: OffsetDateTime = datetime!(2026-11-24 12:00 UTC);

/// A line of a request: when it began, whose, its model and charge.
pub fn line(at: &str, key: &str, model: &str, charge: &str) -> String {
    format!(
        r#"{{"timestamp":"{at}","duration_ms":1500,"http.response.status_code":200,"trilane.usage.status":"complete","trilane.outcome":"finished","trilane.key.id":"{key}","trilane.key.owner":"owner of {key}","trilane.group":"g","trilane.source":"s","trilane.entry":"vb_messages","trilane.model":"{model}","gen_ai.usage.input_tokens":7,"gen_ai.usage.output_tokens":3,"trilane.charge":"{charge}","trilane.currency":"USD","trilane.cost_factor":"0.5000","trilane.cost":"{charge}1"}}
"#
    )
}

/// Takes bytes in.
pub async fn send(
    store: &Store,
    envoy: &str,
    from: usize,
    bytes: &[u8],
) -> Result<TakenBatch, IntakeError> {
    let from = u64::try_from(from).unwrap();
    let batch = LedgerBatch::new(envoy, "file", from, bytes, false).unwrap();
    take(store, &batch, NOW).await
}

/// The position to go on from, by whatever answer.
pub fn position(answer: Result<TakenBatch, IntakeError>) -> usize {
    let position = match answer {
        Ok(taken) => taken.position,
        Err(IntakeError::Elsewhere { position }) => position,
        Err(error) => panic!("{error}"),
    };
    usize::try_from(position).unwrap()
}

/// Sums by hour, key, model, outcome and currency: counts, and the amounts that are stored, as text.
pub type Sums = BTreeMap<Vec<String>, String>;

fn shown(counts: &[u128], amounts: [Sum; 4]) -> String {
    format!("{counts:?} {}", amounts.map(|sum| sum.text()).join(" "))
}

/// Adds up files with the code of `trilane usage`.
pub fn expected(files: &[&[u8]]) -> Sums {
    let mut sums: BTreeMap<Vec<String>, UsageTotals> = BTreeMap::new();
    for line in files
        .iter()
        .flat_map(|file| file.split(|byte| *byte == b'\n'))
    {
        let Ok(record) = LedgerRecord::parse(line) else {
            continue;
        };
        let hour = format!("{}T{:02}", record.time.date(), record.time.hour());
        let key = [
            &hour,
            record.key(),
            record.model(),
            record.outcome(),
            record.currency(),
        ];
        let totals = sums.entry(key.map(str::to_owned).to_vec()).or_default();
        totals.add(&record);
    }
    let shown = |totals: &UsageTotals| {
        let counts = Measure::ALL.map(|measure| totals.count(measure));
        shown(&counts, totals.amounts())
    };
    sums.iter()
        .map(|(key, totals)| (key.clone(), shown(totals)))
        .collect()
}

/// Reads the console's sums.
pub async fn stored(store: &Store) -> Sums {
    let mut transaction = store.read().await.unwrap();
    let query = UsageQuery {
        by: vec![
            UsageColumn::Hour,
            UsageColumn::Key,
            UsageColumn::Model,
            UsageColumn::Outcome,
        ],
        limit: 1_000_000,
        ..UsageQuery::default()
    };
    let sums = usage_hours::sums(&mut transaction, &query).await.unwrap();
    sums.into_iter()
        .map(|mut sums| {
            sums.values.push(sums.currency);
            let counts: Vec<_> = sums.counts.iter().map(|count| u128::from(*count)).collect();
            (
                sums.values,
                shown(
                    &counts,
                    [
                        sums.charge,
                        sums.estimated_charge,
                        sums.costed_charge,
                        sums.cost,
                    ],
                ),
            )
        })
        .collect()
}

/// Returns the spend of a key in a period, in its only currency.
pub async fn spent(store: &Store, key: &str, period: &str) -> String {
    let mut transaction = store.read().await.unwrap();
    let spent = spend::of(&mut transaction, SubjectKind::Key, key, period)
        .await
        .unwrap();
    spent
        .first()
        .map_or_else(String::new, |(_, sum)| sum.text())
}
