//! Whether a change can be made: one is made.

use core::time::Duration;
use std::time::Instant;

use tokio::time::timeout;

use super::{Store, StoreError, Workload, execute};

/// For how long what was found is good enough, however many ask.
const FRESH: Duration = Duration::from_secs(1);
/// The longest time for the change.
const WITHIN: Duration = Duration::from_millis(1500);

/// The outcome of a change, and its time.
#[derive(Debug)]
pub(super) struct ProbeResult {
    at: Instant,
    failed: Option<String>,
}

impl Store {
    /// Makes a change that says nothing, and lasts as every other one.
    ///
    /// # Errors
    /// It could not be made, or not within 1.5 s: nothing can be changed now.
    pub async fn can_change(&self) -> Result<(), String> {
        // Whoever asks meanwhile waits for it, instead of making another one.
        let mut last = self.probed.lock().await;
        if last.as_ref().is_none_or(|last| last.at.elapsed() >= FRESH) {
            let made = timeout(WITHIN, self.of(Workload::Health).make_change()).await;
            let failed = match made {
                Ok(made) => made.err().map(|error| error.to_string()),
                Err(_) => Some("no change could be made within 1.5 s".to_owned()),
            };
            *last = Some(ProbeResult {
                at: Instant::now(),
                failed,
            });
        }
        let failed = last.as_ref().and_then(|last| last.failed.clone());
        failed.map_or(Ok(()), |why| Err(format!("nothing can be changed: {why}")))
    }

    async fn make_change(&self) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        let done = async {
            execute!(
                &mut transaction,
                "UPDATE write_probe SET changes = changes + 1",
                ()
            )
        };
        let done: Result<(), StoreError> = done.await;
        match done {
            Ok(()) => transaction.commit().await,
            Err(error) => {
                transaction.rollback().await;
                Err(error)
            }
        }
    }
}
