//! The audit for a collector of logs: batches in the form of OTLP over HTTP (JSON), each entry at least once, in their order.
//!
//! Several consoles send each batch once: whoever takes it has it until a moment that stands in the database. After a failure that moment is the end of a pause,
//! which is ever longer. The number of the last entry that the collector has taken stands there too, so nothing is lost over a restart.

use core::time::Duration;

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::cases::audit::{AuditLine, settled};
use crate::store::audit_export::{self as stored, ExportState};
use crate::store::{Store, StoreError};
use crate::{in_transaction, timestamp};

/// For how long a batch belongs to the console that has taken it: more than an attempt may take.
const LEASE: Duration = Duration::from_secs(60);
/// The pause after a first failure; each other one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(300);
/// The most entries of a batch.
const ENTRIES: i64 = 500;
/// The most bytes of entries of a batch that has more than one.
const BYTES: usize = 1 << 20;

/// Entries that are to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBatch {
    /// The body of the request: an `ExportLogsServiceRequest` as JSON.
    pub body: String,
    /// The number of the last entry.
    last: i64,
    /// The state while this console has the batch.
    taken: ExportState,
}

/// The entries that are due, for this console alone. `None`: none are, or another console has them.
///
/// # Errors
/// Those of the database.
pub async fn take(store: &Store, now: OffsetDateTime) -> Result<Option<AuditBatch>, StoreError> {
    let now = timestamp::microseconds(now);
    let mut transaction = store.read().await?;
    let before = stored::find(&mut transaction).await?;
    let entries = if before.until > now {
        Vec::new()
    } else {
        settled(&mut transaction, before.sent, ENTRIES, now).await?
    };
    transaction.rollback().await;
    let mut records = Vec::new();
    let (mut last, mut size) = (before.sent, 0_usize);
    for line in entries {
        let text = line.to_json();
        size = size.saturating_add(text.len());
        if !records.is_empty() && size > BYTES {
            break;
        }
        last = line.number;
        records.push(record(&line, text, now));
    }
    if records.is_empty() {
        return Ok(None);
    }
    let taken = ExportState {
        until: now.saturating_add(microseconds(LEASE)),
        ..before
    };
    let is_ours: Result<bool, StoreError> = in_transaction!(store, transaction => {
        stored::change(transaction, &before, &taken).await
    });
    Ok(is_ours?.then(|| AuditBatch {
        body: request(&records).to_string(),
        last,
        taken,
    }))
}

/// Notes whether the collector has taken a batch, and else when it is sent again. Gives the pause.
///
/// # Errors
/// Those of the database; the batch is sent again then.
pub async fn close(
    store: &Store,
    batch: &AuditBatch,
    is_taken: bool,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let after = if is_taken {
        ExportState {
            sent: batch.last,
            until: 0,
            failures: 0,
        }
    } else {
        let pause = microseconds(pause(batch.taken.failures));
        ExportState {
            until: timestamp::microseconds(now).saturating_add(pause),
            failures: batch.taken.failures.saturating_add(1),
            ..batch.taken
        }
    };
    // Where another console has the batch by now, because this one was stopped for long, it is that one's.
    let changed: Result<bool, StoreError> = in_transaction!(store, transaction => {
        stored::change(transaction, &batch.taken, &after).await
    });
    changed.map(drop)
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The pause after one more than so many failures.
fn pause(failures: i64) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(0).min(20);
    PAUSE.saturating_mul(1_u32 << doublings).min(LONGEST)
}

fn request(records: &[Value]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let of_service = [
        attribute("service.name", "trilane-console"),
        attribute("service.version", version),
    ];
    let scope = json!({"name": "trilane.audit", "version": version});
    let of_scope = json!({"scope": scope, "logRecords": records});
    json!({"resourceLogs": [{"resource": {"attributes": of_service}, "scopeLogs": [of_scope]}]})
}

/// An entry as a log record. Its body is the line that `GET /api/v1/audit/lines` has.
fn record(line: &AuditLine, text: String, now: i64) -> Value {
    let nanoseconds = |micros: i64| micros.saturating_mul(1000).to_string();
    json!({
        "timeUnixNano": nanoseconds(line.at),
        "observedTimeUnixNano": nanoseconds(now),
        "severityNumber": 9,
        "severityText": "INFO",
        "eventName": line.entry.action,
        "body": {"stringValue": text},
        "attributes": [
            {"key": "trilane.audit.number", "value": {"intValue": line.number.to_string()}},
            attribute("trilane.audit.object", &line.entry.object),
            attribute("user.id", &line.entry.actor),
            attribute("client.address", &line.entry.address),
        ],
    })
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses() {
        for (failures, seconds) in [(0, 1), (1, 2), (4, 16), (9, 300), (1000, 300)] {
            assert_eq!(pause(failures).as_secs(), seconds, "{failures}");
        }
    }
}
