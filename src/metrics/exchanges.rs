//! The stats of exchanges: one set of series for each group, entry and model of the document. What an operator must
//! know at once is logged, too.
//!
//! A model that is not in the group's catalog is no label: a client chose it.

use std::cell::{Cell, RefCell};

use hashbrown::{Equivalent, HashMap};

use super::accounts::AccountStats;
use super::batch::{BatchedCounter, CounterBatch};
use super::limits::LimitStats;
use super::metric::Metric;
use crate::host::{Clocks, Log, StatId, StatKind, Stats};
use crate::ledger::{Ending, Record, RejectionLog, UsageStatus};
use crate::money::Gap;
use crate::usage::{Call, Kind};

/// The stats that exchanges keep. One for all streams of a VM.
#[derive(Debug, Default)]
pub struct ExchangeStats {
    tables: RefCell<Tables>,
    probes: Cell<StatId>,
}

/// The counter of probes, which have no line in the ledger: the requests that Envoy counts, less these, have one each.
pub const PROBES: &str = "trilane_probes_total";

#[derive(Debug, Default)]
struct Tables {
    series: HashMap<Labels<String>, ExchangeSeries>,
    rejections: HashMap<(String, String), BatchedCounter>,
    accounts: AccountStats,
    limits: LimitStats,
    batch: CounterBatch,
    rejection_log: RejectionLog,
}

/// The labels that tell one set of series from another: borrowed from a record to look it up, owned to keep it.
/// Both hash alike, since a `String` hashes as its text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Labels<T> {
    group: T,
    entry: &'static str,
    model: T,
}

impl Equivalent<Labels<String>> for Labels<&str> {
    fn equivalent(&self, labels: &Labels<String>) -> bool {
        (self.group, self.entry, self.model) == (&labels.group, labels.entry, &labels.model)
    }
}

/// The series with the same labels, each defined when it is first needed.
#[derive(Debug, Default)]
struct ExchangeSeries {
    requests: [BatchedCounter; Ending::ALL.len()],
    records: [BatchedCounter; UsageStatus::ALL.len()],
    tokens: [BatchedCounter; Kind::ALL.len()],
    images: BatchedCounter,
    calls: [BatchedCounter; Call::ALL.len()],
    charge: BatchedCounter,
    estimated_charge: BatchedCounter,
    uncovered: [BatchedCounter; Gap::ALL.len()],
    unread: BatchedCounter,
    doubts: BatchedCounter,
    first_token: Metric,
    per_token: Metric,
}

impl ExchangeStats {
    /// Counts a probe, at once: whoever compares requests and lines must not find it uncounted.
    pub fn count_probe(&self, stats: &impl Stats) {
        if self.probes.get().is_none() {
            self.probes.set(stats.define(StatKind::Counter, PROBES));
        }
        stats.add(self.probes.get(), 1);
    }

    /// Counts one exchange. Values of histograms go to Envoy at once, counters when they are [written](Self::write).
    pub fn count(&self, record: &Record, host: &(impl Stats + Clocks + Log)) {
        // Held for this call only, and nothing that it calls comes back here.
        let Ok(mut tables) = self.tables.try_borrow_mut() else {
            return;
        };
        tables.count(record, host);
    }

    /// Writes what the counters have gathered, as much of it as a tick may.
    pub fn write(&self, stats: &impl Stats) {
        if let Ok(mut tables) = self.tables.try_borrow_mut() {
            tables.batch.write(stats);
        }
    }

    /// Writes all that the counters have gathered: there will be no more ticks.
    pub fn end(&self, stats: &impl Stats) {
        if let Ok(mut tables) = self.tables.try_borrow_mut() {
            tables.batch.end(stats);
        }
    }
}

