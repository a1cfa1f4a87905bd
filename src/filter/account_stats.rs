//! The Envoy stats of upstream accounts: how their tries went, and how soon they answered.

use hashbrown::HashMap;
use proxy_wasm::types::MetricType::{Counter, Histogram};

use super::host;
use super::metric::Metric;
use crate::ledger::{AttemptFailure, Record};

/// The stats of all accounts, by their source's id and their own.
#[derive(Debug, Default)]
pub(super) struct AccountStats(HashMap<String, HashMap<String, Series>>);

/// The series of one account.
#[derive(Debug, Default)]
struct Series {
    answered: Metric,
    failed: [Metric; AttemptFailure::ALL.len()],
    first_token: Metric,
}

impl AccountStats {
    /// Counts the tries of one exchange.
    pub(super) fn count(&mut self, record: &Record) {
        let (Some(attempts), Some(route)) = (&record.attempts, &record.route) else {
            return;
        };
        let source = route.source.as_str();
        let name = |account: &str, metric: &str, outcome: &str| {
            format!("trilane_account_{metric};source={source};account={account};{outcome}")
        };
        for failed in &attempts.failed {
            let account = failed.account.as_str();
            let outcome = || format!("outcome={};", failed.kind.name());
            let series = self.series(source, account);
            if let Some(metric) = series.failed.get_mut(failed.kind as usize) {
                host::add(
                    metric.id(Counter, || name(account, "tries_total", &outcome())),
                    1,
                );
            }
        }
        let Some(account) = attempts.last.as_deref().filter(|_| attempts.answered) else {
            return;
        };
        let series = self.series(source, account);
        let answered = || name(account, "tries_total", "outcome=answered;");
        host::add(series.answered.id(Counter, answered), 1);
        // The time of tries that failed is none of its fault.
        if let Some(time) = record
            .first_token_us()
            .filter(|_| attempts.failed.is_empty())
        {
            let first_token = || name(account, "time_to_first_token", "");
            host::record(series.first_token.id(Histogram, first_token), time);
        }
    }

    /// One account's series. Accounts come and go with the document; there are never many.
    fn series(&mut self, source: &str, account: &str) -> &mut Series {
        // By what is borrowed: an id is copied only when it is new.
        let accounts = self.0.entry_ref(source).or_default();
        accounts.entry_ref(account).or_default()
    }
}
