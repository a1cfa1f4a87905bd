//! Waits until every Envoy has a key, so that its first request is not refused.

use core::time::Duration;
use std::time::Instant;

use crate::envoy_report::EnvoyReport;
use crate::key_changes::AWAY;
use crate::store::{Store, StoreError, Workload, envoys, key_feed};

/// The longest wait.
const PATIENCE: Duration = Duration::from_secs(3);
/// The interval between looks at what agents say.
const EVERY: Duration = Duration::from_millis(50);

/// Waits until the Envoys that were heard of lately have the key of this digest, or for three seconds. `now` is in microseconds since
/// 1970.
///
/// # Errors
/// Those of the database.
pub async fn wait(store: &Store, sha256: &str, now: i64) -> Result<(), StoreError> {
    let store = store.of(Workload::Background);
    let begun = Instant::now();
    let mut version = None;
    while begun.elapsed() < PATIENCE {
        if version.is_none() {
            key_feed::give_versions(&store).await?;
        }
        let mut transaction = store.read().await?;
        if version.is_none() {
            version = key_feed::version_of(&mut transaction, sha256).await?;
        }
        let reports = envoys::reports_since(&mut transaction, now.saturating_sub(AWAY)).await?;
        transaction.rollback().await;
        let all_have = |version| reports.iter().all(|report| has(report.as_deref(), version));
        if version.is_some_and(all_have) {
            return Ok(());
        }
        tokio::time::sleep(EVERY).await;
    }
    Ok(())
}

/// Whether an Envoy has read the keys up to a version of the feed.
fn has(report: Option<&str>, version: u64) -> bool {
    let report = report.and_then(|text| serde_json::from_str::<EnvoyReport>(text).ok());
    let read = report.and_then(|report| report.keys_read);
    read.is_some_and(|read| read >= version)
}
