//! The stats of upstream accounts: how their attempts ended, and how soon they responded.

use hashbrown::HashMap;

use super::batch::{BatchedCounter, CounterBatch};
use super::metric::Metric;
use crate::host::Stats;
use crate::ledger::{AttemptFailure, Record};

/// The stats of all accounts, by their source's id.
#[derive(Debug, Default)]
pub(super) struct AccountStats(HashMap<String, SourceSeries>);

/// The stats of one source.
#[derive(Debug, Default)]
struct SourceSeries {
    /// Requests that no account answered, by how the last attempt failed.
    failed: [BatchedCounter; AttemptFailure::ALL.len()],
    /// By the account's id.
    accounts: HashMap<String, AccountSeries>,
}

/// The stats of one account.
#[derive(Debug, Default)]
struct AccountSeries {
    answered: BatchedCounter,
    failed: [BatchedCounter; AttemptFailure::ALL.len()],
    first_token: Metric,
}

impl AccountStats {
    /// Counts the attempts of one exchange.
    pub(super) fn count(&mut self, record: &Record, batch: &mut CounterBatch, stats: &impl Stats) {
        let (Some(attempts), Some(route)) = (&record.attempts, &record.route) else {
            return;
        };
        let source = route.source.as_str();
        let name = |source: &str, account: &str, metric: &str, outcome: &str| {
            format!("trilane_account_{metric};source={source};account={account};{outcome}")
        };
        let of_accounts = || {
            let failed = attempts.failed.iter();
            failed.filter(|failed| failed.kind.is_made() || failed.kind == AttemptFailure::NoTime)
        };
        for failed in of_accounts() {
            let source = failed.source.as_deref().unwrap_or(source);
            let account = failed.account.as_str();
            let outcome = || format!("outcome={};", failed.kind.name());
            let series = self.series(source, account);
            if let Some(counter) = series.failed.get_mut(failed.kind as usize) {
                let name = || name(source, account, "tries_total", &outcome());
                batch.add(counter, 1, name, stats);
            }
        }
        if !attempts.answered
            && let Some(last) = of_accounts().next_back()
        {
            let source = last.source.as_deref().unwrap_or(source);
            let failed = &mut self.0.entry_ref(source).or_default().failed;
            if let Some(counter) = failed.get_mut(last.kind as usize) {
                let outcome = last.kind.name();
                let name =
                    || format!("trilane_source_failures_total;source={source};outcome={outcome};");
                batch.add(counter, 1, name, stats);
            }
        }
        let Some(account) = attempts.last.as_deref().filter(|_| attempts.answered) else {
            return;
        };
        let series = self.series(source, account);
        let answered = || name(source, account, "tries_total", "outcome=answered;");
        batch.add(&mut series.answered, 1, answered, stats);
        // The time that failed attempts of other accounts took is not this account's.
        if let Some(time) = record
            .first_token_us()
            .filter(|_| attempts.failed.is_empty())
        {
            let first_token = || name(source, account, "time_to_first_token", "");
            series.first_token.observe(time, first_token, stats);
        }
    }

    /// One account's series. Accounts come and go with the document; there are never many.
    fn series(&mut self, source: &str, account: &str) -> &mut AccountSeries {
        // By what is borrowed: an id is copied only when it is new.
        let source = self.0.entry_ref(source).or_default();
        source.accounts.entry_ref(account).or_default()
    }
}
