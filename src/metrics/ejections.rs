//! The stats of ejections: until when each account is ejected.

use hashbrown::HashMap;

use super::metric::Metric;
use crate::host::{StatKind, Stats};

/// A gauge for each account of a source with several, by source and account.
#[derive(Debug, Default)]
pub struct EjectionStats(HashMap<String, HashMap<String, Metric>>);

impl EjectionStats {
    /// Tells until when an account is ejected, in seconds since the Unix epoch; 0 for one that is not.
    pub fn tell(&mut self, source: &str, account: &str, until_s: u64, stats: &impl Stats) {
        let accounts = self.0.entry_ref(source).or_default();
        let metric = accounts.entry_ref(account).or_default();
        metric.set(until_s, || name(source, account), stats);
    }
}

/// Tells of a single ejection, at once.
pub fn tell_ejection(source: &str, account: &str, until_s: u64, stats: &impl Stats) {
    stats.record(
        stats.define(StatKind::Gauge, &name(source, account)),
        until_s,
    );
}

fn name(source: &str, account: &str) -> String {
    format!("trilane_account_ejected_until_timestamp_seconds;source={source};account={account};")
}
