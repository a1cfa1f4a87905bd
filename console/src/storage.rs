//! The disk use of the database, its growth, and the day on which the oldest requests go. What costs something to find out is
//! read once a minute, however many ask.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use time::{Date, OffsetDateTime};
use tokio::sync::Mutex;

use crate::store::disk_use::{self, DataKind, DataUse, DiskUse};
use crate::store::{Store, StoreError};

/// For how long what was read is good enough.
const FRESH: Duration = Duration::from_secs(60);
/// A day, in seconds.
const DAY: i64 = 86_400;

/// The storage that the database uses, at the time of reading.
#[derive(Debug, Clone)]
pub struct StorageReading {
    /// The time of the reading, in microseconds since 1970.
    pub at: i64,
    /// The whole.
    pub whole: DiskUse,
    /// By kind.
    pub data: DataUse,
    /// For how many days lines of the ledger are kept.
    pub keep_requests: u32,
}

impl StorageReading {
    /// The day on which the oldest lines of the ledger go, if there are any.
    pub fn oldest_go_on(&self) -> Option<Date> {
        let days = i64::from(self.keep_requests).saturating_add(1);
        self.data.oldest?.checked_add(time::Duration::days(days))
    }

    /// Returns the bytes of requests per day, by those that are kept; `None` on the first day, which says little.
    pub fn bytes_a_day(&self) -> Option<i64> {
        let since = self.data.oldest?.midnight().assume_utc().unix_timestamp();
        let seconds = self.at.div_euclid(1_000_000).saturating_sub(since);
        if seconds < DAY {
            return None;
        }
        let requests = self.data.kinds.get(&DataKind::Requests).copied().flatten();
        // Where they are too great to be told from others that are as great, those are few beside them.
        let bytes = i128::from(requests.unwrap_or(self.data.unmeasured));
        let a_day = bytes
            .checked_mul(i128::from(DAY))?
            .checked_div(i128::from(seconds))?;
        i64::try_from(a_day).ok()
    }
}

/// Reads it once a minute at most. Clones share what was read.
#[derive(Debug, Clone)]
pub struct StorageWatch {
    store: Store,
    keep_requests: u32,
    last: Arc<Mutex<Option<(Instant, StorageReading)>>>,
}

impl StorageWatch {
    /// One over this database, which keeps lines of the ledger for so many days.
    pub fn new(store: Store, keep_requests: u32) -> Self {
        Self {
            store,
            keep_requests,
            last: Arc::default(),
        }
    }

    /// Reads the storage that the database uses; the result is at most a minute old.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn look(&self) -> Result<StorageReading, StoreError> {
        // Whoever asks meanwhile waits for it, instead of reading it as well.
        let mut last = self.last.lock().await;
        if let Some((at, reading)) = &*last
            && at.elapsed() < FRESH
        {
            return Ok(reading.clone());
        }
        let whole = disk_use::read(&self.store).await?;
        let data = disk_use::by_kind(&self.store, whole).await?;
        let reading = StorageReading {
            at: OffsetDateTime::now_utc()
                .unix_timestamp()
                .saturating_mul(1_000_000),
            whole,
            data,
            keep_requests: self.keep_requests,
        };
        *last = Some((Instant::now(), reading.clone()));
        Ok(reading)
    }
}
