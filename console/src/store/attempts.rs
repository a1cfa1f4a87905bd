//! Changes that lost against others are done again.

use core::ops::ControlFlow;
use core::time::Duration;

use std::time::Instant;

use super::{StoreError, Transaction};
use crate::counted::counted;

/// The most repetitions of a change.
const MOST: u32 = 10;
/// For how long: whoever waits behind it waits as well.
const PATIENCE: Duration = Duration::from_secs(5);

/// Errors of changes, which may be the store's own.
pub trait AsStoreError {
    /// Whether the change lost against another one and may be done again.
    fn is_conflict(&self) -> bool;
}

/// The attempts at one change.
#[derive(Debug)]
pub struct TransactionAttempts {
    failed: u32,
    begun: Instant,
}

impl Default for TransactionAttempts {
    fn default() -> Self {
        Self {
            failed: 0,
            begun: Instant::now(),
        }
    }
}

impl TransactionAttempts {
    /// Commits a change that succeeded, and takes one back that failed. It goes on, after a pause, if the change lost against
    /// another one (a deadlock, a conflict, a busy database).
    pub async fn end<T, E: From<StoreError> + AsStoreError>(
        &mut self,
        transaction: Transaction,
        done: Result<T, E>,
    ) -> ControlFlow<Result<T, E>> {
        let done = match done {
            Ok(done) => transaction.commit().await.map(|()| done).map_err(E::from),
            Err(error) => {
                // Before the next attempt, which needs the turn.
                transaction.rollback().await;
                Err(error)
            }
        };
        match done {
            Err(error)
                if self.failed < MOST && self.begun.elapsed() < PATIENCE && error.is_conflict() =>
            {
                self.failed = self.failed.saturating_add(1);
                let pause = Duration::from_millis(5).saturating_mul(self.failed);
                tokio::time::sleep(pause).await;
                ControlFlow::Continue(())
            }
            done => {
                counted().database_change(self.begun.elapsed());
                ControlFlow::Break(done)
            }
        }
    }
}

/// Does a change in one transaction of a store, and again from its beginning where it lost against another change. Gives what
/// the change gives: a `Result` whose error implements [`AsStoreError`](crate::store::AsStoreError); then nothing is changed.
///
/// (A macro, because a function that takes an asynchronous closure gives a future that no other thread may have.)
#[macro_export]
macro_rules! in_transaction {
    ($store:expr, $transaction:ident => $change:expr) => {{
        let mut attempts = $crate::store::TransactionAttempts::default();
        loop {
            let mut begun = match $store.begin().await {
                Ok(begun) => begun,
                Err(error) => break Err(error.into()),
            };
            let done = {
                let $transaction = &mut begun;
                async { $change }.await
            };
            if let ::core::ops::ControlFlow::Break(done) = attempts.end(begun, done).await {
                break done;
            }
        }
    }};
}