impl Tables {
    fn count(&mut self, record: &Record, host: &(impl Stats + Clocks + Log)) {
        self.accounts.count(record, &mut self.batch, host);
        self.limits.count(record, &mut self.batch, host);
        for rejection in record.account_rejections() {
            if self.rejection_log.is_due(&rejection, host.steady_us()) {
                host.log(log::Level::Warn, format_args!("{rejection}"));
            }
        }
        let group = record.group.as_deref().unwrap_or_default();
        if let (Ending::Refused, Some(reason)) = (record.ending, &record.error) {
            self.count_rejection(group, reason, host);
        }
        let labels = Labels {
            group,
            entry: record.route.as_ref().map_or("", |r| r.entry.name()),
            model: record.model.as_deref().unwrap_or_default(),
        };
        if let Some(series) = self.series.get_mut(&labels) {
            series.count(record, labels, &mut self.batch, host);
            return;
        }
        let owned = Labels {
            group: labels.group.to_owned(),
            entry: labels.entry,
            model: labels.model.to_owned(),
        };
        let series = self.series.entry(owned).or_default();
        series.count(record, labels, &mut self.batch, host);
    }

    fn count_rejection(&mut self, group: &str, reason: &str, stats: &impl Stats) {
        let key = (group.to_owned(), reason.to_owned());
        let counter = self.rejections.entry(key).or_default();
        let name = || format!("trilane_rejections_total;group={group};reason={reason};");
        self.batch.add(counter, 1, name, stats);
    }
}

impl ExchangeSeries {
    fn count(
        &mut self,
        record: &Record,
        labels: Labels<&str>,
        batch: &mut CounterBatch,
        stats: &impl Stats,
    ) {
        let Labels {
            group,
            entry,
            model,
        } = labels;
        let name = |metric: &str, label: &str, value: &str| {
            format!("trilane_{metric};group={group};entry={entry};model={model};{label}={value};")
        };
        let plain =
            |metric: &str| format!("trilane_{metric};group={group};entry={entry};model={model};");
        let mut count =
            |counter: Option<&mut BatchedCounter>, name: &dyn Fn() -> String, by: u64| {
                if let Some(counter) = counter.filter(|_| by > 0) {
                    batch.add(counter, by, name, stats);
                }
            };
        let ending = record.ending;
        let requests = self.requests.get_mut(ending as usize);
        count(
            requests,
            &|| name("requests_total", "outcome", ending.name()),
            1,
        );
        let status = record.status;
        let records = self.records.get_mut(status as usize);
        count(
            records,
            &|| name("usage_records_total", "status", status.name()),
            1,
        );
        if let Some(usage) = record.usage() {
            for kind in Kind::ALL {
                let tokens = self.tokens.get_mut(kind as usize);
                let name = || name("tokens_total", "kind", kind.name());
                count(tokens, &name, usage.tokens(kind));
            }
            count(
                Some(&mut self.images),
                &|| plain("images_total"),
                usage.images,
            );
            for call in Call::ALL {
                let calls = self.calls.get_mut(call as usize);
                let name = || name("calls_total", "kind", call.name());
                count(calls, &name, usage.calls(call));
            }
        }
        if let Some(charge) = record.charge {
            count(
                Some(&mut self.charge),
                &|| plain("charge_nanos_total"),
                charge.nanos(),
            );
            if record.status == UsageStatus::Estimated {
                count(
                    Some(&mut self.estimated_charge),
                    &|| plain("estimated_charge_nanos_total"),
                    charge.nanos(),
                );
            }
        }
        for (counter, gap) in self.uncovered.iter_mut().zip(Gap::ALL) {
            let by = u64::from(record.uncovered.contains(gap));
            let name = || name("uncovered_total", "reason", gap.name());
            count(Some(counter), &name, by);
        }
        let unread = u64::from(record.reading.unreadable);
        count(
            Some(&mut self.unread),
            &|| plain("unread_answers_total"),
            unread,
        );
        let doubts = u64::from(record.reading.doubt.is_some());
        count(
            Some(&mut self.doubts),
            &|| plain("usage_doubts_total"),
            doubts,
        );
        if let Some(time) = record.first_token_us() {
            self.first_token
                .observe(time, || plain("time_to_first_token"), stats);
        }
        if let Some(time) = record.per_token_us() {
            self.per_token
                .observe(time, || plain("time_per_output_token"), stats);
        }
    }
}
