//! The storage that the database uses, as Settings show it.

use super::text;
use crate::api::ConsoleState;
use crate::storage::StorageReading;
use crate::store::StoreError;
use crate::store::disk_use::DataKind;

/// The storage that the database uses, in words.
pub struct StorageCard {
    /// The title and value of each line.
    pub lines: Vec<(&'static str, String)>,
    /// The age and retention of the oldest requests, in words.
    pub oldest: String,
}

impl StorageCard {
    /// Reads the disk use, which is a minute old at most.
    pub async fn read(state: &ConsoleState) -> Result<Self, StoreError> {
        Ok(Self::of(&state.storage.look().await?))
    }

    fn of(reading: &StorageReading) -> Self {
        let StorageReading { whole, data, .. } = reading;
        let mut lines = vec![("Database", text::bytes(whole.bytes))];
        let mut add = |title, bytes: Option<i64>| {
            if let Some(bytes) = bytes {
                lines.push((title, text::bytes(bytes)));
            }
        };
        for (kind, bytes) in &data.kinds {
            add(title(*kind), *bytes);
        }
        let together = Some(data.unmeasured).filter(|bytes| *bytes > 0);
        add("What is not named here, together", together);
        add("SQLite’s log", whole.log);
        add("Free in the file", whole.free);
        add("Free on its disk", whole.disk_free);
        add("Requests of a day", reading.bytes_a_day());
        let days = reading.keep_requests;
        let oldest = match (data.oldest, reading.oldest_go_on()) {
            (Some(of), Some(on)) => format!("The oldest requests are of {of} and go on {on}."),
            _ => "There are no requests yet.".to_owned(),
        };
        let oldest = format!(
            "{oldest} They are kept for {days} days (--keep-requests); sums and the audit stay."
        );
        Self { lines, oldest }
    }
}

const fn title(kind: DataKind) -> &'static str {
    match kind {
        DataKind::Requests => "Requests",
        DataKind::Hours => "Sums by hour",
        DataKind::Days => "Sums by day",
        DataKind::Spend => "Spend of budgets",
        DataKind::Keys => "Keys",
        DataKind::Audit => "Audit",
        DataKind::Documents => "Documents",
        DataKind::Other => "All else",
    }
}
