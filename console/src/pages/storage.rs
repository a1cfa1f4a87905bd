//! What room the database takes, as Settings say it.

use super::text;
use crate::api::ConsoleState;
use crate::api::storage::StorageView;
use crate::store::StoreError;

/// What room the database takes.
pub struct StorageCard {
    /// What stands in each line.
    pub lines: Vec<(&'static str, String)>,
    /// What is said of the oldest requests.
    pub oldest: String,
}

impl StorageCard {
    /// As of the last minute.
    pub async fn read(state: &ConsoleState) -> Result<Self, StoreError> {
        Ok(Self::of(state.storage.look().await?.into()))
    }

    fn of(view: StorageView) -> Self {
        let mut lines = vec![("Database", text::bytes(view.bytes))];
        let mut add = |title, bytes: Option<i64>| {
            if let Some(bytes) = bytes {
                lines.push((title, text::bytes(bytes)));
            }
        };
        for kind in &view.kinds {
            add(title(kind.kind), kind.bytes);
        }
        let together = Some(view.unmeasured_bytes).filter(|bytes| *bytes > 0);
        add("What is not named here, together", together);
        add("SQLite’s log", view.log_bytes);
        add("Free in the file", view.free_bytes);
        add("Free on its disk", view.disk_free_bytes);
        add("Requests of a day", view.request_bytes_a_day);
        let days = view.keep_requests_days;
        let oldest = match (view.oldest_requests_of, view.oldest_requests_go_on) {
            (Some(of), Some(on)) => format!("The oldest requests are of {of} and go on {on}."),
            _ => "There are no requests yet.".to_owned(),
        };
        let oldest = format!(
            "{oldest} They are kept for {days} days (--keep-requests); sums and the audit stay."
        );
        Self { lines, oldest }
    }
}

fn title(kind: &str) -> &'static str {
    match kind {
        "requests" => "Requests",
        "hours" => "Sums by hour",
        "days" => "Sums by day",
        "spend" => "Spend of budgets",
        "keys" => "Keys",
        "audit" => "Audit",
        "documents" => "Documents",
        _ => "All else",
    }
}
